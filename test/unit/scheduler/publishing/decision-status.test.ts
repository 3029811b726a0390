import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterDecision, ClusterDecisionStatus } from '../../../../api/placement/cluster-decision.ts';
import type { ClusterChoice } from '../../../../scheduler/publishing/choose-clusters.ts';
import { planDecisionStatus } from '../../../../scheduler/publishing/decision-status.ts';

const NOW = '2026-01-01T00:00:00Z';
const METADATA = { namespace: 'argocd', name: 'web', uid: 'u', generation: 3 };
const decision = (status?: ClusterDecisionStatus): ClusterDecision =>
  ({ metadata: METADATA, ...(status !== undefined && { status }) });
const EU = [{ clusterName: 'EU West', target: 'eu' }];
const chosen = (more: Partial<Extract<ClusterChoice, { readonly kind: 'chosen' }>> = {}): ClusterChoice =>
  ({ kind: 'chosen', decisions: EU, rejected: [], unknown: [], ...more });

function written(choice: ClusterChoice, status?: ClusterDecisionStatus): ClusterDecisionStatus | undefined {
  const [command] = planDecisionStatus(decision(status), choice, NOW);
  return command?.kind === 'patch' ? (command.patch as { readonly status: ClusterDecisionStatus }).status : undefined;
}

const readyOf = (status: ClusterDecisionStatus | undefined) => {
  const [condition] = status?.conditions ?? [];
  return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
};

describe('the status of a ClusterDecision', () => {
  it('has the clusters, and is written to this object alone', () => {
    const [command] = planDecisionStatus(decision(), chosen(), NOW);
    assert.ok(command?.kind === 'patch');
    assert.deepEqual(command.at, { namespace: 'argocd', name: 'web', subresource: 'status' });
    assert.deepEqual((command.patch as { readonly metadata: object }).metadata, { uid: 'u' });
    const status = written(chosen());
    assert.deepEqual([status?.decisions, status?.observedGeneration], [EU, 3]);
    assert.equal(readyOf(status), 'True Chosen: 1 clusters are chosen');
  });

  it('says why there are no others', () => {
    const rejected = [{ target: 'us', reason: 'Cordoned', message: 'long' }];
    assert.equal(
      readyOf(written(chosen({ rejected, unknown: ['b', 'a'] }))),
      'True Chosen: 1 clusters are chosen; not now: us (Cordoned); not known to Argo CD: a, b',
    );
    assert.match(readyOf(written(chosen({ decisions: [], rejected }))), /^False NoCluster: 0 clusters/);
  });

  it('names so many targets and no more', () => {
    const unknown = Array.from({ length: 25 }, (_, index) => `t${index}`);
    assert.match(readyOf(written(chosen({ unknown }))), / and 5 more$/);
  });

  it('keeps the clusters while nothing can be decided', () => {
    const unchanged = { kind: 'unchanged', reason: 'PolicyInvalid', message: 'p is invalid' } as const;
    const status = written(unchanged, { decisions: EU });
    assert.deepEqual(status?.decisions, EU);
    assert.equal(readyOf(status), 'False PolicyInvalid: p is invalid');
    assert.deepEqual(written(unchanged)?.decisions, []);
  });

  it('has no clusters where none may be named', () => {
    const denied = { kind: 'denied', reason: 'NamespaceNotOptedIn', message: 'label it' } as const;
    assert.deepEqual(written(denied, { decisions: EU })?.decisions, []);
  });

  it('is written only when it differs', () => {
    const status = written(chosen());
    assert.equal(written(chosen(), status), undefined);
    assert.notEqual(written(chosen({ decisions: [{ clusterName: 'EU', target: 'eu' }] }), status), undefined);
    assert.notEqual(written(chosen({ decisions: [] }), status), undefined);
    const { decisions: _forgotten, ...without } = status ?? {};
    assert.notEqual(written(chosen({ decisions: [] }), without), undefined);
  });
});

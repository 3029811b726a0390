// A decision as PlacementDecisions: the same clusters, in parts, and nothing of anybody else's.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ClusterDecision } from '../../../../api/placement/cluster-decision.ts';
import { MAX_DECISIONS, type PlacementDecision } from '../../../../api/placement/cluster-inventory.ts';
import type { Plan } from '../../../../model/objects/plan.ts';
import type { ClusterChoice } from '../../../../scheduler/publishing/choose-clusters.ts';
import { planSlices, publishedTargets } from '../../../../scheduler/publishing/placement-slices.ts';

const DECISION: ClusterDecision = { metadata: { namespace: 'kueue-system', name: 'web', uid: 'uid-web' } };
const chosen = (names: readonly string[]): ClusterChoice => ({
  kind: 'chosen', rejected: [], unknown: [],
  decisions: names.map((target) => ({ clusterName: `its ${target}`, target })),
});
const many = (count: number) => Array.from({ length: count }, (_, index) => `t${String(index).padStart(4, '0')}`);

function executed(before: readonly PlacementDecision[], plan: Plan): readonly PlacementDecision[] {
  const byName = new Map(before.map((slice) => [slice.metadata.name ?? '', slice]));
  for (const command of plan) {
    if (command.kind === 'create') {
      const { metadata } = command.object;
      assert.ok(!byName.has(metadata.name ?? ''));
      const uid = `uid-${metadata.name}`;
      byName.set(metadata.name ?? '', { ...(command.object as PlacementDecision), metadata: { ...metadata, uid } });
    } else if (command.kind === 'patch') {
      const { name } = command.at;
      const { decisions, metadata } = command.patch as PlacementDecision;
      const existing = byName.get(name)!;
      assert.equal(metadata.uid, existing.metadata.uid);
      byName.set(name, { ...existing, decisions, metadata: { ...existing.metadata, labels: metadata.labels ?? {} } });
    } else if (command.kind === 'delete') {
      assert.equal(command.preconditions.uid, byName.get(command.at.name)?.metadata.uid);
      byName.delete(command.at.name);
    }
  }
  return [...byName.values()];
}

const published = (names: readonly string[]) => executed([], planSlices(DECISION, chosen(names), []));

describe('a decision as PlacementDecisions', () => {
  it('refers to ClusterProfiles of its own namespace, and belongs to the decision', () => {
    const [slice, ...more] = published(['eu', 'us']);
    assert.equal(more.length, 0);
    assert.deepEqual(slice, {
      metadata: {
        namespace: 'kueue-system', name: 'web-0', uid: 'uid-web-0',
        labels: { 'multicluster.x-k8s.io/decision-key': 'web', 'multicluster.x-k8s.io/decision-index': '0' },
        ownerReferences: [{ apiVersion: 'isthmus.dev/v1alpha1', kind: 'ClusterDecision', name: 'web', uid: 'uid-web' }],
      },
      decisions: [{ clusterProfileRef: { name: 'eu' } }, { clusterProfileRef: { name: 'us' } }],
      schedulerName: 'isthmus',
    });
  });

  it('is told when it has no clusters, and when none may be named', () => {
    assert.deepEqual(published([]).map(({ decisions }) => decisions), [[]]);
    const denied = { kind: 'denied', reason: 'NamespaceNotOptedIn', message: 'label it' } as const;
    assert.deepEqual(executed(published(['eu']), planSlices(DECISION, denied, published(['eu'])))
      .map(({ decisions }) => decisions), [[]]);
  });

  it('stays as it is while nothing can be decided', () => {
    const unchanged = { kind: 'unchanged', reason: 'PolicyInvalid', message: 'p' } as const;
    assert.deepEqual(planSlices(DECISION, unchanged, published(['eu'])), []);
    assert.deepEqual(planSlices(DECISION, unchanged, []), []);
  });

  it('has a hundred clusters in each part, and names that are valid however long its own is', () => {
    const slices = published(many(MAX_DECISIONS * 2 + 1));
    assert.deepEqual(slices.map(({ decisions }) => decisions.length), [100, 100, 1]);
    const long = { metadata: { ...DECISION.metadata, name: `${'a'.repeat(250)}.b` } };
    const [slice] = executed([], planSlices(long, chosen([]), []));
    assert.ok((slice?.metadata.name?.length ?? 0) <= 253);
    assert.ok((slice?.metadata.labels?.['multicluster.x-k8s.io/decision-key']?.length ?? 0) <= 63);
  });

  const [ours] = published(['eu']);
  const others: readonly (readonly [string, PlacementDecision])[] = [
    ['of another scheduler', { ...ours!, schedulerName: 'other' }],
    ['of another decision', { ...ours!, metadata: { ...ours!.metadata, ownerReferences: [
      { apiVersion: 'isthmus.dev/v1alpha1', kind: 'ClusterDecision', name: 'web', uid: 'of-one-before' },
    ] } }],
    ['that nobody owns', { ...ours!, metadata: { ...ours!.metadata, ownerReferences: [] } }],
    ['that is being deleted', { ...ours!, metadata: { ...ours!.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }],
  ];
  for (const [what, slice] of others) {
    it(`leaves one alone ${what}`, () => {
      assert.deepEqual(planSlices(DECISION, chosen(['us']), [slice]), []);
      assert.deepEqual(publishedTargets(DECISION, [slice]), []);
    });
  }

  it('becomes any other decision with few writes, is then left alone, and is read back as it is', () => {
    const some = fc.uniqueArray(fc.constantFrom(...many(260)), { maxLength: 260 }).map((names) => names.toSorted());
    fc.assert(fc.property(some, some, (before, after) => {
      const first = published(before);
      const plan = planSlices(DECISION, chosen(after), first);
      const second = executed(first, plan);
      assert.deepEqual(planSlices(DECISION, chosen(after), second), []);
      assert.deepEqual(publishedTargets(DECISION, second).toSorted(), after);
      assert.ok(plan.length <= 3);
    }), { numRuns: 40 });
  });
});

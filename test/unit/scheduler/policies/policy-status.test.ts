import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PlacementPolicy, PlacementPolicyStatus } from '../../../../api/kinds/placement-policy.ts';
import { planPolicyStatus } from '../../../../scheduler/policies/policy-status.ts';

const NOW = '2026-01-01T00:00:00Z';
const policy: PlacementPolicy = { metadata: { namespace: 'team-a', name: 'p', uid: 'u', generation: 2 }, spec: {} };

function written(problem?: string, object: PlacementPolicy = policy) {
  const [command] = planPolicyStatus({ object, ...(problem !== undefined && { problem }) }, NOW);
  return command?.kind === 'patch' ? command : undefined;
}

const statusOf = (command: ReturnType<typeof written>) =>
  (command as unknown as { patch: { status: PlacementPolicyStatus } }).patch.status;

describe('planPolicyStatus', () => {
  it('accepts a policy that can be used', () => {
    const command = written();
    assert.deepEqual(command?.at, { namespace: 'team-a', name: 'p', subresource: 'status' });
    const told = {
      status: 'True', reason: 'Accepted', message: 'the policy is in force', observedGeneration: 2,
      lastTransitionTime: NOW,
    };
    assert.deepEqual(statusOf(command), {
      observedGeneration: 2, conditions: [{ type: 'Accepted', ...told }, { type: 'Ready', ...told }],
    });
  });

  it('says what is wrong with one that cannot, and what follows', () => {
    const message = 'the policy has no spec; until it is corrected, no pod that it may select is placed';
    const told = statusOf(written('has no spec')).conditions?.map(
      (condition) => [condition.type, condition.status, condition.reason, condition.message],
    );
    assert.deepEqual(told, ['Accepted', 'Ready'].map((type) => [type, 'False', 'Invalid', message]));
  });

  it('says that no target is left to its pods: it is accepted, but not ready', () => {
    const [command] = planPolicyStatus(
      { object: policy }, NOW, { blocked: 'no target has the labels that it requires (region=eu)', idle: [] },
    );
    const { conditions = [] } = (command as unknown as { patch: { status: PlacementPolicyStatus } }).patch.status;
    assert.deepEqual(conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`), [
      'Accepted=True Accepted', 'Ready=False NoTargetSelected',
    ]);
    assert.match(conditions[1]?.message ?? '', /requires \(region=eu\): no pod that it selects is placed$/);
  });

  it('names the parts that select no target, and is ready', () => {
    const [command] = planPolicyStatus({ object: policy }, NOW, { idle: ['tier 2', 'override 1'] });
    const { conditions = [] } = (command as unknown as { patch: { status: PlacementPolicyStatus } }).patch.status;
    assert.deepEqual([conditions[1]?.status, conditions[1]?.message], [
      'True', 'the policy is in force; no target is selected by tier 2, override 1',
    ]);
  });

  it('writes nothing when it says so already', () => {
    assert.deepEqual(
      planPolicyStatus({ object: { ...policy, status: statusOf(written()) } }, '2026-02-02T00:00:00Z'), [],
    );
  });

  it('writes again for a new generation', () => {
    const changed = { ...policy, metadata: { ...policy.metadata, generation: 3 }, status: statusOf(written()) };
    const { observedGeneration, conditions = [] } = statusOf(written(undefined, changed));
    assert.deepEqual(
      [observedGeneration, ...conditions.map(
        (condition) => [condition.observedGeneration, condition.lastTransitionTime],
      )],
      [3, [3, NOW], [3, NOW]],
    );
  });

  it('knows policies of the cluster by their lack of a namespace', () => {
    const { namespace: _none, ...metadata } = policy.metadata;
    assert.equal(written(undefined, { ...policy, metadata })?.type.plural, 'clusterplacementpolicies');
  });
});

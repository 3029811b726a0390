import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PlacementPolicy } from '../../../api/placement-policy.ts';
import type { Condition } from '../../../api/core.ts';
import { planPolicyStatus } from '../../../scheduler/policy-status.ts';

const NOW = '2026-01-01T00:00:00Z';
const policy: PlacementPolicy = { metadata: { namespace: 'team-a', name: 'p', uid: 'u', generation: 2 }, spec: {} };

function written(problem?: string, object: PlacementPolicy = policy) {
  const [command] = planPolicyStatus({ object, ...(problem !== undefined && { problem }) }, NOW);
  return command?.kind === 'patch' ? command : undefined;
}

const conditionsOf = (command: ReturnType<typeof written>) => (command as unknown as { patch: { status: { conditions: Condition[] } } }).patch.status.conditions;

describe('planPolicyStatus', () => {
  it('accepts a policy that can be used', () => {
    const command = written();
    assert.deepEqual(command?.at, { namespace: 'team-a', name: 'p', subresource: 'status' });
    assert.deepEqual(conditionsOf(command), [{ type: 'Accepted', status: 'True', reason: 'Accepted', message: 'the policy is in force', observedGeneration: 2, lastTransitionTime: NOW }]);
  });

  it('says what is wrong with one that cannot, and what follows', () => {
    const [condition] = conditionsOf(written('has no spec'));
    assert.deepEqual([condition?.status, condition?.reason], ['False', 'Invalid']);
    assert.equal(condition?.message, 'the policy has no spec; until it is corrected, the pods that it may concern are placed nowhere');
  });

  it('writes nothing when it says so already', () => {
    const conditions = conditionsOf(written());
    assert.deepEqual(planPolicyStatus({ object: { ...policy, status: { conditions } } }, '2026-02-02T00:00:00Z'), []);
  });

  it('writes again for a new generation', () => {
    const conditions = conditionsOf(written());
    const changed = { ...policy, metadata: { ...policy.metadata, generation: 3 }, status: { conditions } };
    assert.deepEqual(conditionsOf(written(undefined, changed)).map(({ observedGeneration, lastTransitionTime }) => [observedGeneration, lastTransitionTime]), [[3, NOW]]);
  });

  it('knows policies of the cluster by their lack of a namespace', () => {
    const { namespace: _none, ...metadata } = policy.metadata;
    assert.equal(written(undefined, { ...policy, metadata })?.type.plural, 'clusterplacementpolicies');
  });
});

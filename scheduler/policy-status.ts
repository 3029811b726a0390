// What the status of a policy says: whether it can be used. One that cannot keeps its pods from being placed at all, so its author should see it.
import type { ClusterPlacementPolicy, PlacementPolicy } from '../api/placement-policy.ts';
import { CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES } from '../api/resource-types.ts';
import { setCondition } from '../model/conditions.ts';
import { NOTHING, type Plan } from '../model/plan.ts';

/** A policy object with what is wrong with it. */
export interface JudgedPolicy {
  readonly object: PlacementPolicy | ClusterPlacementPolicy;
  readonly problem?: string;
}

/** Writes the condition `Accepted`; nothing when it says so already. `now` is an RFC 3339 time. */
export function planPolicyStatus({ object, problem }: JudgedPolicy, now: string): Plan {
  const { namespace, name = '', uid = '', generation = 0 } = object.metadata;
  const before = object.status?.conditions;
  const verdict = problem === undefined
    ? ({ status: 'True', reason: 'Accepted', message: 'the policy is in force' } as const)
    : ({ status: 'False', reason: 'Invalid', message: `the policy ${problem}; until it is corrected, the pods that it may concern are placed nowhere` } as const);
  const conditions = setCondition(before, { type: 'Accepted', ...verdict, observedGeneration: generation }, now);
  if (conditions === before) return NOTHING;
  const type = namespace === undefined ? CLUSTER_PLACEMENT_POLICIES : PLACEMENT_POLICIES;
  return [{ kind: 'patch', type, at: { namespace, name, subresource: 'status' }, patchType: 'merge', patch: { metadata: { uid }, status: { conditions } } }];
}

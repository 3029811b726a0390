// The status of a policy: whether it is valid. An invalid policy blocks the placement of its pods, so its author must
// see it.
import type { ClusterPlacementPolicy, PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import { CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES } from '../../api/resource-types.ts';
import { withConditions, type ConditionUpdate } from '../../model/objects/conditions.ts';
import { NOTHING, type Plan } from '../../model/objects/plan.ts';

/** A policy object with its validation error. */
export interface JudgedPolicy {
  readonly object: PlacementPolicy | ClusterPlacementPolicy;
  readonly problem?: string;
}

/** Sets the conditions `Ready` and `Accepted`; empty when they are up to date. `now` is RFC 3339. */
export function planPolicyStatus({ object, problem }: JudgedPolicy, now: string): Plan {
  const { namespace, name = '', uid = '', generation = 0 } = object.metadata;
  const before = object.status ?? {};
  const status = withConditions(before, toldOf(problem), { generation, now });
  if (status === before) return NOTHING;
  const type = namespace === undefined ? CLUSTER_PLACEMENT_POLICIES : PLACEMENT_POLICIES;
  return [{
    kind: 'patch', type, at: { namespace, name, subresource: 'status' }, patchType: 'merge',
    patch: { metadata: { uid }, status },
  }];
}

function toldOf(problem: string | undefined): readonly ConditionUpdate[] {
  if (problem === undefined) return ['Accepted', 'Ready'].map(
    (type) => ({ type, status: 'True', reason: 'Accepted', message: 'the policy is in force' }),
  );
  const message = `the policy ${problem}; until it is corrected, no pod that it may select is placed`;
  return ['Accepted', 'Ready'].map((type) => ({ type, status: 'False', reason: 'Invalid', message }));
}

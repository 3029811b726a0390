// The status of a policy: whether it is valid, and whether it leaves a target to its pods. One that is invalid, or
// leaves none, blocks their placement, so its author must see it.
import type { ClusterPlacementPolicy, PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import { CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES } from '../../api/resource-types.ts';
import { withConditions, type ConditionUpdate } from '../../model/objects/conditions.ts';
import { NOTHING, type Plan } from '../../model/objects/plan.ts';
import type { PolicyReach } from './policy-reach.ts';

/** A policy object with its validation error. */
export interface ValidatedPolicy {
  readonly object: PlacementPolicy | ClusterPlacementPolicy;
  readonly problem?: string;
}

const EVERYWHERE: PolicyReach = { idle: [] };

/** Sets the conditions `Ready` and `Accepted`; empty when they are up to date. `now` is RFC 3339. */
export function planPolicyStatus({ object, problem }: ValidatedPolicy, now: string, reach = EVERYWHERE): Plan {
  const { namespace, name = '', uid = '', generation = 0 } = object.metadata;
  const before = object.status ?? {};
  const status =
    withConditions(before, problem === undefined ? conditionsOf(reach) : invalid(problem), { generation, now });
  if (status === before) return NOTHING;
  const type = namespace === undefined ? CLUSTER_PLACEMENT_POLICIES : PLACEMENT_POLICIES;
  return [{
    kind: 'patch', type, at: { namespace, name, subresource: 'status' }, patchType: 'merge',
    patch: { metadata: { uid }, status },
  }];
}

/** `Accepted` is about the policy alone, `Ready` about what it does with the targets that there are. */
function conditionsOf({ blocked, idle }: PolicyReach): readonly ConditionUpdate[] {
  const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'the policy is in force' } as const;
  if (blocked !== undefined) {
    const message = `the policy is in force, but ${blocked}: no pod that it selects is placed`;
    return [accepted, { type: 'Ready', status: 'False', reason: 'NoTargetSelected', message }];
  }
  const message =
    idle.length === 0 ? accepted.message : `the policy is in force; no target is selected by ${idle.join(', ')}`;
  return [accepted, { ...accepted, type: 'Ready', message }];
}

function invalid(problem: string): readonly ConditionUpdate[] {
  const message = `the policy ${problem}; until it is corrected, no pod that it may select is placed`;
  return ['Accepted', 'Ready'].map((type) => ({ type, status: 'False', reason: 'Invalid', message }));
}

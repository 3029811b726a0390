// The status of a ResourceShare: whether it is in force, its effective limits, and its usage.
import type { ResourceShareSpec, ResourceShareStatus } from '../../api/kinds/resource-share.ts';
import type { ResourceList } from '../../api/objects/core.ts';
import { withConditions, type ConditionUpdate, type Observation } from '../../model/objects/conditions.ts';
import { parseResourceList } from '../../model/resources/resources.ts';

/** What the ledger computes for a ResourceShare. */
export interface EffectiveResourceShare {
  readonly limits: ResourceList;
  readonly used: ResourceList;
}

/** The status to store. Returns `before` itself when nothing would change. */
export function toResourceShareStatus(
  before: ResourceShareStatus, spec: ResourceShareSpec, { limits, used }: EffectiveResourceShare,
  observation: Observation,
): ResourceShareStatus {
  const next = withConditions(before, [readiness(spec)], observation);
  const isSame = next === before && isSameList(before.limits, limits) && isSameList(before.used, used);
  return isSame ? before : { ...next, limits, used };
}

function readiness({ limits }: ResourceShareSpec): ConditionUpdate {
  const [invalid] = parseResourceList(limits).invalid;
  if (invalid === undefined) return {
    type: 'Ready', status: 'True', reason: 'InForce', message: 'the pods of its source are counted against it',
  };
  return {
    type: 'Ready', status: 'False', reason: 'Invalid',
    message: `spec.limits of ${invalid.resource} is not a valid limit: ${invalid.message}`,
  };
}

/** Regardless of order: an API server returns fields sorted. */
function isSameList(left: ResourceList = {}, right: ResourceList): boolean {
  return Object.keys({ ...left, ...right }).every((resource) => left[resource] === right[resource]);
}

/** A merge patch (RFC 7386) of the status that removes all earlier entries of its lists. */
export function resourceShareStatusPatch(before: ResourceShareStatus, after: ResourceShareStatus): object {
  const replaced = (old: ResourceList = {}, now: ResourceList = {}): object =>
    ({ ...Object.fromEntries(Object.keys(old).map((resource) => [resource, null])), ...now });
  return { ...after, limits: replaced(before.limits, after.limits), used: replaced(before.used, after.used) };
}

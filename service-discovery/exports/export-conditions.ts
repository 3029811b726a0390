// Conditions of a ServiceExport (`multicluster.x-k8s.io/v1beta1`): whether it is valid, whether it was published, and
// whether it conflicts with other exports. Each cluster writes those of its own exports; a conflict shows on all of
// them.
import type { Condition } from '../../api/objects/core.ts';
import type { ExportedService } from '../../api/kinds/service-discovery.ts';
import { isInAny } from '../../model/network/ip-range.ts';
import { setCondition, type ConditionUpdate } from '../../model/objects/conditions.ts';
import type { Export } from './exported-service.ts';
import type { MergedExports } from '../imports/merge-exports.ts';

/** Inputs of the conditions. */
export interface ExportState {
  readonly clusterId: string;
  readonly exported: Export;
  /** Whether the broker has the current export; undefined when this cluster is not in a clusterset. */
  readonly isShared: boolean | undefined;
  /** Why the broker refuses it. */
  readonly refusal?: string | undefined;
  /** The merged exports of all clusters; undefined before they are known. */
  readonly merged: MergedExports | undefined;
  readonly generation?: number | undefined;
  /** Pod ranges of this cluster that the others know; undefined before they are known here. */
  readonly ranges?: readonly string[] | undefined;
}

/** The new conditions. Returns the same list when nothing changes. `now` is an RFC 3339 time. */
export function exportConditions(
  before: readonly Condition[] | undefined, state: ExportState, now: string,
): readonly Condition[] {
  const observed = state.generation === undefined ? {} : { observedGeneration: state.generation };
  return [valid(state), ready(state), conflict(state)].reduce<readonly Condition[]>(
    (list, update) => setCondition(list, { ...update, ...observed }, now), before ?? [],
  );
}

function valid({ exported }: ExportState): ConditionUpdate {
  if (exported.kind === 'invalid') {
    return { type: 'Valid', status: 'False', reason: exported.reason, message: exported.message };
  }
  return { type: 'Valid', status: 'True', reason: 'Valid', message: 'the Service can be exported' };
}

function ready({ clusterId, exported, isShared, refusal, merged, ranges }: ExportState): ConditionUpdate {
  const type = 'Ready';
  if (exported.kind === 'invalid') return { type, status: 'False', reason: 'Failed', message: exported.message };
  if (isShared === undefined) return {
    type, status: 'False', reason: 'Pending', message: 'this cluster is in no clusterset; run "isthmus gateway join"',
  };
  if (!isShared && refusal !== undefined) return { type, status: 'False', reason: 'Failed', message: refusal };
  if (!isShared) return { type, status: 'False', reason: 'Pending', message: 'the broker has not received it yet' };
  const contributes = merged?.contributors.some(({ spec }) => spec.clusterID === clusterId) === true;
  if (merged !== undefined && !contributes) return {
    type, status: 'False', reason: 'Failed',
    message:
      'endpoints of this cluster are not used: the oldest export is of another type (see the condition Conflict)',
  };
  const leftOut = (['endpoints', 'ports'] as const).filter((what) => exported.leftOut[what] > 0)
    .map((what) => `; ${exported.leftOut[what]} ${what} exceed the limit and are omitted`).join('');
  const outside = ranges === undefined ? 0 : countOutside(exported.object, ranges);
  const ignored = outside === 0
    ? ''
    : `; ${outside} endpoints are in none of the pod ranges of this cluster, and the others ignore them; see ` +
      '--cluster-cidr of "isthmus gateway join"';
  const message = `the other clusters have received it${leftOut}${ignored}`;
  return { type, status: 'True', reason: 'Exported', message };
}

/** Those of IPv6 are not reached in any range. */
function countOutside({ spec }: ExportedService, ranges: readonly string[]): number {
  return spec.slices.flatMap(({ endpoints }) => endpoints)
    .filter(({ address }) => !address.includes(':') && !isInAny(ranges, address)).length;
}

function conflict({ exported, merged }: ExportState): ConditionUpdate {
  const conflicts = exported.kind === 'invalid' ? [] : (merged?.conflicts ?? []);
  if (conflicts.length === 0) return {
    type: 'Conflict', status: 'False', reason: 'NoConflicts',
    message: 'no export of another cluster contradicts this one',
  };
  return {
    type: 'Conflict', status: 'True', reason: conflicts.map(({ reason }) => reason).join(','),
    message: conflicts.map(({ message }) => message).join('; '),
  };
}

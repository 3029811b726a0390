// `isthmus get targets`: whether each takes pods, how many elected pods it has, and what is free there. Pure.
import type { ClusterTarget, Target, TargetStatus } from '../../api/kinds/cluster-target.ts';
import type { Node, Pod } from '../../api/objects/core.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { ageOf } from '../output/text-table.ts';
import { sortedByName, UNKNOWN, type Table } from './elected-pods.ts';

/** What else of the source is read; missing where the user may not. */
export interface SourceView {
  readonly pods: readonly Pod[] | undefined;
  readonly nodes: readonly Node[] | undefined;
}

/** One row for each target. `now` is in ms since the epoch. */
export function targetTable(
  targets: readonly (ClusterTarget | Target)[], { pods, nodes }: SourceView,
  { now, wide }: { readonly now: number; readonly wide: boolean },
): Table {
  const cordoned =
    new Set(nodes?.filter(({ spec }) => spec?.unschedulable === true).map(({ metadata }) => metadata.name));
  const rows = sortedByName(targets).map((target) => {
    const { metadata, status = {} } = target;
    const { cpu, memory, gpu } = status.free ?? {};
    const node = nodeOf(target);
    const { state, message } = readinessOf(status);
    const count = pods === undefined ? UNKNOWN : String(pods.filter(({ spec }) => spec.nodeName === node).length);
    return [
      objectKey(metadata),
      cordoned.has(node) ? `${state},SchedulingDisabled` : state, count, cpu, memory, gpu, status.rtt,
      ageOf(metadata.creationTimestamp, now), ...(wide ? [node, status.clusterID, message] : []),
    ];
  });
  const header = ['NAME', 'STATUS', 'PODS', 'FREE CPU', 'FREE MEM', 'GPU', 'RTT', 'AGE', ...(
    wide ? ['NODE', 'CLUSTER', 'MESSAGE'] : []
  )];
  return { header, rows };
}

/** The virtual node of a target. */
export function nodeOf({ metadata, status }: ClusterTarget | Target): string {
  const { namespace, name = '' } = metadata;
  return status?.virtualNode
    ?? virtualNodeName(namespace === undefined ? { kind: 'ClusterTarget', name } : { kind: 'Target', namespace, name });
}

/** `Ready`, or the reason and what to change. */
function readinessOf({ conditions }: TargetStatus): { readonly state: string; readonly message?: string | undefined } {
  const ready = findCondition(conditions, 'Ready');
  return ready?.status === 'True' ? { state: 'Ready' } : { state: ready?.reason ?? 'Unknown', message: ready?.message };
}

// `isthmus get targets`: whether each takes pods, how many elected pods it has, and what is free there. Pure.
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import type { Node, PodSpec } from '../../api/objects/core.ts';
import { DISCOVERED_BY_LABEL, REGISTERED_NAME_ANNOTATION } from '../../api/objects/keys.ts';
import { readinessOf } from '../../model/objects/conditions.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { targetRefOf } from '../../model/naming/target-ref.ts';
import { ageOf } from '../output/text-table.ts';
import { sortedByName, UNKNOWN, type Table } from './pod-table.ts';

/** What else of the source is read; missing where the user may not. */
export interface SourceView {
  /** Elected pods. */
  readonly pods: readonly { readonly spec: Pick<PodSpec, 'nodeName'> }[] | undefined;
  readonly nodes: readonly Node[] | undefined;
}

/** What lists show of a target. */
export interface TargetOverview {
  /** `NAME` of a ClusterTarget, `NAMESPACE/NAME` of a Target. */
  readonly name: string;
  /** Its virtual node. */
  readonly node: string;
  /** `Ready`, or the reason why it is not. */
  readonly state: string;
  readonly isCordoned: boolean;
  /** What to change, where it is not ready. */
  readonly message?: string | undefined;
  /** Elected pods on its node; undefined where they cannot be read. */
  readonly pods: number | undefined;
}

/** The overview of each target, in order of their names. */
export function targetOverviews(
  targets: readonly (ClusterTarget | Target)[], { pods, nodes }: SourceView,
): readonly (TargetOverview & { readonly target: ClusterTarget | Target })[] {
  const cordoned =
    new Set(nodes?.filter(({ spec }) => spec?.unschedulable === true).map(({ metadata }) => metadata.name));
  const counts = new Map<string, number>();
  for (const { spec: { nodeName = '' } } of pods ?? []) counts.set(nodeName, (counts.get(nodeName) ?? 0) + 1);
  return sortedByName(targets).map((target) => {
    const node = nodeOf(target);
    return {
      target, name: objectKey(target.metadata), node, ...readinessOf(target.status?.conditions),
      isCordoned: cordoned.has(node), pods: pods === undefined ? undefined : (counts.get(node) ?? 0),
    };
  });
}

/** One row for each target. `now` is in ms since the epoch. */
export function targetTable(
  targets: readonly (ClusterTarget | Target)[], source: SourceView,
  { now, wide }: { readonly now: number; readonly wide: boolean },
): Table {
  const isDiscovered = targets.some(({ metadata }) => originOf(metadata) !== undefined);
  const rows = targetOverviews(targets, source).map(({ target, name, node, state, isCordoned, message, pods }) => {
    const { metadata, status = {} } = target;
    const { cpu, memory, gpu } = status.free ?? {};
    return [
      name, isCordoned ? `${state},SchedulingDisabled` : state, pods === undefined ? UNKNOWN : String(pods),
      cpu, memory, gpu, status.rtt,
      ageOf(metadata.creationTimestamp, now), ...(isDiscovered ? [originOf(metadata)] : []),
      ...(wide ? [node, status.clusterID, message] : []),
    ];
  });
  const header = [
    'NAME', 'STATUS', 'PODS', 'FREE CPU', 'FREE MEM', 'GPU', 'RTT', 'AGE', ...(isDiscovered ? ['FROM'] : []),
    ...(wide ? ['NODE', 'CLUSTER', 'MESSAGE'] : []),
  ];
  return { header, rows };
}

/** Where a target came from: its TargetDiscovery, and the name that the registry has for it where that is another. */
function originOf({ name, labels = {}, annotations = {} }: ClusterTarget['metadata']): string | undefined {
  const discovery = labels[DISCOVERED_BY_LABEL];
  const registered = annotations[REGISTERED_NAME_ANNOTATION] ?? name;
  return discovery === undefined || registered === name ? discovery : `${discovery} (${registered})`;
}

/** The virtual node of a target. */
export function nodeOf({ metadata, status }: ClusterTarget | Target): string {
  return status?.virtualNode ?? virtualNodeName(targetRefOf(metadata));
}

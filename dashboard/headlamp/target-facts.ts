// What the pages of virtual nodes and of targets show: availability and capacity.
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import type { Node } from '../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, PROVIDER_KEY, PROVIDER_VALUE, TARGET_NAME_LABEL, TARGET_NAMESPACE_LABEL,
  TARGET_READY_CONDITION,
} from '../../api/objects/keys.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { readinessOf } from '../../model/objects/conditions.ts';

/** A name with its value. */
export type Fact = readonly [name: string, value: string];

/** A virtual node, and what it says of its target. */
export interface NodeFacts {
  readonly target: TargetRef;
  /** `Ready`, or the reason why the target gets no new pods. */
  readonly state: string;
  /** What to change, where it is not ready. */
  readonly message: string | undefined;
  readonly isCordoned: boolean;
  readonly resources: readonly { readonly name: string; readonly capacity: string; readonly allocatable: string }[];
}

/** The facts of a virtual node; undefined for any other node. */
export function nodeFacts({ metadata: { labels = {} }, spec, status = {} }: Node): NodeFacts | undefined {
  const target = labels[PROVIDER_KEY] === PROVIDER_VALUE ? targetOf(labels) : undefined;
  if (target === undefined) return undefined;
  const { state, message } = readinessOf(status.conditions, TARGET_READY_CONDITION);
  const { capacity = {}, allocatable = {} } = status;
  const names = [...new Set([...Object.keys(capacity), ...Object.keys(allocatable)])].toSorted();
  return {
    target, state, message, isCordoned: spec?.unschedulable === true,
    resources: names.map((name) => (
      { name, capacity: String(capacity[name] ?? ''), allocatable: String(allocatable[name] ?? '') }
    )),
  };
}

function targetOf(labels: Readonly<Record<string, string>>): TargetRef | undefined {
  const [clusterTarget, name] = [labels[CLUSTER_TARGET_NAME_LABEL], labels[TARGET_NAME_LABEL]];
  const namespace = labels[TARGET_NAMESPACE_LABEL];
  if (clusterTarget !== undefined) return { kind: 'ClusterTarget', name: clusterTarget };
  return name === undefined || namespace === undefined ? undefined : { kind: 'Target', namespace, name };
}

/** A target in the list. */
export interface TargetRow {
  readonly kind: 'ClusterTarget' | 'Target';
  readonly namespace: string | undefined;
  readonly name: string;
  readonly state: string;
  readonly message: string | undefined;
  readonly isCordoned: boolean;
  /** Free capacity: `12 CPU, 40Gi, 2 GPU`; empty while it is not known. */
  readonly free: string;
  readonly rtt: string;
  /** The virtual node; undefined until there is one. */
  readonly node: string | undefined;
}

/** A target as a row. */
export function targetRow({ metadata: { namespace, name = '' }, status = {} }: ClusterTarget | Target): TargetRow {
  const { state, message } = readinessOf(status.conditions);
  return {
    kind: namespace === undefined ? 'ClusterTarget' : 'Target', namespace, name, state, message,
    isCordoned: status.cordoned === true, free: freeText(status), rtt: status.rtt ?? '', node: status.virtualNode,
  };
}

/** What a target's own object adds to its virtual node. */
export function targetFacts({ spec, status = {} }: ClusterTarget | Target): readonly Fact[] {
  const prices = Object.entries(spec.prices ?? {}).map((pair) => pair.join(' ')).toSorted().join(', ');
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Free now', freeText(status)], ['Round trip', status.rtt], ['Delegation', status.delegation],
    ['Gateway', spec.gateway?.cluster], ['Prices per hour', prices], ['Cluster ID', status.clusterID],
  ];
  return facts.flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value] as const]));
}

function freeText({ free = {} }: NonNullable<ClusterTarget['status']>): string {
  const { cpu, memory, gpu, pods } = free;
  return [
    ...(cpu === undefined ? [] : [`${cpu} CPU`]), ...(memory === undefined ? [] : [memory]),
    ...(gpu === undefined || gpu === '0' ? [] : [`${gpu} GPU`]), ...(pods === undefined ? [] : [`${pods} pods`]),
  ].join(', ');
}

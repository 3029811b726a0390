// What a target publishes: totals, free sums, and the holes on its nodes. Cordoned, NotReady and virtual nodes do not count.
import type { ClusterSummary, NodeGroup } from '../api/cluster-summary.ts';
import type { Node, StringMap, Taint } from '../api/core.ts';
import { CLUSTER_SUMMARY_NAME, PROVIDER_KEY, PROVIDER_VALUE } from '../api/keys.ts';
import { ADMIRALTY_API_VERSION } from '../api/resource-types.ts';
import { findCondition } from '../model/conditions.ts';
import {
  addAmounts, formatResourceList, NO_AMOUNTS, parseResourceList, subtractAmountsNotBelowZero, type ResourceAmounts,
} from '../model/resources.ts';
import type { TargetPod } from './target-pod.ts';

/** A node that may take pods, as it is remembered. */
export interface TargetNode {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  readonly capacity: ResourceAmounts;
  readonly allocatable: ResourceAmounts;
}

/** The record of a node, or undefined when it may not take pods now. */
export function toTargetNodeRecord(node: Node): TargetNode | undefined {
  if (!mayTakePods(node)) return undefined;
  const { labels = {}, name = '' } = node.metadata;
  return {
    name,
    labels,
    taints: (node.spec?.taints ?? []).map(toPublishedTaint),
    capacity: parseResourceList(node.status?.capacity).amounts,
    allocatable: parseResourceList(node.status?.allocatable).amounts,
  };
}

function mayTakePods({ metadata, spec, status }: Node): boolean {
  const isReady = findCondition(status?.conditions, 'Ready')?.status === 'True';
  return isReady && spec?.unschedulable !== true && metadata.labels?.[PROVIDER_KEY] !== PROVIDER_VALUE;
}

/** Node controllers note when they added a taint; with that, every node would be a group of its own, and the CRD does not know the field. */
function toPublishedTaint({ key, value, effect }: Taint): Taint {
  return value === undefined ? { key, effect } : { key, value, effect };
}

/** Requests of the pods on each node, by node name. */
export type NodeUsage = ReadonlyMap<string, ResourceAmounts>;

/** Sums the requests of all pods that hold capacity. */
export function nodeUsage(pods: Iterable<TargetPod>): NodeUsage {
  const usage = new Map<string, ResourceAmounts>();
  for (const { occupies } of pods) {
    if (occupies === undefined) continue;
    usage.set(occupies.nodeName, addAmounts(usage.get(occupies.nodeName) ?? NO_AMOUNTS, occupies.requests));
  }
  return usage;
}

/** The summary of a cluster at a resourceVersion of its pods. */
export function toClusterSummary(nodes: Iterable<TargetNode>, usage: NodeUsage, podsResourceVersion: string): ClusterSummary {
  const all = [...nodes].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  let capacity = NO_AMOUNTS;
  let allocatable = NO_AMOUNTS;
  let free = NO_AMOUNTS;
  for (const node of all) {
    capacity = addAmounts(capacity, node.capacity);
    allocatable = addAmounts(allocatable, node.allocatable);
    free = addAmounts(free, freeOn(node, usage));
  }
  return {
    apiVersion: ADMIRALTY_API_VERSION,
    kind: 'ClusterSummary',
    metadata: { name: CLUSTER_SUMMARY_NAME, labels: sharedLabels(all) },
    capacity: formatResourceList(capacity),
    allocatable: formatResourceList(allocatable),
    free: formatResourceList(free),
    nodeGroups: toNodeGroups(all, usage),
    observed: { podsResourceVersion },
  };
}

function freeOn(node: TargetNode, usage: NodeUsage): ResourceAmounts {
  return subtractAmountsNotBelowZero(node.allocatable, usage.get(node.name) ?? NO_AMOUNTS);
}

/** Keys whose value is the same on all nodes that carry them (contract §3, "Aggregated labels"). */
function sharedLabels(nodes: readonly TargetNode[]): StringMap {
  const values = new Map<string, string | undefined>();
  for (const { labels } of nodes) {
    for (const [key, value] of Object.entries(labels)) {
      if (!values.has(key)) values.set(key, value);
      else if (values.get(key) !== value) values.set(key, undefined);
    }
  }
  return Object.fromEntries([...values].filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** The label that names a single node, and so would make each node a group of its own. */
const HOSTNAME_LABEL = 'kubernetes.io/hostname';

function toNodeGroups(nodes: readonly TargetNode[], usage: NodeUsage): NodeGroup[] {
  const groups = new Map<string, { readonly labels: StringMap; readonly taints: readonly Taint[]; readonly holes: Map<string, { count: number; free: ResourceAmounts }> }>();
  for (const node of nodes) {
    const { [HOSTNAME_LABEL]: _hostname, ...labels } = node.labels;
    const key = JSON.stringify([sortedEntries(Object.entries(labels)), node.taints]);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { labels, taints: node.taints, holes: new Map() }));
    const free = freeOn(node, usage);
    const holeKey = JSON.stringify(sortedEntries([...free]));
    const hole = group.holes.get(holeKey);
    if (hole === undefined) group.holes.set(holeKey, { count: 1, free });
    else hole.count += 1;
  }
  return [...groups.values()].map(({ labels, taints, holes }) => ({
    labels,
    ...(taints.length > 0 && { taints }),
    holes: [...holes.values()].map(({ count, free }) => ({ count, free: formatResourceList(free) })),
  }));
}

function sortedEntries<V>(entries: readonly (readonly [string, V])[]): readonly (readonly [string, V])[] {
  return entries.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

// What a target has room for: sums to rank by, and the holes on its nodes to know whether a pod really fits.
import type { ClusterSummary, NodeGroup } from '../api/cluster-summary.ts';
import type { Affinity, PodSpec, StringMap, Taint, Toleration } from '../api/core.ts';
import { matchesNodeSelector } from '../model/node-selector.ts';
import { podRequests } from '../model/pod-requests.ts';
import {
  CPU, formatResourceAmount, missingFor, parseResourceList, subtractAmountsNotBelowZero, type MissingResource, type ResourceAmounts,
} from '../model/resources.ts';
import { firstUntoleratedTaint } from '../model/tolerations.ts';

/** Free room on `count` equal nodes. */
interface Hole {
  readonly count: number;
  readonly free: ResourceAmounts;
}

/** Nodes alike in labels and taints. */
interface CapacityGroup {
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  readonly holes: readonly Hole[];
}

/** The capacity of a target, as its ClusterSummary states it, less what was assumed since. */
export interface TargetCapacity {
  readonly allocatable: ResourceAmounts;
  readonly free: ResourceAmounts;
  readonly groups: readonly CapacityGroup[];
}

/** What a delegate pod asks of a node. */
export interface NodeRequirements {
  readonly requests: ResourceAmounts;
  readonly nodeSelector?: StringMap;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
}

/** What a delegate of this spec will ask of a node: the chaperon's, which may have fewer constraints than the source pod's. */
export function toRequirements(spec: PodSpec): NodeRequirements {
  const { nodeSelector, affinity, tolerations } = spec;
  return {
    requests: podRequests(spec),
    ...(nodeSelector && { nodeSelector }),
    ...(affinity && { affinity }),
    ...(tolerations && { tolerations }),
  };
}

/** Whether a node can take a pod now, or what is in the way on the node that comes nearest. */
export type NodeFit = { readonly kind: 'fits' } | { readonly kind: 'no-node'; readonly reason: string; readonly message: string };

/** Reads a summary. One without node groups (Admiralty's) counts as one node that has all of `allocatable`. */
export function toTargetCapacity(summary: ClusterSummary): TargetCapacity {
  const allocatable = parseResourceList(summary.allocatable).amounts;
  const free = summary.free === undefined ? allocatable : parseResourceList(summary.free).amounts;
  const groups = summary.nodeGroups?.map(toGroup) ?? [{ labels: {}, taints: [], holes: [{ count: 1, free }] }];
  return { allocatable, free, groups };
}

function toGroup(group: NodeGroup): CapacityGroup {
  return {
    labels: group.labels ?? {},
    taints: group.taints ?? [],
    holes: group.holes.filter(({ count }) => count > 0).map(({ count, free }) => ({ count, free: parseResourceList(free).amounts })),
  };
}

/** Whether some node of the target can take the pod now. */
export function fitsOnNode(capacity: TargetCapacity, pod: NodeRequirements): NodeFit {
  if (capacity.groups.length === 0) return { kind: 'no-node', reason: 'NoNodes', message: 'it has no node that is ready and not cordoned' };
  const open = capacity.groups.filter((group) => admits(group, pod));
  if (open.length === 0) {
    return { kind: 'no-node', reason: 'NodeSelectorOrTaints', message: 'no node matches nodeSelector and affinity without a taint that the pod does not tolerate' };
  }
  let nearest: readonly MissingResource[] | undefined;
  for (const { holes } of open) {
    for (const hole of holes) {
      const missing = missingFor(pod.requests, hole.free);
      if (missing.length === 0) return { kind: 'fits' };
      if (nearest === undefined || missing.length < nearest.length) nearest = missing;
    }
  }
  return { kind: 'no-node', reason: 'InsufficientResources', message: `no node has ${describe(nearest ?? [])} free` };
}

function describe(missing: readonly MissingResource[]): string {
  return missing.map(({ resource, requested }) => `${formatResourceAmount(resource, requested)} ${resource}`).join(' and ');
}

function admits(group: CapacityGroup, pod: NodeRequirements): boolean {
  return firstUntoleratedTaint(group.taints, pod.tolerations) === undefined && matchesNodeSelector(pod, group.labels);
}

/** The capacity after the pod was placed on the fitting node with the most room, where kube-scheduler's default puts it. */
export function takeFrom(capacity: TargetCapacity, pod: NodeRequirements): TargetCapacity {
  const free = subtractAmountsNotBelowZero(capacity.free, pod.requests);
  const place = roomiest(capacity, pod);
  if (place === undefined) return { ...capacity, free };
  const groups = capacity.groups.map((group) => (group === place.group ? { ...group, holes: takeHole(group.holes, place.hole, pod.requests) } : group));
  return { ...capacity, free, groups };
}

function roomiest(capacity: TargetCapacity, pod: NodeRequirements): { readonly group: CapacityGroup; readonly hole: Hole } | undefined {
  let best: { readonly group: CapacityGroup; readonly hole: Hole } | undefined;
  for (const group of capacity.groups) {
    if (!admits(group, pod)) continue;
    for (const hole of group.holes) {
      if (missingFor(pod.requests, hole.free).length > 0) continue;
      if (best === undefined || (hole.free.get(CPU) ?? 0) > (best.hole.free.get(CPU) ?? 0)) best = { group, hole };
    }
  }
  return best;
}

function takeHole(holes: readonly Hole[], taken: Hole, requests: ResourceAmounts): Hole[] {
  const smaller = { count: 1, free: subtractAmountsNotBelowZero(taken.free, requests) };
  const rest = holes.flatMap((hole) => (hole === taken ? (hole.count > 1 ? [{ ...hole, count: hole.count - 1 }] : []) : [hole]));
  return [...rest, smaller];
}

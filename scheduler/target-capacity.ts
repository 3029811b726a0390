// What a target has room for: sums to rank by, and the holes on its nodes to know whether a pod really fits.
// It is compiled once from a summary. Taking a pod and giving it back change it in place, exactly and in any order;
// a decision only reads it.
import type { ClusterSummary, NodeGroup } from '../api/cluster-summary.ts';
import type { Affinity, PodSpec, ResourceList, StringMap, Taint, Toleration } from '../api/core.ts';
import { matchesNodeSelector } from '../model/node-selector.ts';
import { podRequests } from '../model/pod-requests.ts';
import { CPU, formatResourceAmount, formatResourceList, parseResourceList, type ResourceAmounts } from '../model/resources.ts';
import { firstUntoleratedTaint } from '../model/tolerations.ts';
import { HoleTable, NO_ROW, type RoomWeights, type RowRequest, type TableRow } from './hole-table.ts';

/** Nodes alike in labels and taints. */
interface CapacityGroup {
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
}

/** What a delegate pod asks of a node. Equal pods should share one object: what follows from it is remembered by identity. */
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

/** Capacity that is held for one pod. */
export interface Taken {
  readonly requests: ResourceAmounts;
  /** Missing when no node had room: then only the sums were lowered. */
  readonly place?: { readonly row: number; readonly request: RowRequest };
}

/** A pod's requirements in terms of one target. */
interface CompiledPod {
  /** 1 for each group whose labels and taints allow the pod. */
  readonly open: Uint8Array;
  readonly request: RowRequest;
}

/** The capacity of a target, as its ClusterSummary states it, less what was taken since. */
export class TargetCapacity {
  readonly allocatable: ResourceAmounts;
  readonly #publishedFree: ResourceAmounts;
  readonly #groups: readonly CapacityGroup[];
  readonly #holes: HoleTable;
  readonly #weights: readonly RoomWeights[];
  readonly #compiled = new WeakMap<NodeRequirements, CompiledPod>();
  #free: Map<string, number>;
  #taken = 0;

  /** Use {@link toTargetCapacity}. `rows` name groups by their index. */
  constructor(sums: { readonly allocatable: ResourceAmounts; readonly free: ResourceAmounts }, groups: readonly CapacityGroup[], rows: readonly TableRow[]) {
    this.allocatable = sums.allocatable;
    this.#publishedFree = sums.free;
    this.#free = new Map(sums.free);
    this.#groups = groups;
    this.#holes = new HoleTable(rows);
    this.#weights = [CPU, 'memory'].flatMap((resource) => toWeights(this.#holes.columnOf(resource), resource, { groups: groups.length, rows }));
  }

  /** Sums over all nodes, less what was taken; below zero where more was taken than the nodes have. */
  get free(): ResourceAmounts {
    return this.#free;
  }

  /** Whether some node can take the pod now. */
  hasRoomFor(pod: NodeRequirements): boolean {
    const { open, request } = this.#compile(pod);
    return this.#holes.firstFit(request, open) !== NO_ROW;
  }

  /** As {@link hasRoomFor}, with what is in the way. */
  fit(pod: NodeRequirements): NodeFit {
    if (this.#groups.length === 0) return { kind: 'no-node', reason: 'NoNodes', message: 'it has no node that is ready and not cordoned' };
    if (this.hasRoomFor(pod)) return { kind: 'fits' };
    const { open, request } = this.#compile(pod);
    if (!open.includes(1)) {
      return { kind: 'no-node', reason: 'NodeSelectorOrTaints', message: 'no node matches nodeSelector and affinity without a taint that the pod does not tolerate' };
    }
    const missing = this.#holes.fewestMissing(request, open) ?? [];
    return { kind: 'no-node', reason: 'InsufficientResources', message: `no node has ${describe(missing, pod.requests)} free` };
  }

  /** Places the pod on the fitting node that has most of itself free, where kube-scheduler's default puts it. */
  take(pod: NodeRequirements): Taken {
    const { requests } = pod;
    for (const [resource, amount] of requests) this.#free.set(resource, (this.#free.get(resource) ?? 0) - amount);
    this.#taken += 1;
    const { open, request } = this.#compile(pod);
    const row = this.#holes.roomiest(request, open, this.#weights);
    return row === NO_ROW ? { requests } : { requests, place: { row: this.#holes.take(row, request), request } };
  }

  /** Undoes one {@link take}. */
  giveBack({ requests, place }: Taken): void {
    this.#taken -= 1;
    if (this.#taken === 0) this.#free = new Map(this.#publishedFree);
    else for (const [resource, amount] of requests) this.#free.set(resource, (this.#free.get(resource) ?? 0) + amount);
    if (place !== undefined) this.#holes.giveBack(place.row, place.request);
  }

  /** The capacity as it is now, as plain data that {@link toTargetCapacity} reads: for what-if, replay and tests. Equal holes are counted together. */
  toSummary(): ClusterSummary {
    const groups = this.#groups.map((group) => ({ group, holes: new Map<string, { count: number; free: ResourceList }>() }));
    for (const { group, count, free } of this.#holes.rows()) {
      const list = formatResourceList(free);
      const key = JSON.stringify(list);
      const holes = groups[group]?.holes;
      holes?.set(key, { count: (holes.get(key)?.count ?? 0) + count, free: list });
    }
    const nodeGroups = groups.map(({ group, holes }) => ({ ...group, holes: [...holes].toSorted(byKey).map(([, hole]) => hole) }));
    return { metadata: {}, allocatable: formatResourceList(this.allocatable), free: formatResourceList(this.#free), nodeGroups };
  }

  #compile(pod: NodeRequirements): CompiledPod {
    let compiled = this.#compiled.get(pod);
    if (compiled === undefined) {
      const open = Uint8Array.from(this.#groups, (group) => (admits(group, pod) ? 1 : 0));
      this.#compiled.set(pod, (compiled = { open, request: this.#holes.toRowRequest(pod.requests) }));
    }
    return compiled;
  }
}

/** Reads a summary. One without node groups (Admiralty's) counts as one node that has all of `allocatable`. */
export function toTargetCapacity(summary: ClusterSummary): TargetCapacity {
  const allocatable = parseResourceList(summary.allocatable).amounts;
  const free = summary.free === undefined ? allocatable : parseResourceList(summary.free).amounts;
  if (summary.nodeGroups === undefined) return new TargetCapacity({ allocatable, free }, [{ labels: {}, taints: [] }], [{ group: 0, count: 1, free }]);
  const groups = summary.nodeGroups.map(({ labels = {}, taints = [] }) => ({ labels, taints }));
  return new TargetCapacity({ allocatable, free }, groups, summary.nodeGroups.flatMap(toRows));
}

function toRows({ holes }: NodeGroup, group: number): TableRow[] {
  return holes.filter(({ count }) => count > 0).map(({ count, free }) => ({ group, count, free: parseResourceList(free).amounts }));
}

/** Whether some node of the target can take the pod now. */
export function fitsOnNode(capacity: TargetCapacity, pod: NodeRequirements): NodeFit {
  return capacity.fit(pod);
}

function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

function describe(missing: readonly string[], requests: ResourceAmounts): string {
  return missing.map((resource) => `${formatResourceAmount(resource, requests.get(resource) ?? 0)} ${resource}`).join(' and ');
}

function admits(group: CapacityGroup, pod: NodeRequirements): boolean {
  return firstUntoleratedTaint(group.taints, pod.tolerations) === undefined && matchesNodeSelector(pod, group.labels);
}

/** A node is taken to be as large as the largest hole of its group. */
function toWeights(column: number | undefined, resource: string, { groups, rows }: { readonly groups: number; readonly rows: readonly TableRow[] }): RoomWeights[] {
  if (column === undefined) return [];
  const largest = new Float64Array(groups);
  for (const { group, free } of rows) largest[group] = Math.max(largest[group] ?? 0, free.get(resource) ?? 0);
  return [{ column, perUnit: largest.map((amount) => (amount > 0 ? 1 / amount : 0)) }];
}

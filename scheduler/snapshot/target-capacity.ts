// Free capacity of a target: sums for scoring, and free node shapes to check whether a pod fits on one node. Built once
// from a summary. Adding and removing a pod change it in place, exactly and in any order; a decision only reads it.
import { ClassCache, type NodeRequirements } from './node-requirements.ts';
import type { ClusterSummary, FreeNodeShape, NodeGroup } from '../../api/kinds/cluster-summary.ts';
import type { PodSpec, Toleration } from '../../api/objects/core.ts';
import { withoutNulls } from '../../model/objects/json-values.ts';
import { splitDigests } from '../../model/resources/node-digest.ts';
import { podRequests } from '../../model/pod/pod-requests.ts';
import {
  CPU, formatResourceAmount, formatResourceList, parseResourceList, type ResourceAmounts,
} from '../../model/resources/resources.ts';
import {
  headroomGroups, idOf, eligibleRows, readGroups, readTotals, type CapacityRow, type GroupOfNodes, type ReadGroups,
  type RowNodes,
} from './eligible-nodes.ts';
import {
  isByNode, NodeCapacityTable, NO_ROW, type EligibleRows, type AllocatableWeights, type RowRequest,
} from './node-capacity-table.ts';

/**
 * What a delegate with this spec requires of a node. It is the chaperon's spec, which may have fewer constraints than
 * the source pod's, and null for what is not set: users and policies write it, and no API server has printed it.
 */
export function toRequirements(spec: PodSpec): NodeRequirements {
  const requests = withoutDevices(podRequests(spec));
  const [nodeSelector, affinity] = [spec.nodeSelector, withoutNulls(spec.affinity)];
  const tolerations = [...(withoutNulls(spec.tolerations) ?? []), ...tolerationsFor(requests)];
  return {
    requests,
    ...(nodeSelector && { nodeSelector }),
    ...(affinity && { affinity }),
    ...(tolerations.length > 0 && { tolerations }),
    ...(spec.runtimeClassName && { hasRuntimeClass: true }),
  };
}

/** What each DeviceClass is called as a resource (KEP-5004): no node has it among its own. */
const DEVICE_CLASS_PREFIX = 'deviceclass.resource.kubernetes.io/';

/** What a node must have free itself. The target's scheduler finds devices of a class where drivers publish them. */
function withoutDevices(requests: ResourceAmounts): ResourceAmounts {
  const isOfNode = ([resource]: readonly [string, number]): boolean => !resource.startsWith(DEVICE_CLASS_PREFIX);
  const ofNode = [...requests].filter(isOfNode);
  return ofNode.length === requests.size ? requests : new Map(ofNode);
}

/**
 * Tolerations that the admission plugin ExtendedResourceToleration would add. A source cannot tell whether a target
 * enables it, and assumes so, as managed clusters do; the target's scheduler has the last word.
 */
function tolerationsFor(requests: ResourceAmounts): readonly Toleration[] {
  return [...requests.keys()].filter(isExtended)
    .map((key): Toleration => ({ key, operator: 'Exists', effect: 'NoSchedule' }));
}

/** `IsExtendedResourceName` of Kubernetes' `pkg/apis/core/helper`. */
function isExtended(resource: string): boolean {
  return resource.includes('/') && !resource.includes('kubernetes.io/') && !resource.startsWith('requests.');
}

/** Whether a node fits a pod now, or what is missing on the closest node. */
export type NodeFit = { readonly kind: 'fits' }
  | { readonly kind: 'no-node'; readonly reason: string; readonly message: string };

const FITS: NodeFit = { kind: 'fits' };

/** A pod that was added, for {@link TargetCapacity.removePod}. */
export interface AddedPod {
  readonly requests: ResourceAmounts;
  /** Missing when no node fitted: then only the sums were lowered. */
  readonly place?: { readonly row: number; readonly request: RowRequest };
}

/** A pod's requirements in the columns of a target. */
interface CompiledPod {
  readonly eligible: EligibleRows;
  readonly request: RowRequest;
}

/**
 * By shape, of any target: of a thousand clusters many have the same groups of nodes, and a summary rarely changes
 * them. Not where single nodes count.
 */
const compiledByShape = new ClassCache<CompiledPod>();

/** Capacity of a target: its ClusterSummary minus the pods added since (as NodeInfo of kube-scheduler). */
export class TargetCapacity {
  readonly allocatable: ResourceAmounts;
  readonly #publishedFree: ResourceAmounts;
  /** The summary has node groups. */
  readonly #hasNodeGroups: boolean;
  /** The amounts of its rows are in the table alone. */
  readonly #read: ReadGroups<RowNodes>;
  readonly #freeByNode: NodeCapacityTable;
  readonly #weights: readonly AllocatableWeights[];
  /** Equal for targets with the same groups and columns. */
  readonly #shape: number;
  /** Where single nodes count. */
  readonly #compiled = new WeakMap<NodeRequirements, CompiledPod>();
  #free: Map<string, number>;
  #pods = 0;
  #headroom: TargetCapacity | 'none' | undefined;

  /** Use {@link toTargetCapacity}. Rows refer to groups by index. */
  constructor(
    sums: { readonly allocatable: ResourceAmounts; readonly free: ResourceAmounts; readonly hasNodeGroups: boolean },
    read: ReadGroups,
  ) {
    this.allocatable = sums.allocatable;
    this.#publishedFree = sums.free;
    this.#hasNodeGroups = sums.hasNodeGroups;
    this.#free = new Map(sums.free);
    this.#weights = [CPU, 'memory'].flatMap((resource) => toWeights(resource, read));
    const { groups, ids } = read;
    const rows = leastAllocatedFirst(read.rows, this.#weights);
    this.#read = { groups, ids, rows: rows.map(({ group, digests }) => ({ group, digests })) };
    this.#freeByNode = new NodeCapacityTable(rows);
    this.#shape = idOf(JSON.stringify([[...ids], this.#freeByNode.resources]));
  }

  /** Sums over all nodes minus the pods added; negative when they request more than the nodes have. */
  get free(): ResourceAmounts {
    return this.#free;
  }

  /** Nodes that the target's autoscaler may add, as far as its nodes tell of one; undefined where they do not. */
  get headroom(): TargetCapacity | undefined {
    if (this.#headroom === undefined) {
      const nodeGroups = headroomGroups(this.#read.groups);
      this.#headroom = nodeGroups.length === 0 ? 'none' : toTargetCapacity({ metadata: {}, nodeGroups });
    }
    return this.#headroom === 'none' ? undefined : this.#headroom;
  }

  /** Whether some node fits the pod now. */
  hasRoomFor(pod: NodeRequirements): boolean {
    const { eligible, request } = this.#compile(pod);
    return this.#freeByNode.firstFit(request, eligible) !== NO_ROW;
  }

  /** Number of nodes that fit the pod now, counted up to `most`; `most` when the target publishes no node groups. */
  nodesFor(pod: NodeRequirements, most: number): number {
    if (!this.#hasNodeGroups) return most;
    const { eligible, request } = this.#compile(pod);
    return this.#freeByNode.countFitting(request, eligible, most);
  }

  /** Like {@link hasRoomFor}, with the reason. */
  fit(pod: NodeRequirements): NodeFit {
    if (this.#read.groups.length === 0) {
      return { kind: 'no-node', reason: 'NoNodes', message: 'it has no node that is ready and not cordoned' };
    }
    const { eligible, request } = this.#compile(pod);
    if (this.#freeByNode.firstFit(request, eligible) !== NO_ROW) return FITS;
    if (!eligible.groups.some((eligibility) => eligibility !== 0)) {
      return {
        kind: 'no-node', reason: 'NodeSelectorOrTaints',
        message: 'no node matches nodeSelector and affinity without a taint that the pod does not tolerate',
      };
    }
    const missing = this.#freeByNode.fewestMissing(request, eligible) ?? [];
    return {
      kind: 'no-node', reason: 'InsufficientResources', message: `no node has ${describe(missing, pod.requests)} free`,
    };
  }

  /** Places the pod on the fitting node with most free, as kube-scheduler does by default. */
  addPod(pod: NodeRequirements): AddedPod {
    const { requests } = pod;
    for (const [resource, amount] of requests) this.#free.set(resource, (this.#free.get(resource) ?? 0) - amount);
    this.#pods += 1;
    const { eligible, request } = this.#compile(pod);
    const row = this.#freeByNode.leastAllocated(request, eligible, this.#weights);
    return row === NO_ROW ? { requests } : { requests, place: { row: this.#freeByNode.addPod(row, request), request } };
  }

  /** Undoes one {@link addPod}. */
  removePod({ requests, place }: AddedPod): void {
    this.#pods -= 1;
    if (this.#pods === 0) this.#free = new Map(this.#publishedFree);
    else for (const [resource, amount] of requests) this.#free.set(resource, (this.#free.get(resource) ?? 0) + amount);
    if (place !== undefined) this.#freeByNode.removePod(place.row, place.request);
  }

  /**
   * The current capacity as plain data that {@link toTargetCapacity} reads: for `isthmus plan`, replay and tests. Equal
   * free node shapes are merged.
   */
  toSummary(): ClusterSummary {
    const sums = { allocatable: formatResourceList(this.allocatable), free: formatResourceList(this.#free) };
    return { metadata: {}, ...sums, ...(this.#hasNodeGroups && { nodeGroups: this.#nodeGroups() }) };
  }

  #nodeGroups(): readonly NodeGroup[] {
    const groups = this.#read.groups.map((group) => ({ group, shapes: new Map<string, FreeNodeShape>() }));
    for (const { group, count, free, published } of this.#freeByNode.rows()) {
      const list = formatResourceList(free);
      const shapes = groups[group]?.shapes;
      const key = JSON.stringify(list);
      const before = shapes?.get(key);
      const nodes = [...new Set([...splitDigests(before?.nodes ?? ''), ...(this.#read.rows[published]?.digests ?? [])])]
        .toSorted()
        .join('');
      shapes?.set(key, { count: (before?.count ?? 0) + count, free: list, ...(nodes !== '' && { nodes }) });
    }
    return groups.map(
      ({ group, shapes }) => ({ ...group.published, holes: [...shapes].toSorted(byKey).map(([, shape]) => shape) }),
    );
  }

  #compile(pod: NodeRequirements): CompiledPod {
    const byShape = compiledByShape.of(pod);
    const known = byShape.get(this.#shape) ?? this.#compiled.get(pod);
    if (known !== undefined) return known;
    const compiled = { eligible: eligibleRows(pod, this.#read), request: this.#freeByNode.toRowRequest(pod.requests) };
    if (isByNode(compiled.eligible)) this.#compiled.set(pod, compiled);
    else byShape.set(this.#shape, compiled);
    return compiled;
  }
}

/** Parses a summary. One without node groups (Admiralty's) counts as one node with all of `allocatable`. */
export function toTargetCapacity(summary: ClusterSummary): TargetCapacity {
  const allocatable = parseResourceList(summary.allocatable).amounts;
  const free = summary.free === undefined ? allocatable : parseResourceList(summary.free).amounts;
  const read = summary.nodeGroups === undefined
    ? readTotals(summary.free ?? summary.allocatable ?? {})
    : readGroups(summary.nodeGroups, summary.commonLabels ?? {});
  return new TargetCapacity({ allocatable, free, hasNodeGroups: summary.nodeGroups !== undefined }, read);
}

function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

function describe(missing: readonly string[], requests: ResourceAmounts): string {
  return missing.map((resource) => `${formatResourceAmount(resource, requests.get(resource) ?? 0)} ${resource}`)
    .join(' and ');
}

/** A node's size is its group's shape, or else the largest free node shape. */
function toWeights(resource: string, { groups, rows }: {
  readonly groups: readonly GroupOfNodes[]; readonly rows: readonly CapacityRow[]
}): AllocatableWeights[] {
  if (!rows.some(({ free }) => free.has(resource))) return [];
  const largest = Float64Array.from(groups, ({ shape }) => shape.get(resource) ?? 0);
  for (const { group, free } of rows) largest[group] = Math.max(largest[group] ?? 0, free.get(resource) ?? 0);
  return [{ resource, perUnit: largest.map((amount) => (amount > 0 ? 1 / amount : 0)) }];
}

function leastAllocatedFirst(
  rows: readonly CapacityRow[], weights: readonly AllocatableWeights[],
): readonly CapacityRow[] {
  const freeFraction = ({ group, free }: CapacityRow) =>
    weights.reduce((sum, { resource, perUnit }) => sum + (free.get(resource) ?? 0) * (perUnit[group] ?? 0), 0);
  return rows.map(
    (row) => ({ row, fraction: freeFraction(row) }),
  ).toSorted((one, other) => other.fraction - one.fraction).map(({ row }) => row);
}

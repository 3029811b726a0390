// The ClusterSummary that a target publishes: totals, free sums and free node shapes (its field `holes`), in at most
// 100 kB. Cordoned, NotReady and virtual nodes do not count, nor do terminated pods. The result does not depend on the
// order of events.
import type { ClusterSummary, GpuTotal, NodeGroup, ReducedDetail } from '../../api/kinds/cluster-summary.ts';
import type { StringMap } from '../../api/objects/core.ts';
import { CLUSTER_SUMMARY_NAME } from '../../api/objects/own-names.ts';
import { ADMIRALTY_API_VERSION } from '../../api/objects/group-version.ts';
import { formatResourceList, type ResourceAmounts } from '../../model/resources/resources.ts';
import { freeOn, GroupFreeShapes } from './free-node-shapes.ts';
import type { Grouping, NodeGrouper } from './node-groups.ts';
import type { NodeLedger, NodeState } from './node-ledger.ts';

/** The state that the summary describes. */
export type Observation = NonNullable<ClusterSummary['observed']>;

/** Maximum JSON size of the node groups in bytes; with sums and labels a summary stays below 100 kB. */
const GROUP_BYTES = 90_000;
/** Rounding steps, from exact amounts to ever coarser ones. */
const STEPS = [Infinity, 128, 64, 32, 16, 8, 4, 2, 1];
/** Above this number of digests of node names there would be too little space for free node shapes. */
const MOST_NODE_NAMES = 10_000;

/** The summary of the nodes and pods in the ledger. */
export function toClusterSummary(ledger: NodeLedger, grouper: NodeGrouper, observed: Observation): ClusterSummary {
  const states = [...ledger.states()];
  const common = commonLabels(ledger);
  const grouping = grouper.group(ledger);
  const { nodeGroups, reduced } = boundedGroups(grouping, new Set(Object.keys(common)), ledger.size);
  const gpus = gpuTotals(states);
  return {
    apiVersion: ADMIRALTY_API_VERSION,
    kind: 'ClusterSummary',
    metadata: { name: CLUSTER_SUMMARY_NAME, labels: singleValues([...ledger.labels]) },
    capacity: formatResourceList(total(states, ({ node }) => node.capacity)),
    allocatable: formatResourceList(total(states, ({ node }) => node.allocatable)),
    free: formatResourceList(total(states, freeAmounts)),
    largestFree: formatResourceList(largest(states)),
    ...(gpus.length > 0 && { gpus }),
    commonLabels: common,
    nodeGroups,
    ...(reduced !== undefined && { reduced }),
    observed,
  };
}

// --- sums

function freeAmounts(state: NodeState): ResourceAmounts {
  return new Map([...state.node.allocatable.keys()].map((resource) => [resource, freeOn(state, resource)]));
}

/** Sums sorted by resource name; they saturate as single amounts do. */
function total(states: readonly NodeState[], amountsOf: (state: NodeState) => ResourceAmounts): ResourceAmounts {
  const sums = new Map<string, number>();
  for (const state of states) {
    for (const [resource, amount] of amountsOf(state)) {
      sums.set(resource, Math.min((sums.get(resource) ?? 0) + amount, Number.MAX_SAFE_INTEGER));
    }
  }
  return inOrder(sums);
}

function largest(states: readonly NodeState[]): ResourceAmounts {
  const most = new Map<string, number>();
  for (const state of states) {
    for (const resource of state.node.allocatable.keys()) {
      most.set(resource, Math.max(most.get(resource) ?? 0, freeOn(state, resource)));
    }
  }
  return inOrder(most);
}

function inOrder(amounts: ReadonlyMap<string, number>): ResourceAmounts {
  return new Map([...amounts].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

// --- labels

function commonLabels({ labels, size }: NodeLedger): StringMap {
  return singleValues([...labels].filter(([, values]) => [...values.values()][0] === size));
}

function singleValues(labels: readonly (readonly [string, ReadonlyMap<string, number>])[]): StringMap {
  const single =
    labels.flatMap(([key, values]) => (values.size === 1 ? [[key, [...values.keys()][0] ?? ''] as const] : []));
  return Object.fromEntries(single.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

// --- GPUs

const GPU_RESOURCE = /^(?:nvidia\.com\/(?:gpu|mig-)|amd\.com\/gpu|gpu\.intel\.com\/)/;
/** Labels of NVIDIA's GPU feature discovery and of AMD's node labeller. */
const PRODUCT_LABELS = ['nvidia.com/gpu.product', 'amd.com/gpu.product-name'];

function gpuTotals(states: readonly NodeState[]): GpuTotal[] {
  const totals = new Map<string, GpuTotal>();
  for (const state of states) {
    const product = PRODUCT_LABELS.map((label) => state.node.labels[label]).find((value) => value !== undefined);
    for (const [resource, allocatable] of state.node.allocatable) {
      if (!GPU_RESOURCE.test(resource) || allocatable === 0) continue;
      const key = JSON.stringify([resource, product]);
      const before = totals.get(key) ?? { allocatable: 0, free: 0, largest: 0 };
      const free = freeOn(state, resource);
      const sums = {
        allocatable: before.allocatable + allocatable, free: before.free + free,
        largest: Math.max(before.largest, free),
      };
      totals.set(key, { ...(product !== undefined && { product }), resource, ...sums });
    }
  }
  return [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, gpus]) => gpus);
}

// --- groups

interface Bounded {
  readonly nodeGroups: readonly NodeGroup[];
  readonly reduced: ReducedDetail | undefined;
}

function boundedGroups({ groups, reducedLabels }: Grouping, common: ReadonlySet<string>, nodes: number): Bounded {
  const freeShapes = groups.map(({ template, nodes }) => new GroupFreeShapes(template, nodes));
  const nodeNames = nodes <= MOST_NODE_NAMES;
  const render = (steps: number) => freeShapes.map((group) => group.toNodeGroup({ steps, nodeNames }, common));
  const { steps, nodeGroups } = finest(render);
  const { kept, left } = withinBytes(nodeGroups);
  const reduced: ReducedDetail = {
    ...(steps !== Infinity && { steps }),
    ...(reducedLabels.length > 0 && { labels: reducedLabels }),
    ...(!nodeNames && { nodeNames: true }),
    ...(left > 0 && { nodes: left }),
  };
  return { nodeGroups: kept, reduced: Object.keys(reduced).length > 0 ? reduced : undefined };
}

/** The most exact rendering that is small enough, or the coarsest. */
function finest(render: (steps: number) => NodeGroup[]): {
  readonly steps: number; readonly nodeGroups: readonly NodeGroup[]
} {
  let from = 0;
  let to = STEPS.length - 1;
  let best: { readonly steps: number; readonly nodeGroups: readonly NodeGroup[] } | undefined;
  for (let at = 0; from <= to; at = Math.floor((from + to) / 2)) {
    const steps = STEPS[at] ?? 1;
    const nodeGroups = render(steps);
    if (JSON.stringify(nodeGroups).length <= GROUP_BYTES || (best === undefined && at === STEPS.length - 1)) {
      best = { steps, nodeGroups };
      to = at - 1;
    } else from = at + 1;
  }
  return best ?? { steps: 1, nodeGroups: render(1) };
}

/** As many groups as fit the size limit; those with most nodes first. */
function withinBytes(groups: readonly NodeGroup[]): { readonly kept: readonly NodeGroup[]; readonly left: number } {
  const sizes = groups.map((group) => (
    { group, bytes: JSON.stringify(group).length + 1, nodes: group.holes.reduce((sum, { count }) => sum + count, 0) }
  ));
  let bytes = 0;
  let left = 0;
  const kept = new Set<NodeGroup>();
  for (const each of sizes.toSorted((one, other) => other.nodes - one.nodes)) {
    bytes += each.bytes;
    if (bytes <= GROUP_BYTES) kept.add(each.group);
    else left += each.nodes;
  }
  return { kept: groups.filter((group) => kept.has(group)), left };
}

// Eligible nodes of a target: which nodes pass the pod's selector, affinity and taints, as far as a summary shows.
// Nodes are judged by group, and by name digest where the pod names nodes. What a summary leaves open counts as
// eligible: the target's own scheduler decides.
import { hash } from 'node:crypto';
import type { NodeGroup } from '../../api/kinds/cluster-summary.ts';
import type { ResourceList, StringMap, Taint } from '../../api/objects/core.ts';
import { nodeDigest, splitDigests } from '../../model/resources/node-digest.ts';
import { HOSTNAME_LABEL, matchesNodeSelector, namedNodes } from '../../model/pod/node-selector.ts';
import { parseResourceList, type ResourceAmounts } from '../../model/resources/resources.ts';
import { firstUntoleratedTaint } from '../../model/pod/tolerations.ts';
import type { EligibleRows, TableRow } from './node-capacity-table.ts';
import { ClassCache, type NodeRequirements } from './node-requirements.ts';

/** Nodes with equal labels and taints. */
export interface GroupOfNodes {
  /** All known labels. */
  readonly labels: StringMap;
  /** Label keys whose values are not published. */
  readonly unknownValues: ReadonlySet<string>;
  /** Each node has the hostname label with its own name. */
  readonly hasHostnames: boolean;
  readonly taints: readonly Taint[];
  readonly shape: ResourceAmounts;
  /** Nothing is known of its nodes but their capacity. */
  readonly isOpen?: true;
  /** As published, without free node shapes; labels common to all nodes are included. */
  readonly published: Omit<NodeGroup, 'holes'>;
}

/** The nodes of a free node shape: their group, and the digests of their names, if published. */
export interface RowNodes {
  readonly group: number;
  readonly digests: readonly string[] | undefined;
}

/** A free node shape with its nodes. */
export type CapacityRow = TableRow & RowNodes;

/** The groups of a target, and their free node shapes. */
export interface ReadGroups<Row extends RowNodes = CapacityRow> {
  readonly groups: readonly GroupOfNodes[];
  /** By group: equal for groups that admit the same pods, of any target. Some that do may differ in it. */
  readonly ids: Int32Array;
  readonly rows: readonly Row[];
}

/** Parses the groups of a summary. Shapes without nodes are skipped. */
export function readGroups(nodeGroups: readonly NodeGroup[], commonLabels: StringMap): ReadGroups {
  const rows: CapacityRow[] = [];
  const ids = new Int32Array(nodeGroups.length);
  const groups = nodeGroups.map((group, index) => {
    const read = knownGroup(group, commonLabels);
    ids[index] = idOf(JSON.stringify([read.labels, group.perNodeLabels ?? [], group.taints]));
    for (const { count, free, nodes } of group.holes) {
      if (count <= 0) continue;
      const amounts = parseResourceList(free).amounts;
      rows.push({
        group: index, count, free: new Map([...read.shape, ...amounts]),
        digests: nodes === undefined ? undefined : splitDigests(nodes),
      });
    }
    return read;
  });
  return { groups, ids, rows };
}

/** One open group, for a summary without groups, as Admiralty's is. */
export function readTotals(free: ResourceList): ReadGroups {
  return {
    groups: [{ ...readGroup({}), isOpen: true }], ids: Int32Array.of(idOf('open')),
    rows: [{ group: 0, count: 1, free: parseResourceList(free).amounts, digests: undefined }],
  };
}

/**
 * Groups of the targets there are, by their ids. A group takes a kilobyte and a half, and of a thousand clusters many
 * have the same ones. When one is no longer used, the garbage collector takes it.
 */
const knownGroups = new Map<number, WeakRef<GroupOfNodes>>();

function knownGroup({ labels, perNodeLabels, taints, shape }: NodeGroup, common: StringMap): GroupOfNodes {
  const all = { ...common, ...labels };
  const text = JSON.stringify({ ...(Object.keys(all).length > 0 && { labels: all }), perNodeLabels, taints, shape });
  const id = idOf(text);
  let known = knownGroups.get(id)?.deref();
  if (known !== undefined) return known;
  if (knownGroups.size >= MOST_IDS) knownGroups.clear();
  // from the text: it has nothing else of the summary, which would be kept with it
  knownGroups.set(id, new WeakRef((known = readGroup(JSON.parse(text) as GroupOfNodes['published']))));
  return known;
}

function readGroup(published: GroupOfNodes['published']): GroupOfNodes {
  const { labels = {}, perNodeLabels = [], taints = [], shape } = published;
  return {
    labels,
    unknownValues: new Set(perNodeLabels.filter((key) => key !== HOSTNAME_LABEL)),
    hasHostnames: perNodeLabels.includes(HOSTNAME_LABEL),
    taints,
    shape: parseResourceList(shape).amounts,
    published,
  };
}

/** Maximum number of texts with ids; the map is cleared when it is full, and equal groups then get new ones. */
const MOST_IDS = 10_000;
/** Small numbers in place of long texts, which a first decision would compare once for each group of each target. */
const knownIds = new Map<string, number>();
let lastId = 0;

/**
 * A number for a text: equal texts have the same one, until very many have passed. A target chooses how long its texts
 * are, so only their digests are kept.
 */
export function idOf(text: string): number {
  const digest = hash('sha256', text, 'base64url');
  let id = knownIds.get(digest);
  if (id !== undefined) return id;
  if (knownIds.size >= MOST_IDS) knownIds.clear();
  knownIds.set(digest, (id = lastId += 1));
  return id;
}

/** Labels that Karpenter sets on every node that it makes, the second one up to its API v1alpha5. */
const KARPENTER_LABELS = ['karpenter.sh/nodepool', 'karpenter.sh/provisioner-name'];

/**
 * Nodes that Karpenter may add: for each group that it made one more node, whose name is not known. Cluster Autoscaler
 * leaves no trace on its nodes.
 */
export function headroomGroups(groups: readonly GroupOfNodes[]): readonly NodeGroup[] {
  const mayScaleUp = ({ labels, unknownValues, shape }: GroupOfNodes): boolean =>
    shape.size > 0 && KARPENTER_LABELS.some((label) => label in labels || unknownValues.has(label));
  return groups.filter(mayScaleUp).map(({ published: { perNodeLabels = [], ...group } }) => ({
    ...group, perNodeLabels: perNodeLabels.filter((key) => key !== HOSTNAME_LABEL), holes: [{ count: 1, free: {} }],
  }));
}

/** The rows that a pod may use. */
export function eligibleRows(pod: NodeRequirements, { groups, ids, rows }: ReadGroups<RowNodes>): EligibleRows {
  const remembered = concluded.of(pod);
  const eligible = new Uint8Array(ids.length);
  let isByName = false;
  for (const [index, id] of ids.entries()) {
    const eligibility = remembered.get(id) ?? conclude(pod, groups[index], remembered, id);
    eligible[index] = ELIGIBILITY[eligibility.kind];
    isByName ||= eligibility.kind === 'by-name';
  }
  if (!isByName) return { groups: eligible, rows: NO_ROWS };
  return {
    groups: eligible,
    rows: Uint8Array.from(rows, (row) => (isEligible(remembered.get(ids[row.group] ?? 0), row) ? 1 : 0)),
  };
}

/** As {@link EligibleRows} has them. */
const ELIGIBILITY = { none: 0, all: 1, 'by-name': 2 } as const;
const NO_ROWS = new Uint8Array();

type GroupEligibility =
  | { readonly kind: 'none' | 'all' }
  /** Depends on the node's name: `named` by digest, `others` for all names that the pod does not mention. */
  | { readonly kind: 'by-name'; readonly named: ReadonlyMap<string, boolean>; readonly others: boolean };

/** Eligibility of groups, of any target. Most summaries change only free node shapes; their groups stay. */
const concluded = new ClassCache<GroupEligibility>();

function conclude(
  pod: NodeRequirements, group: GroupOfNodes | undefined, remembered: Map<number, GroupEligibility>, id: number,
): GroupEligibility {
  const eligibility: GroupEligibility =
    group === undefined ? { kind: 'none' } : toEligibility(pod, group, namedNodes(pod));
  remembered.set(id, eligibility);
  return eligibility;
}

/** No node has this name. */
const ANOTHER_NAME = '\0';

function toEligibility(pod: NodeRequirements, group: GroupOfNodes, names: ReadonlySet<string>): GroupEligibility {
  if (group.isOpen === true) return { kind: 'all' };
  const taints = pod.hasRuntimeClass === true ? group.taints.filter(isOfKubernetes) : group.taints;
  if (firstUntoleratedTaint(taints, pod.tolerations) !== undefined) return { kind: 'none' };
  const others = allows(pod, group, ANOTHER_NAME);
  const named = new Map([...names].map((name) => [nodeDigest(name), allows(pod, group, name)]));
  if ([...named.values()].every((eligibility) => eligibility === others)) return { kind: others ? 'all' : 'none' };
  return { kind: 'by-name', named, others };
}

/** Of control planes, and of nodes in a condition. */
function isOfKubernetes({ key }: Taint): boolean {
  return /^node(?:-role)?\.kubernetes\.io\//.test(key);
}

function allows(pod: NodeRequirements, { labels, hasHostnames, unknownValues }: GroupOfNodes, name: string): boolean {
  return matchesNodeSelector(pod, hasHostnames ? { ...labels, [HOSTNAME_LABEL]: name } : labels, name, unknownValues);
}

function isEligible(eligibility: GroupEligibility | undefined, { digests }: RowNodes): boolean {
  if (eligibility?.kind !== 'by-name') return eligibility?.kind === 'all';
  return digests === undefined || digests.some((digest) => eligibility.named.get(digest) ?? eligibility.others);
}

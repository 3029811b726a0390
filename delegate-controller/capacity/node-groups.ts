// Groups equal nodes. A label that identifies single nodes would give each node its own group, so it is left out of the
// comparison and only its presence is published. While there are too many groups, the labels with the most values are
// left out too.
import type { StringMap, Taint } from '../../api/objects/core.ts';
import { HOSTNAME_LABEL } from '../../model/pod/node-selector.ts';
import type { NodeLedger, NodeState } from './node-ledger.ts';
import type { TargetNode } from '../target-cache/target-node.ts';

/** In clusters of at most this many nodes, all other labels are compared. */
const FEW_NODES = 8;
/** Maximum size of the labels and taints of all groups, in bytes, of the 100 kB of a summary. */
const LABEL_BYTES = 40_000;

/** Labels and taints that all nodes of a group have in common. */
export interface NodeTemplate {
  readonly labels: StringMap;
  readonly perNodeLabels: readonly string[];
  readonly taints: readonly Taint[];
  /** Equal for equal templates; also their sort key. */
  readonly key: string;
}

/** Nodes by group, and the labels left out to reduce the number of groups. */
export interface Grouping {
  /** Sorted by key. */
  readonly groups: readonly { readonly template: NodeTemplate; readonly nodes: readonly NodeState[] }[];
  readonly reducedLabels: readonly string[];
}

/** Groups nodes. The result for a node is cached while its record and the labels left out are unchanged. */
export class NodeGrouper {
  #templates = new WeakMap<TargetNode, NodeTemplate>();
  #byKey = new Map<string, NodeTemplate>();
  #omitted: ReadonlySet<string> = new Set();
  #reducedLabels: readonly string[] = [];
  #labelsVersion = -1;

  /** Groups all nodes of the ledger. The result depends only on its current nodes. */
  group(ledger: NodeLedger): Grouping {
    if (ledger.labelsVersion !== this.#labelsVersion) {
      this.#labelsVersion = ledger.labelsVersion;
      this.#chooseOmitted(ledger);
    }
    const { groups } = this.#groupWithout(this.#omitted, ledger);
    return { groups, reducedLabels: this.#reducedLabels };
  }

  #chooseOmitted(ledger: NodeLedger): void {
    const candidates = keysByValues(ledger);
    const omitted = new Set(candidates.filter((key) => namesSingleNodes(ledger, key)));
    const reduced: string[] = [];
    const others = candidates.filter((key) => !omitted.has(key));
    for (const key of others) {
      if (this.#groupWithout(omitted, ledger).bytes <= LABEL_BYTES) break;
      omitted.add(key);
      reduced.push(key);
    }
    this.#reducedLabels = reduced.toSorted();
    this.#leaveOut(omitted);
  }

  #leaveOut(omitted: ReadonlySet<string>): void {
    if (omitted.size === this.#omitted.size && [...omitted].every((key) => this.#omitted.has(key))) return;
    this.#templates = new WeakMap();
    this.#omitted = new Set(omitted);
  }

  #groupWithout(omitted: ReadonlySet<string>, ledger: NodeLedger): {
    readonly groups: Grouping['groups']; readonly bytes: number
  } {
    this.#leaveOut(omitted);
    this.#byKey = new Map();
    const groups = new Map<NodeTemplate, NodeState[]>();
    for (const state of ledger.states()) {
      const template = this.#templateOf(state.node);
      const nodes = groups.get(template);
      if (nodes === undefined) groups.set(template, [state]);
      else nodes.push(state);
    }
    const all = [...groups].map(([template, nodes]) => ({ template, nodes }))
      .toSorted((one, other) => (one.template.key < other.template.key ? -1 : 1));
    return { groups: all, bytes: all.reduce((sum, { template }) => sum + template.key.length, 0) };
  }

  #templateOf(node: TargetNode): NodeTemplate {
    const remembered = this.#templates.get(node) ?? toNodeTemplate(node, this.#omitted);
    const known = this.#byKey.get(remembered.key);
    if (known === undefined) this.#byKey.set(remembered.key, remembered);
    this.#templates.set(node, known ?? remembered);
    return known ?? remembered;
  }
}

function toNodeTemplate({ name, labels, taints }: TargetNode, omitted: ReadonlySet<string>): NodeTemplate {
  const isPerNode = (key: string, value: string) => omitted.has(key) || (key === HOSTNAME_LABEL && value === name);
  const entries = Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const shared = entries.filter(([key, value]) => !isPerNode(key, value));
  const perNodeLabels = entries.filter(([key, value]) => isPerNode(key, value)).map(([key]) => key);
  return {
    labels: Object.fromEntries(shared), perNodeLabels, taints, key: JSON.stringify([shared, perNodeLabels, taints]),
  };
}

/** Keys of labels that split nodes into groups, those with most values first. */
function keysByValues({ labels }: NodeLedger): string[] {
  const valuesOf = (key: string) => labels.get(key)?.size ?? 0;
  return [...labels.keys()].filter((key) => valuesOf(key) > 1 && key !== HOSTNAME_LABEL)
    .toSorted((a, b) => valuesOf(b) - valuesOf(a) || (a < b ? -1 : 1));
}

/** Whether a value of this label is on fewer than two nodes on average. */
function namesSingleNodes({ labels, size }: NodeLedger, key: string): boolean {
  const values = labels.get(key);
  if (values === undefined || size <= FEW_NODES || values.size <= FEW_NODES) return false;
  let nodes = 0;
  for (const count of values.values()) nodes += count;
  return values.size > nodes / 2;
}

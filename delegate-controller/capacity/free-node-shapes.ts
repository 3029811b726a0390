// Free node shapes of one group: the free amounts of each node, equal nodes merged. When a summary would be too large,
// free amounts are rounded down relative to their size, so that more nodes become equal and small amounts do not
// vanish. A source may then see a node as fuller than it is, never as emptier. Nodes that no other node dominates in
// every resource stay exact: whatever fits on some node fits on one of them, so rounding changes how many pods fit, not
// whether one does.
import type { NodeGroup } from '../../api/kinds/cluster-summary.ts';
import type { ResourceList } from '../../api/objects/core.ts';
import { nodeDigest } from '../../model/resources/node-digest.ts';
import { formatResourceAmount, PODS } from '../../model/resources/resources.ts';
import type { NodeTemplate } from './node-groups.ts';
import type { NodeState } from './node-ledger.ts';

/** How much coarser the number of pods is rounded: a node rarely runs out of it first. */
const PODS_COARSER = 4;

/** Maximum number of non-dominated nodes of a group that stay exact: those with most of the shape free. */
const MOST_EXACT = 48;

interface Member {
  /** Free amounts by column. */
  readonly free: readonly number[];
  /** Text form of `free`. */
  readonly key: string;
  readonly digest: string;
}

/** The free vectors of a group; columns are the resources sorted by name. */
export class GroupFreeShapes {
  readonly #template: NodeTemplate;
  readonly #resources: readonly string[];
  readonly #shape: readonly number[];
  readonly #members: readonly Member[];
  /** Keys of members that no other member dominates. */
  readonly #exact: ReadonlySet<string>;

  constructor(template: NodeTemplate, nodes: readonly NodeState[]) {
    this.#template = template;
    this.#resources = [...new Set(nodes.flatMap(({ node }) => [...node.allocatable.keys()]))].toSorted();
    this.#shape = this.#resources.map(
      (resource) => nodes.reduce((most, { node }) => Math.max(most, node.allocatable.get(resource) ?? 0), 0),
    );
    this.#members = nodes.map((state) => this.#toMember(state));
    this.#exact = unsurpassed(this.#members, this.#shape);
  }

  #toMember(state: NodeState): Member {
    const free = this.#resources.map((resource) => freeOn(state, resource));
    return { free, key: free.join(' '), digest: nodeDigest(state.node.name) };
  }

  /** Number of nodes in the group. */
  get size(): number {
    return this.#members.length;
  }

  /** The published form; `steps` is Infinity for exact amounts. */
  toNodeGroup(
    { steps, nodeNames }: { readonly steps: number; readonly nodeNames: boolean }, commonLabels: ReadonlySet<string>,
  ): NodeGroup {
    const { labels, perNodeLabels, taints } = this.#template;
    return {
      labels: Object.fromEntries(Object.entries(labels).filter(([key]) => !commonLabels.has(key))),
      ...(perNodeLabels.length > 0 && { perNodeLabels }),
      ...(taints.length > 0 && { taints }),
      shape: this.#toList(this.#shape),
      holes: [...this.#freeShapes(steps)].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(
        ([, { free, digests }]) => ({
          count: digests.length,
          free: this.#toList(free, this.#shape),
          ...(nodeNames && { nodes: digests.toSorted().join('') }),
        }),
      ),
    };
  }

  #freeShapes(steps: number): Map<string, { readonly free: readonly number[]; readonly digests: string[] }> {
    const stepsOf = this.#resources.map((resource) => (resource === PODS ? Math.max(1, steps / PODS_COARSER) : steps));
    const shapes = new Map<string, { readonly free: readonly number[]; readonly digests: string[] }>();
    for (const member of this.#members) {
      const free = steps === Infinity || this.#exact.has(member.key) ? member.free : member.free
        .map((amount, column) => (amount === this.#shape[column] ? amount : roundDown(amount, stepsOf[column] ?? 1)));
      const key = free === member.free ? member.key : free.join(' ');
      const known = shapes.get(key);
      if (known === undefined) shapes.set(key, { free, digests: [member.digest] });
      else known.digests.push(member.digest);
    }
    return shapes;
  }

  /** Omits amounts equal to those of `but`. */
  #toList(amounts: readonly number[], but?: readonly number[]): ResourceList {
    const list: Record<string, string> = {};
    for (const [column, resource] of this.#resources.entries()) {
      const amount = amounts[column] ?? 0;
      if (amount !== but?.[column]) list[resource] = formatResourceAmount(resource, amount);
    }
    return list;
  }
}

/** Free amount of a resource on a node; never negative, also on an overcommitted node. */
export function freeOn({ node, used }: NodeState, resource: string): number {
  return Math.max(0, (node.allocatable.get(resource) ?? 0) - (used.get(resource) ?? 0));
}

/** Keys of the members that no other member equals or exceeds in every resource. */
function unsurpassed(members: readonly Member[], shape: readonly number[]): ReadonlySet<string> {
  const distinct = new Map(members.map((member) => [member.key, member]));
  const freeFraction = ({ free }: Member) =>
    free.reduce((sum, amount, column) => sum + amount / Math.max(1, shape[column] ?? 1), 0);
  const byFraction = [...distinct.values()].map((member) => ({ member, fraction: freeFraction(member) }))
    .toSorted((one, other) => other.fraction - one.fraction || (one.member.key < other.member.key ? -1 : 1));
  const front: Member[] = [];
  for (const { member } of byFraction) {
    if (front.length === MOST_EXACT) break;
    if (!front.some(({ free }) => free.every((amount, column) => amount >= (member.free[column] ?? 0)))) {
      front.push(member);
    }
  }
  return new Set(front.map(({ key }) => key));
}

/** Rounds down to one of `steps` steps between a power of two and the next. */
function roundDown(amount: number, steps: number): number {
  if (amount <= steps) return amount;
  const step = Math.max(1, 2 ** Math.floor(Math.log2(amount)) / steps);
  return Math.floor(amount / step) * step;
}

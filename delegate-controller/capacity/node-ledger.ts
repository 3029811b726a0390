// The nodes of a target with the requests of their pods, updated per event: a pod event costs a few additions. A pod
// may arrive before its node and outlive it; its requests are stored by the node's name.
import type { StringMap } from '../../api/objects/core.ts';
import type { ResourceAmounts } from '../../model/resources/resources.ts';
import type { TargetNode } from '../target-cache/target-node.ts';
import type { TargetPod } from '../target-cache/target-pod.ts';

/** A schedulable node and its usage. */
export interface NodeState {
  readonly node: TargetNode;
  /** Sums of the requests of its pods. */
  readonly used: ReadonlyMap<string, number>;
}

interface Entry {
  node: TargetNode | undefined;
  pods: number;
  used: Map<string, number>;
}

/** Nodes and usage. */
export class NodeLedger {
  readonly #entries = new Map<string, Entry>();
  /** Number of nodes by label key and value. */
  readonly #labels = new Map<string, Map<string, number>>();
  #nodes = 0;
  #labelsVersion = 0;

  /** Sets a node; undefined when it is not schedulable or is gone. */
  setNode(name: string, node: TargetNode | undefined): void {
    const entry = this.#entry(name);
    const before = entry.node;
    if (before === undefined || node === undefined || !equalLabels(before.labels, node.labels)) {
      if (before !== undefined) this.#countLabels(before, -1);
      if (node !== undefined) this.#countLabels(node, 1);
    }
    entry.node = node;
    this.#forgetIfEmpty(name, entry);
  }

  /**
   * Applies a change of a pod; undefined when it did not exist, or no longer exists. Returns whether free capacity
   * changes.
   */
  changePod(before: TargetPod | undefined, after: TargetPod | undefined): boolean {
    const [from, to] = [before?.occupies, after?.occupies];
    if (from === to || (from?.nodeName === to?.nodeName && equal(from?.requests, to?.requests))) return false;
    if (from !== undefined) this.#hold(from, -1);
    if (to !== undefined) this.#hold(to, 1);
    return true;
  }

  #hold({ nodeName, requests }: NonNullable<TargetPod['occupies']>, sign: 1 | -1): void {
    const entry = this.#entry(nodeName);
    entry.pods += sign;
    for (const [resource, amount] of requests) {
      entry.used.set(resource, (entry.used.get(resource) ?? 0) + sign * amount);
    }
    if (entry.pods === 0) entry.used = new Map();
    this.#forgetIfEmpty(nodeName, entry);
  }

  #entry(name: string): Entry {
    let entry = this.#entries.get(name);
    if (entry === undefined) this.#entries.set(name, (entry = { node: undefined, pods: 0, used: new Map() }));
    return entry;
  }

  #forgetIfEmpty(name: string, entry: Entry): void {
    if (entry.node === undefined && entry.pods === 0) this.#entries.delete(name);
  }

  #countLabels({ labels }: TargetNode, sign: 1 | -1): void {
    this.#nodes += sign;
    this.#labelsVersion += 1;
    for (const [key, value] of Object.entries(labels)) {
      let values = this.#labels.get(key);
      if (values === undefined) this.#labels.set(key, (values = new Map()));
      const count = (values.get(value) ?? 0) + sign;
      if (count > 0) values.set(value, count);
      else values.delete(value);
      if (values.size === 0) this.#labels.delete(key);
    }
  }

  /** Every schedulable node. */
  *states(): Generator<NodeState> {
    for (const { node, used } of this.#entries.values()) if (node !== undefined) yield { node, used };
  }

  /** Number of schedulable nodes. */
  get size(): number {
    return this.#nodes;
  }

  /** By label key: the number of nodes with each value. */
  get labels(): ReadonlyMap<string, ReadonlyMap<string, number>> {
    return this.#labels;
  }

  /** A number that changes with {@link labels}. */
  get labelsVersion(): number {
    return this.#labelsVersion;
  }

  /** Number of stored node names; 0 without nodes and pods. */
  get remembered(): number {
    return this.#entries.size;
  }
}

function equalLabels(one: StringMap, other: StringMap): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys
    .every((key) => Object.hasOwn(other, key) && one[key] === other[key]);
}

function equal(one: ResourceAmounts | undefined, other: ResourceAmounts | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined || one.size !== other.size) return false;
  for (const [resource, amount] of one) if (other.get(resource) !== amount) return false;
  return true;
}

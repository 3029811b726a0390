// The nodes of a target with what their pods ask of them, kept up by single events: an event of a pod costs a few additions.
// Pods may be heard of before their node and outlive it; what they hold is remembered by the node's name.
import type { StringMap } from '../../api/objects/core.ts';
import type { ResourceAmounts } from '../../model/resources/resources.ts';
import type { TargetNode } from '../target-cache/target-node.ts';
import type { TargetPod } from '../target-cache/target-pod.ts';

/** A node that may take pods, and what is free on it. */
export interface NodeState {
  readonly node: TargetNode;
  /** Sums of requests of the pods on it. */
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
  /** In how many nodes each label key has each value. */
  readonly #labels = new Map<string, Map<string, number>>();
  #nodes = 0;
  #labelsVersion = 0;

  /** Takes over a node; undefined when it may take no pods, or is gone. */
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

  /** Takes over a change of a pod; undefined when it was not, or is no more. Gives whether that changes what is free. */
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
    for (const [resource, amount] of requests) entry.used.set(resource, (entry.used.get(resource) ?? 0) + sign * amount);
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

  /** Every node that may take pods. */
  *states(): Generator<NodeState> {
    for (const { node, used } of this.#entries.values()) if (node !== undefined) yield { node, used };
  }

  /** Nodes that may take pods. */
  get size(): number {
    return this.#nodes;
  }

  /** By label key: how many nodes have each value. */
  get labels(): ReadonlyMap<string, ReadonlyMap<string, number>> {
    return this.#labels;
  }

  /** Another number whenever {@link labels} has changed. */
  get labelsVersion(): number {
    return this.#labelsVersion;
  }

  /** Names remembered; 0 once there are neither nodes nor pods. */
  get remembered(): number {
    return this.#entries.size;
  }
}

function equalLabels(one: StringMap, other: StringMap): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => Object.hasOwn(other, key) && one[key] === other[key]);
}

function equal(one: ResourceAmounts | undefined, other: ResourceAmounts | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined || one.size !== other.size) return false;
  for (const [resource, amount] of one) if (other.get(resource) !== amount) return false;
  return true;
}

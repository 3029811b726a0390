// The needs of elected pods by target. Pods of one template count as one: a change is reported only when the first of
// them comes to a target or the last one leaves it.
import { isSelected, type PodNeeds } from '../../model/pod/pod-needs.ts';
import type { StringMap } from '../../api/objects/core.ts';

/** A pod that runs in a target. */
export interface Placement {
  readonly namespace: string;
  readonly needs: PodNeeds;
  /** Key of the target. */
  readonly target: string;
}

/** All placements. */
export class Placements {
  readonly #ofPod = new Map<string, Placement>();
  readonly #pods = new Map<string, Map<PodNeeds, Map<string, Set<string>>>>();

  /**
   * Records where the pod of this key is now, or that it is nowhere. Returns the placements that were added or removed.
   */
  place(podKey: string, placement: Placement | undefined): readonly Placement[] {
    const before = this.#ofPod.get(podKey);
    if (isEqual(before, placement)) return [];
    const changed: Placement[] = [];
    if (before !== undefined && this.#remove(podKey, before)) changed.push(before);
    if (placement !== undefined && this.#add(podKey, placement)) changed.push(placement);
    if (placement === undefined) this.#ofPod.delete(podKey);
    else this.#ofPod.set(podKey, placement);
    return changed;
  }

  /** Where the pod of this key is. */
  of(podKey: string): Placement | undefined {
    return this.#ofPod.get(podKey);
  }

  /** Keys of the pods in a target. */
  podsIn(target: string): readonly string[] {
    return [...this.#ofPod].flatMap(([key, placement]) => (placement.target === target ? [key] : []));
  }

  /** The needs of pods in a target. */
  *inTarget(target: string): Generator<Placement> {
    for (const [namespace, groups] of this.#pods) {
      for (const [needs, targets] of groups) if (targets.has(target)) yield { namespace, needs, target };
    }
  }

  /** Keys of the pods of a target that refer to `plural/name`. */
  naming(namespace: string, reference: string, target: string): string[] {
    const keys: string[] = [];
    for (const [needs, targets] of this.#pods.get(namespace) ?? []) {
      const pods = targets.get(target);
      if (pods !== undefined && needs.references.includes(reference)) keys.push(...pods);
    }
    return keys;
  }

  /** Whether some pod of a target refers to `plural/name`. */
  isNamed(namespace: string, reference: string, target: string): boolean {
    for (const [needs, targets] of this.#pods.get(namespace) ?? []) {
      if (targets.has(target) && needs.references.includes(reference)) return true;
    }
    return false;
  }

  /** Namespaces that have such pods. */
  namespaces(): Iterable<string> {
    return this.#pods.keys();
  }

  /** Whether the selector matches some pod of a target. */
  isSelectedIn(namespace: string, selector: StringMap, target: string): boolean {
    for (const [needs, targets] of this.#pods.get(namespace) ?? []) {
      if (targets.has(target) && isSelected(selector, needs.labels)) return true;
    }
    return false;
  }

  /** Labels of the pods, in any target, that the selector matches; once per template. */
  selectedLabels(namespace: string, selector: StringMap): StringMap[] {
    return [...(this.#pods.get(namespace)?.keys() ?? [])].filter(({ labels }) => isSelected(selector, labels))
      .map(({ labels }) => labels);
  }

  /** Whether the selector matches some pod in any target. */
  isAnySelected(namespace: string, selector: StringMap): boolean {
    for (const needs of this.#pods.get(namespace)?.keys() ?? []) if (isSelected(selector, needs.labels)) return true;
    return false;
  }

  /** Keys of the pods, in any target, that the selector matches. */
  selected(namespace: string, selector: StringMap): string[] {
    const keys: string[] = [];
    for (const [needs, targets] of this.#pods.get(namespace) ?? []) {
      if (isSelected(selector, needs.labels)) for (const pods of targets.values()) keys.push(...pods);
    }
    return keys;
  }

  /** Whether some pod of the namespace refers to an object of the kind. */
  isKindNamed(namespace: string, plural: string): boolean {
    for (const needs of this.#pods.get(namespace)?.keys() ?? []) {
      if (needs.references.some((reference) => reference.startsWith(`${plural}/`))) return true;
    }
    return false;
  }

  #add(podKey: string, { namespace, needs, target }: Placement): boolean {
    let groups = this.#pods.get(namespace);
    if (groups === undefined) this.#pods.set(namespace, (groups = new Map()));
    let targets = groups.get(needs);
    if (targets === undefined) groups.set(needs, (targets = new Map()));
    const pods = targets.get(target);
    if (pods === undefined) targets.set(target, new Set([podKey]));
    else pods.add(podKey);
    return pods === undefined;
  }

  #remove(podKey: string, { namespace, needs, target }: Placement): boolean {
    const groups = this.#pods.get(namespace);
    const targets = groups?.get(needs);
    const pods = targets?.get(target);
    pods?.delete(podKey);
    if (pods === undefined || pods.size > 0) return false;
    targets?.delete(target);
    if (targets?.size === 0) groups?.delete(needs);
    if (groups?.size === 0) this.#pods.delete(namespace);
    return true;
  }
}

function isEqual(left: Placement | undefined, right: Placement | undefined): boolean {
  return left?.target === right?.target && left?.needs === right?.needs && left?.namespace === right?.namespace;
}

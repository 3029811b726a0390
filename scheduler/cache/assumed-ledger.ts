// Assumed pods (as in kube-scheduler's cache): capacity taken by recent decisions that a target's summary does not
// count yet. An entry is removed when the summary counts the delegate, or when the candidate is gone. With no pod in
// flight the ledger is empty.
import type { AddedPod, TargetCapacity } from '../snapshot/target-capacity.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';

/** One assumed pod on one target. */
export interface Assumed {
  readonly requirements: NodeRequirements;
  /** resourceVersion at which the delegate was assigned to its node, once it was. */
  scheduledAt?: number;
  /** What the target's capacity was lowered by. Only the owner of the capacity reads it. */
  added?: AddedPod;
  /** What nodes that its autoscaler may add were lowered by, where it waits for one. Of the same owner. */
  onAddedNode?: { readonly headroom: TargetCapacity; readonly added: AddedPod } | undefined;
}

/** Assumed pods by target key and proxy UID. */
export class AssumedLedger {
  readonly #byTarget = new Map<string, Map<string, Assumed>>();
  readonly #targetsOf = new Map<string, Set<string>>();
  /** resourceVersion of pods up to which the last summary of a target is complete. */
  readonly #observedUpTo = new Map<string, number>();
  #size = 0;

  /**
   * Records that a candidate of the proxy pod was sent to a target. Returns the new entry, or undefined when it was
   * recorded already.
   */
  assume(target: string, uid: string, requirements: NodeRequirements): Assumed | undefined {
    let entries = this.#byTarget.get(target);
    if (entries === undefined) this.#byTarget.set(target, (entries = new Map()));
    if (entries.has(uid)) return undefined;
    const entry: Assumed = { requirements };
    entries.set(uid, entry);
    this.#targetsOf.set(uid, (this.#targetsOf.get(uid) ?? new Set()).add(target));
    this.#size += 1;
    return entry;
  }

  /**
   * Records the resourceVersion at which the delegate was assigned to its node. Pods and summaries arrive on two
   * watches: when the last summary already counts the delegate, the entry is removed at once. Returns the entry if it
   * was removed.
   */
  scheduled(target: string, uid: string, resourceVersion: string): Assumed | undefined {
    const entry = this.#byTarget.get(target)?.get(uid);
    if (entry === undefined || entry.scheduledAt !== undefined) return undefined;
    entry.scheduledAt = Number(resourceVersion);
    return entry.scheduledAt <= (this.#observedUpTo.get(target) ?? -Infinity) ? this.release(target, uid) : undefined;
  }

  /**
   * Removes what a summary counts that is complete up to this resourceVersion of pods. Returns how many entries were
   * removed.
   */
  observed(target: string, resourceVersion: string): number {
    const upTo = Number(resourceVersion);
    this.#observedUpTo.set(target, upTo);
    let dropped = 0;
    for (const [uid, { scheduledAt }] of this.#byTarget.get(target) ?? []) {
      if (scheduledAt === undefined || scheduledAt > upTo) continue;
      this.release(target, uid);
      dropped += 1;
    }
    return dropped;
  }

  /** Removes one entry, because its candidate is gone. Returns it, or undefined when there was none. */
  release(target: string, uid: string): Assumed | undefined {
    const entries = this.#byTarget.get(target);
    const entry = entries?.get(uid);
    if (entries === undefined || entry === undefined) return undefined;
    entries.delete(uid);
    if (entries.size === 0) this.#byTarget.delete(target);
    const targets = this.#targetsOf.get(uid);
    targets?.delete(target);
    if (targets?.size === 0) this.#targetsOf.delete(uid);
    this.#size -= 1;
    return entry;
  }

  /** Targets that have an assumed entry for a pod. */
  targetsOf(uid: string): string[] {
    return [...(this.#targetsOf.get(uid) ?? [])];
  }

  /** Removes all entries of a target that was removed. */
  forget(target: string): void {
    for (const uid of this.#byTarget.get(target)?.keys() ?? []) this.release(target, uid);
    this.#observedUpTo.delete(target);
  }

  /** Assumed pods of a target, oldest first. */
  on(target: string): Iterable<Assumed> {
    return this.#byTarget.get(target)?.values() ?? [];
  }

  /** Entries over all targets. */
  get size(): number {
    return this.#size;
  }
}

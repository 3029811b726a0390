// Decisions in flight: capacity that a target's summary does not show as taken yet (kube-scheduler's "assumed pods").
// An entry leaves when the summary has seen the delegate on its node, or when the candidate is gone; at rest the ledger is empty.
import type { Taken } from '../snapshot/target-capacity.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';

/** One assumed pod on one target. */
export interface Assumed {
  readonly requirements: NodeRequirements;
  /** resourceVersion of the delegate at which it had its node, once it has. */
  scheduledAt?: number;
  /** What the target's capacity was lowered by; kept by who owns the capacity. */
  taken?: Taken;
}

/** Assumed pods by target key and proxy UID. */
export class AssumedLedger {
  readonly #byTarget = new Map<string, Map<string, Assumed>>();
  readonly #targetsOf = new Map<string, Set<string>>();
  /** Up to which resourceVersion of pods the last summary of a target is complete. */
  readonly #observedUpTo = new Map<string, number>();
  #size = 0;

  /** Notes that a candidate of the proxy pod was sent to a target. Gives the new entry, or undefined when that was noted already. */
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
   * Notes at which resourceVersion of pods the delegate had its node. Pods and summaries come over two watches: where the last
   * summary shows the delegate already, the entry is dropped at once. Gives the entry if it was.
   */
  scheduled(target: string, uid: string, resourceVersion: string): Assumed | undefined {
    const entry = this.#byTarget.get(target)?.get(uid);
    if (entry === undefined || entry.scheduledAt !== undefined) return undefined;
    entry.scheduledAt = Number(resourceVersion);
    return entry.scheduledAt <= (this.#observedUpTo.get(target) ?? -Infinity) ? this.release(target, uid) : undefined;
  }

  /** Drops what a summary shows that is complete up to this resourceVersion of pods. Gives how many were dropped. */
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

  /** Drops one entry: its candidate is gone. Gives it, or undefined when there was none. */
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

  /** Targets on which something is assumed for a pod. */
  targetsOf(uid: string): string[] {
    return [...(this.#targetsOf.get(uid) ?? [])];
  }

  /** Drops all entries of a target that was removed. */
  forget(target: string): void {
    for (const uid of this.#byTarget.get(target)?.keys() ?? []) this.release(target, uid);
    this.#observedUpTo.delete(target);
  }

  /** What is assumed on a target, oldest first. */
  on(target: string): Iterable<Assumed> {
    return this.#byTarget.get(target)?.values() ?? [];
  }

  /** Entries over all targets. */
  get size(): number {
    return this.#size;
  }
}

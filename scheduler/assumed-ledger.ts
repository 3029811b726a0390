// Decisions in flight: capacity that a target's summary does not show as taken yet (kube-scheduler's "assumed pods").
// An entry leaves when the summary has seen the delegate on its node, or when the candidate is gone; at rest the ledger is empty.
import type { NodeRequirements } from './target-capacity.ts';

interface Assumed {
  readonly requirements: NodeRequirements;
  /** resourceVersion of the delegate at which it had its node, once it has. */
  readonly scheduledAt?: number;
}

/** Assumed pods by target key and proxy UID. */
export class AssumedLedger {
  readonly #byTarget = new Map<string, Map<string, Assumed>>();
  /** Up to which resourceVersion of pods the last summary of a target is complete. */
  readonly #observedUpTo = new Map<string, number>();

  /** Notes that a candidate of the proxy pod was sent to a target. Gives false when that was noted already. */
  assume(target: string, uid: string, requirements: NodeRequirements): boolean {
    let entries = this.#byTarget.get(target);
    if (entries === undefined) this.#byTarget.set(target, (entries = new Map()));
    if (entries.has(uid)) return false;
    entries.set(uid, { requirements });
    return true;
  }

  /**
   * Notes at which resourceVersion of pods the delegate had its node. Pods and summaries come over two watches: where the last
   * summary shows the delegate already, the entry is dropped at once. Gives whether it was.
   */
  scheduled(target: string, uid: string, resourceVersion: string): boolean {
    const entries = this.#byTarget.get(target);
    const entry = entries?.get(uid);
    if (entries === undefined || entry === undefined || entry.scheduledAt !== undefined) return false;
    const scheduledAt = Number(resourceVersion);
    if (scheduledAt <= (this.#observedUpTo.get(target) ?? -Infinity)) return this.release(target, uid);
    entries.set(uid, { ...entry, scheduledAt });
    return false;
  }

  /** Drops what a summary shows that is complete up to this resourceVersion of pods. Gives whether anything was dropped. */
  observed(target: string, resourceVersion: string): boolean {
    const upTo = Number(resourceVersion);
    this.#observedUpTo.set(target, upTo);
    let dropped = false;
    for (const [uid, { scheduledAt }] of this.#byTarget.get(target) ?? []) {
      if (scheduledAt !== undefined && scheduledAt <= upTo) dropped = this.release(target, uid) || dropped;
    }
    return dropped;
  }

  /** Drops one entry: its candidate is gone. Gives whether there was one. */
  release(target: string, uid: string): boolean {
    const entries = this.#byTarget.get(target);
    const released = entries?.delete(uid) ?? false;
    if (entries?.size === 0) this.#byTarget.delete(target);
    return released;
  }

  /** Drops the entries of a pod on all targets: it has gone or ended. Gives the targets that had one. */
  releaseEverywhere(uid: string): string[] {
    return [...this.#byTarget.keys()].filter((target) => this.release(target, uid));
  }

  /** Drops all entries of a target that was removed. */
  forget(target: string): void {
    this.#byTarget.delete(target);
    this.#observedUpTo.delete(target);
  }

  /** What is assumed on a target, oldest first. */
  *on(target: string): Generator<NodeRequirements> {
    for (const { requirements } of this.#byTarget.get(target)?.values() ?? []) yield requirements;
  }

  /** Entries over all targets. */
  get size(): number {
    let size = 0;
    for (const entries of this.#byTarget.values()) size += entries.size;
    return size;
  }
}

// Whether a collection must be watched. An empty collection to which nothing is about to be written is only listed now
// and then: a watch costs memory, bookmarks and reconnects on both sides, even without objects.
import { delayUnless } from '../flow/backoff.ts';

/** Time in ms between two lists of an empty collection; with jitter, so that not all are listed at once. */
const UNREAD_MS = { least: 1_200_000, spread: 1_200_000 };
/** Time in ms within which a caller that demands the watch has written to the collection. */
const FILLED_MS = 60_000;

/** Demand for the watch of one collection; none at first. */
export class WatchDemand {
  #isWatched = false;
  /** When the watch was last demanded (monotonic clock, ms); undefined while the collection rests. */
  #demandedAt: number | undefined;
  readonly #waiting = new Set<() => void>();

  /** Whether the collection is to be watched. */
  get isDemanded(): boolean {
    return this.#demandedAt !== undefined;
  }

  /** Whether a watch keeps the cached collection up to date. */
  get isWatched(): boolean {
    return this.#isWatched;
  }

  /** Demands the watch, from now until a watch ends and the collection is empty. */
  ask(): void {
    this.#demandedAt = performance.now();
    for (const wake of this.#waiting) wake();
  }

  /** A watch was opened: it delivers what happened since the last list. */
  opened(): void {
    this.#isWatched = true;
  }

  /**
   * A watch of an empty collection ended: the collection rests until the next demand, unless the last one is recent.
   */
  rest(): void {
    this.#isWatched = false;
    const age = performance.now() - (this.#demandedAt ?? Infinity);
    if (age >= FILLED_MS) this.#demandedAt = undefined;
  }

  /** Waits for a demand, or until the collection is to be listed again. Resolves to whether there is a demand. */
  async untilAsked(signal: AbortSignal): Promise<boolean> {
    if (this.isDemanded) return true;
    const ms = UNREAD_MS.least + Math.random() * UNREAD_MS.spread;
    return delayUnless((wake) => this.#whenAsked(wake), ms, signal);
  }

  #whenAsked(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }
}

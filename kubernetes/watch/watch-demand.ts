// Whether a collection has to be watched. A collection that is empty and that nobody is about to fill is only listed
// now and then: a watch costs memory, bookmarks and reconnects on both sides, whether it has objects or not.
import { delayUnless } from '../flow/backoff.ts';

/** So long, in ms, an empty collection goes unread; with jitter, so that not all are read at once. */
const UNREAD_MS = { least: 1_200_000, spread: 1_200_000 };
/** Whoever asks has filled the collection by then, in ms. */
const FILLED_MS = 60_000;

/** Demand for the watch of one collection. Nobody asks at first. */
export class WatchDemand {
  #isWatched = false;
  /** When somebody asked last (monotonic clock, ms); undefined while the collection rests. */
  #demandedAt: number | undefined;
  readonly #waiting = new Set<() => void>();

  /** Whether the collection is to be watched. */
  get isDemanded(): boolean {
    return this.#demandedAt !== undefined;
  }

  /** Whether what is known of the collection is kept up to date by a watch. */
  get isWatched(): boolean {
    return this.#isWatched;
  }

  /** Has the collection watched, from now until a watch of it ends and it is empty. */
  ask(): void {
    this.#demandedAt = performance.now();
    for (const wake of this.#waiting) wake();
  }

  /** A watch was opened: it delivers what happened since the last list. */
  opened(): void {
    this.#isWatched = true;
  }

  /** A watch of an empty collection ended: the collection rests until somebody asks again, or keeps what was asked. */
  rest(): void {
    this.#isWatched = false;
    const age = performance.now() - (this.#demandedAt ?? Infinity);
    if (age >= FILLED_MS) this.#demandedAt = undefined;
  }

  /** Waits until somebody asks, or the collection is to be listed again. Resolves to whether somebody asked. */
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

// Spreads background work, so that it does not delay work that a caller waits for.

/** How fast turns are given. */
export interface PaceLimits {
  /** Turns that may be taken at once after a while without any. */
  readonly atOnce: number;
  /** Interval of further ones, in ms. */
  readonly everyMs: number;
}

/** Gives turns; times are in ms of a monotonic clock. */
export class Pace {
  readonly #limits: PaceLimits;
  /** When the next turn would come if none were given at once. */
  #next = -Infinity;

  constructor(limits: PaceLimits) {
    this.#limits = limits;
  }

  /** Takes the next turn; returns when it comes, which is `now` or later. */
  take(now: number): number {
    const { atOnce, everyMs } = this.#limits;
    const next = Math.max(this.#next, now);
    this.#next = next + everyMs;
    return Math.max(now, next - (atOnce - 1) * everyMs);
  }
}

// A token bucket for each API server. It is wide: fairness is the server's own business (API Priority and Fairness).
// What it adds is obedience: when the server answers 429, everybody waits as long as it asked, and then goes on more slowly for a while.
import { onAbort } from './abort.ts';
import { ApiError } from './api-error.ts';
import { timerMs } from './backoff.ts';

/** How fast calls may be sent at most. */
export interface RateLimits {
  /** Calls a second, sustained. */
  readonly perSecond: number;
  /** Calls that may be sent at once after a pause. */
  readonly burst: number;
}

/** Of every process towards each of its API servers. */
export const RATE_LIMITS: RateLimits = { perSecond: 1_000, burst: 1_000 };

/** Part of the full rate that is won back in each second after the server said that it was too much. */
const RECOVERY_PER_SECOND = 0.1;
/** Part of the full rate that is left after the server said so. */
const LEAST_SHARE = 0.01;

interface Waiting {
  readonly admit: () => void;
}

/** Admits calls in the order of asking. */
export class RateLimiter {
  readonly #limits: RateLimits;
  readonly #waiting = new Set<Waiting>();
  #rate: number;
  #tokens: number;
  #refilledAt = performance.now();
  #blockedUntil = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: RateLimits = RATE_LIMITS) {
    this.#limits = limits;
    this.#rate = limits.perSecond;
    this.#tokens = limits.burst;
  }

  /**
   * Undefined when the call may be sent at once, else a promise of when it may, which the signal ends as well.
   * @throws ApiError 429 when the server has asked to wait for longer than `patienceMs`.
   */
  admit(patienceMs: number, signal: AbortSignal): Promise<void> | undefined {
    const now = performance.now();
    const blockedMs = this.#blockedUntil - now;
    if (blockedMs > patienceMs) throw new ApiError(429, 'TooManyRequests', 'the server has asked for a pause that is not over', blockedMs);
    this.#refill(now);
    if (blockedMs <= 0 && this.#waiting.size === 0 && this.#tokens >= 1) {
      this.#tokens -= 1;
      return undefined;
    }
    return this.#wait(signal);
  }

  /** The server said 429: nothing is sent for `ms` and a little more by chance, then little at first, so that a server which is still too busy says so to few. */
  throttled(ms: number): void {
    const now = performance.now();
    this.#refill(now);
    this.#blockedUntil = Math.max(this.#blockedUntil, now + ms * (1 + Math.random() / 4));
    this.#rate = this.#limits.perSecond * LEAST_SHARE;
    this.#tokens = 0;
    this.#refilledAt = this.#blockedUntil; // a pause saves up nothing
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiting: Waiting = {
        admit: () => {
          forget();
          resolve();
        },
      };
      this.#waiting.add(waiting);
      const forget = onAbort(signal, () => {
        this.#waiting.delete(waiting);
        resolve();
      });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return;
    const forToken = this.#tokens >= 1 ? 0 : ((1 - this.#tokens) / this.#rate) * 1_000;
    const wait = Math.max(forToken, this.#blockedUntil - performance.now(), 1);
    this.#timer = setTimeout(() => this.#release(), timerMs(Math.ceil(wait)));
  }

  #release(): void {
    this.#timer = undefined;
    const now = performance.now();
    this.#refill(now);
    for (const waiting of this.#waiting) {
      if (this.#tokens < 1 || this.#blockedUntil > now) break;
      this.#tokens -= 1;
      this.#waiting.delete(waiting);
      waiting.admit();
    }
    this.#schedule();
  }

  #refill(now: number): void {
    if (now <= this.#refilledAt) return;
    const seconds = (now - this.#refilledAt) / 1_000;
    this.#refilledAt = now;
    this.#rate = Math.min(this.#limits.perSecond, this.#rate + seconds * RECOVERY_PER_SECOND * this.#limits.perSecond);
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + seconds * this.#rate);
  }
}

// A client-side token bucket per API server. It is generous: fairness is left to API Priority and Fairness. On a 429
// all calls wait for Retry-After, then the rate ramps up again.
import { onAnyAbort } from './abort.ts';
import { ApiError } from './api-error.ts';
import { timerMs } from './backoff.ts';

/** Client-side rate limits. */
export interface RateLimits {
  /** QPS. */
  readonly perSecond: number;
  /** Burst. */
  readonly burst: number;
}

/** Of every process for each API server. */
export const RATE_LIMITS: RateLimits = { perSecond: 1_000, burst: 1_000 };

/** Share of the full rate recovered per second after a 429. */
const RECOVERY_PER_SECOND = 0.1;
/** Share of the full rate left right after a 429. */
const LEAST_SHARE = 0.01;

interface Waiting {
  readonly admit: () => void;
}

/** Admits calls in order of arrival. */
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
   * Undefined when the call may be sent at once, else a promise that resolves when it may; each of `signals` ends the
   * wait.
   * @throws ApiError 429 when Retry-After is longer than `timeoutMs`.
   */
  admit(timeoutMs: number, ...signals: readonly AbortSignal[]): Promise<void> | undefined {
    const now = performance.now();
    const blockedMs = this.#blockedUntil - now;
    if (blockedMs > timeoutMs) {
      throw new ApiError(429, 'TooManyRequests', 'the server is throttling requests (Retry-After)', blockedMs);
    }
    this.#refill(now);
    if (blockedMs <= 0 && this.#waiting.size === 0 && this.#tokens >= 1) {
      this.#tokens -= 1;
      return undefined;
    }
    return this.#wait(signals);
  }

  /** The server responded 429: pauses for `ms` plus jitter, then starts at a low rate. */
  throttled(ms: number): void {
    const now = performance.now();
    this.#refill(now);
    this.#blockedUntil = Math.max(this.#blockedUntil, now + ms * (1 + Math.random() / 4));
    this.#rate = this.#limits.perSecond * LEAST_SHARE;
    this.#tokens = 0;
    this.#refilledAt = this.#blockedUntil; // no burst is saved up during a pause
  }

  #wait(signals: readonly AbortSignal[]): Promise<void> {
    if (signals.some(({ aborted }) => aborted)) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waiting.delete(waiting);
        forget();
        resolve();
      };
      const waiting: Waiting = { admit: end };
      this.#waiting.add(waiting);
      const forget = onAnyAbort(signals, end);
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

// Paces retries of forbidden requests. Missing RBAC is granted by people, so all requests that one API server forbids
// take turns and it is retried twice a minute in total, not per resource. Once one is granted, all retry at once.
import { forwardAbort } from './abort.ts';
import { delay } from './backoff.ts';

/** Interval and jitter between retries, in ms. */
const TURN = { everyMs: 30_000, spreadMs: 500 };

/** Retry schedule of one API server. */
export class ForbiddenRetry {
  #released = new AbortController();
  /** Time of the last scheduled retry, in ms of a monotonic clock. */
  #lastTurnAt = 0;

  /** Resolves when the caller may retry, when all are released, or when `signal` is aborted. */
  async next(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const ms = Math.max(0, this.#lastTurnAt - now) + TURN.everyMs + Math.random() * TURN.spreadMs;
    this.#lastTurnAt = now + ms;
    const woken = new AbortController();
    const forget = forwardAbort([signal, this.#released.signal], woken);
    await delay(ms, woken.signal);
    forget();
  }

  /** A forbidden request succeeded or credentials changed: all waiting callers retry at once. */
  release(): void {
    this.#released.abort();
    this.#released = new AbortController();
    this.#lastTurnAt = 0;
  }
}

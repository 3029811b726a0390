// Rights that are missing come back by people's hands. All that is refused by one API server waits for its turn to ask again, so that the
// server is asked twice a minute and not twice for each kind; once something is granted, all ask at once.
import { forwardAbort } from './abort.ts';
import { delay } from './backoff.ts';

/** How long after a turn the next one comes, in ms, and by how much later at most, so that many clients do not come together. */
const TURN = { everyMs: 30_000, spreadMs: 500 };

/** The turns of one API server. */
export class ForbiddenRetry {
  #released = new AbortController();
  /** When the last turn that was given out comes, in ms of a monotonic clock. */
  #lastTurnAt = 0;

  /** Resolves when it is the caller's turn to ask again, when all are released, or when `signal` is aborted. */
  async next(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const ms = Math.max(0, this.#lastTurnAt - now) + TURN.everyMs + Math.random() * TURN.spreadMs;
    this.#lastTurnAt = now + ms;
    const woken = new AbortController();
    const forget = forwardAbort([signal, this.#released.signal], woken);
    await delay(ms, woken.signal);
    forget();
  }

  /** Something that was refused is granted, or there are new credentials: whoever waits asks at once. */
  release(): void {
    this.#released.abort();
    this.#released = new AbortController();
    this.#lastTurnAt = 0;
  }
}

// Limits calls in flight to one API server. Calls wait here, where cancelling is free, and not in a connection's
// pipeline, where undici could only cancel by closing the connection. Namespaces are served round robin, as in the work
// queues.
import { onAnyAbort } from '../flow/abort.ts';
import { ApiError } from '../flow/api-error.ts';
import { FairQueue } from '../flow/fair-queue.ts';

/** Calls in flight to one API server. */
export const CALLS_IN_FLIGHT = 32;
/** Longest wait for a slot in ms. Longer than a burst takes: a call's own deadline counts from when it has a slot. */
const TIMEOUT_MS = 60_000;

/** Hands out slots round robin. */
export class InFlightLimiter {
  #free: number;
  readonly #waiting = new FairQueue<() => void>();
  readonly #timeoutMs: number;

  constructor(slots = CALLS_IN_FLIGHT, timeoutMs = TIMEOUT_MS) {
    this.#free = slots;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Undefined when a slot is free, else a promise of one; each must be returned by {@link release}. Calls of one
   * `group` are served first in, first out; groups round robin.
   * @throws ApiError 429 when no slot became free in time (the call was not sent); the reason of the signal that was
   * aborted.
   */
  acquire(group: string, ...signals: readonly AbortSignal[]): Promise<void> | undefined {
    for (const { aborted, reason } of signals) if (aborted) return Promise.reject(reason);
    if (this.#free === 0) return this.#wait(group, signals);
    this.#free -= 1;
    return undefined;
  }

  /** Returns a slot to the next waiting call. */
  release(): void {
    this.#free += 1;
    while (this.#free > 0 && this.#waiting.size > 0) this.#waiting.dequeue()?.();
  }

  #wait(group: string, signals: readonly AbortSignal[]): Promise<void> {
    return new Promise((resolve, reject) => {
      let ended = false;
      const end = (error: unknown): void => {
        ended = true;
        clearTimeout(timer);
        forget();
        reject(error);
      };
      const timer = setTimeout(() => end(noSlot(this.#timeoutMs)), this.#timeoutMs);
      const forget = onAnyAbort(signals, end);
      const start = (): void => {
        if (ended) return; // it has ended and takes no slot
        clearTimeout(timer);
        forget();
        this.#free -= 1;
        resolve();
      };
      this.#waiting.enqueue(start, group);
    });
  }
}

/** The group of a call: the namespace in its path, or the empty text. */
export function namespaceOfPath(path: string): string {
  const at = path.indexOf('/namespaces/');
  return at === -1 ? '' : (path.slice(at + '/namespaces/'.length).split('/', 1)[0] ?? '');
}

function noSlot(timeoutMs: number): ApiError {
  return new ApiError(
    429, 'TooManyRequests',
    `the API server answers so slowly that the call was not sent within ${timeoutMs / 1_000} s`,
  );
}

// The places for calls to one API server. A call waits here, where its end costs nothing, and not in a connection's pipeline, where
// undici could only end it by closing the connection. Namespaces take turns, as they do in the work queues.
import { onAbort } from '../flow/abort.ts';
import { ApiError } from '../flow/api-error.ts';
import { FairQueue } from '../flow/fair-queue.ts';

/** Calls in flight to one API server; more wait for a place. */
export const CALLS_IN_FLIGHT = 32;
/** How long a call waits for a place at most, in ms. Longer than a burst takes, for its deadline only counts from its place on. */
const PATIENCE_MS = 60_000;

/** Gives out places in turn. */
export class CallGate {
  #free: number;
  readonly #waiting = new FairQueue();
  readonly #patienceMs: number;

  constructor(places = CALLS_IN_FLIGHT, patienceMs = PATIENCE_MS) {
    this.#free = places;
    this.#patienceMs = patienceMs;
  }

  /**
   * Undefined when there is a place at once, else a promise of one; each must be given back by {@link leave}. Calls of one `group` are
   * served in the order of asking, groups in turn.
   * @throws ApiError 429 when no place came in time: the call was not begun; the signal's reason when aborted.
   */
  enter(group: string, signal: AbortSignal): Promise<void> | undefined {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#free === 0) return this.#wait(group, signal);
    this.#free -= 1;
    return undefined;
  }

  /** Gives a place back, to the next one that waits. */
  leave(): void {
    this.#free += 1;
    while (this.#free > 0 && this.#waiting.size > 0) void this.#waiting.dequeue()?.();
  }

  #wait(group: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      let ended = false;
      const end = (error: unknown): void => {
        ended = true;
        clearTimeout(timer);
        forget();
        reject(error);
      };
      const timer = setTimeout(() => end(noPlace(this.#patienceMs)), this.#patienceMs);
      const forget = onAbort(signal, () => end(signal.reason));
      const start = async (): Promise<void> => {
        if (ended) return; // it has given up, and takes no place
        clearTimeout(timer);
        forget();
        this.#free -= 1;
        resolve();
      };
      this.#waiting.enqueue(start, { group });
    });
  }
}

/** The group of a call by its path: its namespace, the empty text where it has none. */
export function namespaceOfPath(path: string): string {
  const at = path.indexOf('/namespaces/');
  return at === -1 ? '' : (path.slice(at + '/namespaces/'.length).split('/', 1)[0] ?? '');
}

function noPlace(patienceMs: number): ApiError {
  return new ApiError(429, 'TooManyRequests', `the API server answers so slowly that the call was not sent within ${patienceMs / 1_000} s`);
}

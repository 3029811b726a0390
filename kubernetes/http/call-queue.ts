// Client-side queueing of calls: rate limit first, then a slot in flight. A waiting call has not been sent.
import { InFlightLimiter, namespaceOfPath } from './in-flight-limiter.ts';
import { UnsentError, type ConnectTimeout } from './pending-call.ts';
import { RateLimiter } from '../flow/rate-limiter.ts';

/** A waiting call. */
export interface WaitingCall {
  readonly path: string;
  readonly connectTimeout?: ConnectTimeout;
}

/** Rate limit and slots of one API server. */
export class CallQueue {
  readonly rateLimiter = new RateLimiter();
  readonly #inFlight = new InFlightLimiter();

  /**
   * Undefined when the call may be sent at once, else a promise that resolves when it may; its slot must be returned.
   * @throws ApiError 429 when Retry-After is longer than `timeoutMs` or no slot became free in time; UnsentError when
   * the call's own bounds ended it; the signal's reason when aborted.
   */
  acquire({ path, connectTimeout }: WaitingCall, timeoutMs: number, signal: AbortSignal): Promise<void> | undefined {
    const group = namespaceOfPath(path);
    if (connectTimeout === undefined) return this.#acquire(group, timeoutMs, signal);
    return this.#acquire(group, timeoutMs, signal, connectTimeout.signal)?.catch((error: unknown) => {
      throw error === connectTimeout.signal.reason ? new UnsentError(error) : error;
    });
  }

  #acquire(group: string, timeoutMs: number, ...signals: readonly AbortSignal[]): Promise<void> | undefined {
    const admitted = this.rateLimiter.admit(timeoutMs, ...signals);
    return admitted === undefined
      ? this.#inFlight.acquire(group, ...signals)
      : admitted.then(() => this.#inFlight.acquire(group, ...signals));
  }

  /** The call has ended. */
  release(): void {
    this.#inFlight.release();
  }
}

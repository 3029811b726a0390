// Client-side queueing of calls: rate limit first, then a slot in flight. A waiting call has not been sent.
import { CallGate, namespaceOfPath } from './call-gate.ts';
import { UnsentError, type ConnectTimeout } from './pending-call.ts';
import { RateLimiter } from '../flow/rate-limiter.ts';

/** A waiting call. */
export interface WaitingCall {
  readonly path: string;
  readonly connectTimeout?: ConnectTimeout;
}

/** Rate limit and slots of one API server. */
export class CallTurns {
  readonly limiter = new RateLimiter();
  readonly #gate = new CallGate();

  /**
   * Undefined when the call may be sent at once, else a promise that resolves when it may; its slot must be returned.
   * @throws ApiError 429 when Retry-After is longer than `timeoutMs` or no slot became free in time; UnsentError when
   * the call's own bounds ended it; the signal's reason when aborted.
   */
  take({ path, connectTimeout }: WaitingCall, timeoutMs: number, signal: AbortSignal): Promise<void> | undefined {
    const group = namespaceOfPath(path);
    if (connectTimeout === undefined) return this.#take(group, timeoutMs, signal);
    return this.#take(group, timeoutMs, signal, connectTimeout.signal)?.catch((error: unknown) => {
      throw error === connectTimeout.signal.reason ? new UnsentError(error) : error;
    });
  }

  #take(group: string, timeoutMs: number, ...signals: readonly AbortSignal[]): Promise<void> | undefined {
    const admitted = this.limiter.admit(timeoutMs, ...signals);
    return admitted === undefined
      ? this.#gate.enter(group, ...signals)
      : admitted.then(() => this.#gate.enter(group, ...signals));
  }

  /** The call has ended. */
  giveBack(): void {
    this.#gate.leave();
  }
}

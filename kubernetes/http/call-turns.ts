// Client-side queueing of calls: rate limit first, then a slot in flight. A waiting call has not been sent.
import { forwardAbort } from '../flow/abort.ts';
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
   * Resolves when the call may be sent; its slot must be returned.
   * @throws ApiError 429 when Retry-After is longer than `timeoutMs` or no slot became free in time; UnsentError when
   * the call's own bounds ended it; the signal's reason when aborted.
   */
  async take({ path, connectTimeout }: WaitingCall, timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (connectTimeout === undefined) return this.#take(path, timeoutMs, signal);
    const either = new AbortController();
    const forget = forwardAbort([signal, connectTimeout.signal], either);
    try {
      await this.#take(path, timeoutMs, either.signal);
    } catch (error) {
      throw error === connectTimeout.signal.reason ? new UnsentError(error) : error;
    } finally {
      forget();
    }
  }

  async #take(path: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    await this.limiter.admit(timeoutMs, signal);
    await this.#gate.enter(namespaceOfPath(path), signal);
  }

  /** The call has ended. */
  giveBack(): void {
    this.#gate.leave();
  }
}

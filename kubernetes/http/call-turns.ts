// What a call waits for before it is sent: its turn in the rate, and a place among those in flight. One that waits has not been sent.
import { forwardAbort } from '../flow/abort.ts';
import { CallGate, namespaceOfPath } from './call-gate.ts';
import { UnsentError, type UnsentBounds } from './pending-call.ts';
import { RateLimiter } from '../flow/rate-limiter.ts';

/** A call that waits. */
export interface WaitingCall {
  readonly path: string;
  readonly unsent?: UnsentBounds;
}

/** Turns and places of one API server. */
export class CallTurns {
  readonly limiter = new RateLimiter();
  readonly #gate = new CallGate();

  /**
   * Resolves when the call may be sent; its place must then be given back.
   * @throws ApiError 429 when the server has asked to wait for longer than `patienceMs`, or no place came in time; UnsentError when the call's
   * own bounds ended it; the signal's reason when aborted.
   */
  async take({ path, unsent }: WaitingCall, patienceMs: number, signal: AbortSignal): Promise<void> {
    if (unsent === undefined) return this.#take(path, patienceMs, signal);
    const either = new AbortController();
    const forget = forwardAbort([signal, unsent.signal], either);
    try {
      await this.#take(path, patienceMs, either.signal);
    } catch (error) {
      throw error === unsent.signal.reason ? new UnsentError(error) : error;
    } finally {
      forget();
    }
  }

  async #take(path: string, patienceMs: number, signal: AbortSignal): Promise<void> {
    await this.limiter.admit(patienceMs, signal);
    await this.#gate.enter(namespaceOfPath(path), signal);
  }

  /** The call has ended. */
  giveBack(): void {
    this.#gate.leave();
  }
}

// One call on its way through undici, by its lowest interface: no streams for short bodies, and a look at the fence right before
// the bytes are written. The answer is given as a whole or not at all.
import type { Dispatcher } from 'undici';
import { onAbort } from './abort.ts';
import type { Answer } from './api-answer.ts';
import { NotLeaderError, type Fence } from './fence.ts';

/** What bounds a call. */
export interface CallBounds {
  /** Bytes of the answer's body; a longer one fails the call. */
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** The right to write: a call is given up when it ends, and goes on when it was renewed in the meantime. */
  readonly fence: Fence | undefined;
}

/** No answer came in time. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(ms: number) {
    super(`no answer within ${ms / 1_000} s`);
  }
}

/** Sends a request; rejects when it was not answered in time, was aborted or broke. Nothing of it is left behind in any case. */
export function sendCall(pool: Dispatcher, request: Dispatcher.DispatchOptions, bounds: CallBounds, signal: AbortSignal | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = new PendingCall(bounds, resolve, reject);
    call.watch(signal);
    if (!call.ended) pool.dispatch(request, call);
  });
}

class PendingCall implements Dispatcher.DispatchHandler {
  readonly #bounds: CallBounds;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #chunks: Buffer[] = [];
  #timer: NodeJS.Timeout | undefined;
  #forgetSignal: (() => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #retryAfter: string | undefined;
  #bytes = 0;
  /** Whether the promise has been settled. */
  ended = false;

  constructor(bounds: CallBounds, resolve: (answer: Answer) => void, reject: (error: unknown) => void) {
    this.#bounds = bounds;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#wait(bounds.timeoutMs);
  }

  /** `ms` of the call's own time are left. A right that ends earlier is looked at again when it does. */
  #wait(ms: number): void {
    const rightMs = Math.max(1, Math.floor(this.#bounds.fence?.msLeft() ?? Infinity));
    if (rightMs >= ms) this.#timer = setTimeout(() => this.#end(new DeadlineError(this.#bounds.timeoutMs)), ms);
    else this.#timer = setTimeout(() => this.#lookAtRight(ms - rightMs), rightMs);
  }

  #lookAtRight(ms: number): void {
    if ((this.#bounds.fence?.msLeft() ?? 0) > 0) this.#wait(ms);
    else this.#end(new DeadlineError(Math.round(this.#bounds.timeoutMs - ms)));
  }

  watch(signal: AbortSignal | undefined): void {
    if (signal !== undefined) this.#forgetSignal = onAbort(signal, () => this.#end(signal.reason));
  }

  /** The last moment before the request is written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.ended) controller.abort(new Error('the call has ended'));
    else if (this.#bounds.fence?.holds() === false) this.#end(new NotLeaderError(this.#bounds.fence));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    if (status < 200) return;
    this.#status = status;
    const retryAfter = headers['retry-after'];
    this.#retryAfter = typeof retryAfter === 'string' ? retryAfter : undefined;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#bounds.maxBytes) this.#end(new Error(`the answer is longer than ${this.#bounds.maxBytes} bytes`));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.ended) return;
    this.#settle();
    const [only] = this.#chunks;
    const whole = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, retryAfter: this.#retryAfter, body: whole });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.ended) return;
    this.#settle();
    this.#reject(error);
  }

  #end(reason: unknown): void {
    if (this.ended) return;
    this.#settle();
    this.#controller?.abort(reason instanceof Error ? reason : new Error(String(reason)));
    this.#reject(reason);
  }

  #settle(): void {
    this.ended = true;
    clearTimeout(this.#timer);
    this.#forgetSignal?.();
  }
}

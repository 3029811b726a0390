// One call through undici's lowest interface: no streams for short bodies, and a fence check right before the bytes are
// written. The response is returned whole or not at all.
import { DeadlineError } from '../flow/api-error.ts';
import { errors } from 'undici';
import { onAbort } from '../flow/abort.ts';
import type { Answer } from './api-answer.ts';
import { LimitError } from '../connect/connection-limits.ts';
import { GatheredBytes } from '../json/gathered-bytes.ts';
import { NotLeaderError, type Fence } from '../flow/fence.ts';
import { messageOf } from '../../process/errors.ts';

/** One HTTP call. `path` starts with `/api`; undefined `query` values are omitted. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** Of the body; `application/json` when missing. Patches set theirs. */
  readonly contentType?: string;
  /** Form of the answer; the whole object as JSON when missing. */
  readonly accept?: string;
  /** Checked right before the call is written; {@link NotLeaderError} when it does not hold. */
  readonly fence?: Fence | undefined;
  /** Bypasses the rate limit and the slots: Leases must be renewed while other calls are throttled. */
  readonly bypassesRateLimit?: boolean;
  /** Parses the response; JSON.parse when missing. */
  readonly read?: (answer: Buffer) => unknown;
  /**
   * Deadline of this call in ms, from when it has a slot; the transport's when missing. A call is also abandoned when
   * its fence ends.
   */
  readonly timeoutMs?: number;
  /** Cancels the call, as unsent, while it waits for the rate limit, a slot or a connection. */
  readonly connectTimeout?: ConnectTimeout;
}

/** Limits of a call. */
export interface CallBounds {
  /** Largest response body in bytes; a longer one fails the call. */
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** The fence: a call is abandoned when it ends, and continues when it was renewed in the meantime. */
  readonly fence: Fence | undefined;
  /** What cancels the call while nothing of it was written; missing when only the other bounds apply. */
  readonly connectTimeout?: ConnectTimeout | undefined;
}

/** Limits of a call that waits for a connection. */
export interface ConnectTimeout {
  /** Its reason becomes the cause of the {@link UnsentError}. */
  readonly signal: AbortSignal;
  /** Counted from when the call has a slot. */
  readonly ms: number;
}

/** The call ended before it was handed to an established connection: the server has not seen it. */
export class UnsentError extends Error {
  override readonly name = 'UnsentError';

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

/** One request, as undici takes it. */
export interface CallRequest {
  readonly origin: string;
  readonly method: Call['method'];
  readonly reset: boolean;
  readonly path: string;
  readonly headers: Record<string, string | string[]>;
  readonly body?: string;
}

/** What can end an exchange. */
export interface CallController {
  abort(reason: Error): void;
}

/** Hears how an exchange goes; the part of undici's `DispatchHandler` that calls need. */
export interface CallHandler {
  /** The last moment before the request is written; it may abort. Called again after {@link onRefused}. */
  onRequestStart(controller: CallController): void;
  onResponseStart(
    controller: CallController, status: number,
    headers: Readonly<Record<string, number | string | string[] | undefined>>,
  ): void;
  onResponseData(controller: CallController, chunk: Buffer): void;
  onResponseEnd(): void;
  /** The server has not processed the request and never will; it is sent again. */
  onRefused(): void;
  onResponseError(controller: CallController, error: Error): void;
}

/** Something that sends calls: undici's pool, or a session. */
export interface CallPath {
  dispatch(request: CallRequest, handler: CallHandler): unknown;
}

/** The HTTP/2 stream of a call ended before its response was whole. */
export class BrokenStreamError extends Error {
  override readonly name = 'BrokenStreamError';

  constructor(cause: Error | undefined) {
    super(cause?.message ?? 'the connection was closed before an answer', { cause });
  }
}

/** Sends a request; rejects on timeout, abort or a broken connection. Releases all resources in any case. */
export function sendCall(
  path: CallPath, request: CallRequest, bounds: CallBounds, signal: AbortSignal | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = new PendingCall(bounds, resolve, reject);
    call.watch(signal);
    if (!call.ended) path.dispatch(request, call);
  });
}

function tooLong(maxBytes: number): LimitError {
  return new LimitError(`it sends an answer of more than ${maxBytes} bytes`);
}

class PendingCall implements CallHandler {
  readonly #bounds: CallBounds;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  /** The only chunk, as in most responses; it is not copied. */
  #only: Buffer | undefined;
  readonly #gathered = new GatheredBytes();
  #timer: NodeJS.Timeout | undefined;
  #unsentTimer: NodeJS.Timeout | undefined;
  readonly #forget: (() => void)[] = [];
  #controller: CallController | undefined;
  #status = 0;
  #retryAfter: string | undefined;
  #date: string | undefined;
  #bytes = 0;
  /** From here on the outcome is unknown to us. */
  #isSent = false;
  /** Whether the promise has been settled. */
  ended = false;

  constructor(bounds: CallBounds, resolve: (answer: Answer) => void, reject: (error: unknown) => void) {
    this.#bounds = bounds;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#wait(bounds.timeoutMs);
  }

  /** `ms` is what is left of the call's own time. A fence that ends earlier is checked again then. */
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
    if (signal !== undefined) this.#forget.push(onAbort(signal, () => this.#end(signal.reason)));
    const { connectTimeout } = this.#bounds;
    if (connectTimeout === undefined || this.ended) return;
    this.#forget.push(onAbort(connectTimeout.signal, () => this.#endUnsent(connectTimeout.signal.reason)));
    if (!this.ended) this.#startUnsentTimer(connectTimeout.ms);
  }

  #startUnsentTimer(ms: number): void {
    this.#unsentTimer = setTimeout(() => this.#endUnsent(new DeadlineError(ms)), ms);
  }

  #endUnsent(reason: unknown): void {
    if (!this.#isSent) this.#end(new UnsentError(reason));
  }

  /** The last moment before the request is written. */
  onRequestStart(controller: CallController): void {
    this.#controller = controller;
    if (this.ended) controller.abort(new Error('the call has ended'));
    else if (this.#bounds.fence?.holds() === false) this.#end(new NotLeaderError(this.#bounds.fence));
    else this.#isSent = true;
  }

  onResponseStart(
    _controller: CallController, status: number,
    headers: Readonly<Record<string, number | string | string[] | undefined>>,
  ): void {
    if (status < 200) return;
    this.#status = status;
    const { 'retry-after': retryAfter, date } = headers;
    this.#retryAfter = typeof retryAfter === 'string' ? retryAfter : undefined;
    this.#date = typeof date === 'string' ? date : undefined;
  }

  onResponseData(_controller: CallController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#bounds.maxBytes) return this.#end(tooLong(this.#bounds.maxBytes));
    if (this.#bytes === chunk.length) {
      this.#only = chunk;
      return;
    }
    if (this.#only !== undefined) this.#gathered.add(this.#only);
    this.#only = undefined;
    this.#gathered.add(chunk);
  }

  /** From here on the call waits for a connection again. */
  onRefused(): void {
    this.#isSent = false;
    const { connectTimeout } = this.#bounds;
    if (this.ended || connectTimeout === undefined) return;
    clearTimeout(this.#unsentTimer);
    if (connectTimeout.signal.aborted) this.#endUnsent(connectTimeout.signal.reason);
    else this.#startUnsentTimer(connectTimeout.ms);
  }

  onResponseEnd(): void {
    if (this.ended) return;
    this.#settle();
    this.#resolve({
      status: this.#status, retryAfter: this.#retryAfter, date: this.#date, body: this.#only ?? this.#gathered.take(),
    });
  }

  onResponseError(_controller: CallController, error: Error): void {
    if (this.ended) return;
    this.#settle();
    this.#reject(this.#isSent ? error : new UnsentError(error));
  }

  #end(reason: unknown): void {
    if (this.ended) return;
    this.#settle();
    this.#controller?.abort(reason instanceof Error ? reason : new Error(String(reason)));
    this.#reject(reason instanceof DeadlineError && !this.#isSent ? new UnsentError(reason) : reason);
  }

  #settle(): void {
    this.ended = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#unsentTimer);
    for (const forget of this.#forget) forget();
  }
}

/**
 * Whether the server, or a proxy before it, closed the connection without a response, as it may do at any time to an
 * idle one.
 */
export function isBrokenConnection(thrown: unknown): boolean {
  const error = thrown instanceof UnsentError ? thrown.cause : thrown;
  return error instanceof errors.SocketError || error instanceof BrokenStreamError
    || (error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE'));
}

// Calls over the HTTP/2 session of the watches, as long as few are made. An idle target then needs no connection for
// calls: with a thousand targets, a burst would open a thousand of them. Under load the pool's connections are cheaper.
import { constants, type ClientHttp2Stream } from 'node:http2';
import type { Pool } from 'undici';
import { SilenceError } from '../connect/silence.ts';
import { toStreamHeaders } from './call-request.ts';
import { BrokenStreamError, type CallHandler, type CallPath, type CallRequest } from './pending-call.ts';
import type { OpenedSession, WatchSession } from './watch-session.ts';

/** Calls in flight on the session; with more the pool opens connections, which take all calls while they live. */
const MOST_CALLS = 4;

/** What it sends over. */
export interface SessionCallsOptions {
  readonly pool: Pool;
  /** The last session, which may still be opening; undefined when none was asked for. Opens none. */
  readonly session: () => Promise<OpenedSession> | undefined;
  /** Patience with a ping in ms, the same as with a new connection. */
  readonly pingTimeoutMs: number;
}

/** Sends each call over the session or the pool. */
export class SessionCalls implements CallPath {
  readonly #options: SessionCallsOptions;
  #inFlight = 0;
  /** Connections of the pool; its own count looks at all of them. */
  #connected = 0;

  constructor(options: SessionCallsOptions) {
    this.#options = options;
    options.pool.on('connect', () => (this.#connected += 1));
    options.pool.on('disconnect', () => (this.#connected -= 1));
  }

  dispatch(request: CallRequest, handler: CallHandler): void {
    const { pool, session } = this.#options;
    const opening = session();
    if (opening === undefined || this.#inFlight >= MOST_CALLS || this.#connected > 0) {
      pool.dispatch(request, handler);
      return;
    }
    this.#inFlight += 1;
    const ended = (): void => void (this.#inFlight -= 1);
    this.#send(opening, request, handler).then(ended, (error: unknown) => {
      ended();
      handler.onResponseError(NO_EXCHANGE, error as Error);
    });
  }

  /** Resolves when the exchange has ended, or was left to the pool. Throws when nothing was sent. */
  async #send(
    opening: Promise<OpenedSession>, request: CallRequest, handler: CallHandler,
  ): Promise<void> {
    const opened = await opening;
    if (opened.kind === 'h1' || !opened.session.reserve()) return this.#leaveToPool(request, handler);
    const { session } = opened;
    // A call that was written to a dead connection has an unknown outcome; one that waits for a connection has not.
    if (!(await session.isLive(this.#options.pingTimeoutMs))) {
      session.release();
      if (session.ended) return this.#leaveToPool(request, handler);
      throw new SilenceError('the connection did not answer a ping in time');
    }
    if (await exchange(session, request, handler) === 'refused') this.#leaveToPool(request, handler);
  }

  #leaveToPool(request: CallRequest, handler: CallHandler): void {
    this.#options.pool.dispatch(request, handler);
  }
}

const NO_EXCHANGE = { abort: (): void => undefined };

/** Ends a call's stream, or keeps it from being opened. */
class StreamController {
  stream: ClientHttp2Stream | undefined;
  isAborted = false;

  abort(): void {
    this.isAborted = true;
    this.stream?.close(constants.NGHTTP2_CANCEL);
  }
}

/**
 * One call in a reserved place of the session. `refused`: the server has not processed it and never will
 * (RFC 9113 §8.7), as when it is about to stop.
 */
function exchange(session: WatchSession, request: CallRequest, handler: CallHandler): Promise<'ended' | 'refused'> {
  const controller = new StreamController();
  handler.onRequestStart(controller);
  if (controller.isAborted) {
    session.release();
    return Promise.resolve('ended');
  }
  const stream = session.request(toStreamHeaders(request), request.body);
  controller.stream = stream;
  stream.once('response', (headers) => {
    session.hear();
    handler.onResponseStart(controller, headers[':status'] ?? 0, headers);
  });
  stream.on('data', (chunk: Buffer) => handler.onResponseData(controller, chunk));
  return new Promise((resolve) => {
    let broke: Error | undefined;
    stream.once('error', (error: Error) => (broke = error));
    stream.once('close', () => {
      const { rstCode, readableEnded } = stream;
      if (rstCode === constants.NGHTTP2_REFUSED_STREAM && !controller.isAborted) return resolve('refused');
      if (broke === undefined && rstCode === constants.NGHTTP2_NO_ERROR && readableEnded) handler.onResponseEnd();
      else handler.onResponseError(controller, new BrokenStreamError(broke));
      resolve('ended');
    });
  });
}

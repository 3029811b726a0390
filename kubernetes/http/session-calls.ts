// Calls over the HTTP/2 session of the watches, as long as few are made. An idle target then needs no connection for
// calls: with a thousand targets, a burst would open a thousand of them. Under load the pool's connections are cheaper.
import { constants, type ClientHttp2Stream } from 'node:http2';
import type { Pool } from 'undici';
import { toStreamHeaders } from './call-request.ts';
import { BrokenStreamError, type CallHandler, type CallPath, type CallRequest } from './pending-call.ts';
import type { OpenedSession, WatchSession } from './watch-session.ts';

/**
 * Calls in flight on the session; with more the pool opens connections, which take all calls while they live. A source
 * that starts has five to each target.
 */
const MOST_CALLS = 8;
/** Longest wait for a ping in ms: its answer may come behind much watch data, and a new connection has none. */
const PING_MS = 500;

/** `refused`: the server has not seen the call, or not processed it, and never will. */
type Outcome = 'ended' | 'refused';

/** Sends each call over the session or the pool. */
export class SessionCalls implements CallPath {
  readonly #makePool: () => Pool;
  #pool: Pool | undefined;
  readonly #session: () => Promise<OpenedSession> | undefined;
  #inFlight = 0;
  /** Number of the pool's connections; its own counter would iterate over all of them. */
  #connected = 0;
  #isClosed = false;
  /** Hears that no call is in flight on the session. */
  #noneInFlight: () => void = () => undefined;

  /**
   * `makePool` is called when there is a call for a pool and no pool: its queue takes 20 kB. `session` gives the last
   * session, which may still be opening; undefined when none was asked for.
   */
  constructor(makePool: () => Pool, session: () => Promise<OpenedSession> | undefined) {
    [this.#makePool, this.#session] = [makePool, session];
  }

  dispatch(request: CallRequest, handler: CallHandler): void {
    const opening = this.#session();
    if (opening === undefined || this.#inFlight >= MOST_CALLS || this.#connected > 0) {
      this.#openPool().dispatch(request, handler);
      return;
    }
    this.#inFlight += 1;
    void this.#send(opening, request, handler).finally(() => {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#noneInFlight();
    });
  }

  /** The pool ends with the last call in flight, also of those that the session may leave to it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#noneInFlight = resolve));
    await this.#openPool().close();
  }

  /** Ends the pool and its calls at once; calls after that fail. */
  destroy(): Promise<void> {
    this.#isClosed = true;
    return this.#openPool().destroy();
  }

  #openPool(): Pool {
    if (this.#pool !== undefined) return this.#pool;
    const pool = this.#makePool();
    this.#pool = pool;
    pool.on('connect', () => (this.#connected += 1));
    pool.on('disconnect', () => {
      this.#connected -= 1;
      this.#dropUnused(pool);
    });
    pool.on('connectionError', () => this.#dropUnused(pool));
    return pool;
  }

  /** An idle target needs no pool: the next call for one makes another. The pool ends its calls after its event. */
  #dropUnused(pool: Pool): void {
    if (this.#connected > 0 || this.#isClosed) return;
    setImmediate(() => {
      if (this.#pool !== pool || this.#connected > 0 || this.#isClosed || pool.stats.size > 0) return;
      this.#pool = undefined;
      void pool.close();
    });
  }

  /** What the session cannot have is left to the pool, which finds out whether the server is there. */
  async #send(opening: Promise<OpenedSession>, request: CallRequest, handler: CallHandler): Promise<void> {
    const opened = await opening.catch(() => undefined);
    const outcome = opened?.kind === 'h2' && opened.session.reserve()
      ? await sendOver(opened.session, request, handler)
      : 'refused';
    if (outcome === 'refused') this.#openPool().dispatch(request, handler);
  }
}

/**
 * One call in a reserved place. A call that was written to a dead connection has an unknown outcome, and one that waits
 * for a connection has not: so the session shows first that it is alive.
 */
async function sendOver(session: WatchSession, request: CallRequest, handler: CallHandler): Promise<Outcome> {
  if ((await session.isLive(PING_MS)) && !session.ended) return exchange(session, request, handler);
  session.release();
  return 'refused';
}

/** Ends a call's stream, or keeps it from being opened. */
class StreamController {
  stream: ClientHttp2Stream | undefined;
  isAborted = false;

  abort(): void {
    this.isAborted = true;
    this.stream?.close(constants.NGHTTP2_CANCEL);
  }
}

async function exchange(session: WatchSession, request: CallRequest, handler: CallHandler): Promise<Outcome> {
  const controller = new StreamController();
  handler.onRequestStart(controller);
  if (controller.isAborted) {
    session.release();
    return 'ended';
  }
  controller.stream = openedStream(session, request);
  controller.stream?.once('response', () => session.noteAnswer());
  const outcome = controller.stream === undefined
    ? 'refused'
    : await answered(controller.stream, controller, handler);
  if (outcome === 'refused') handler.onRefused();
  return outcome;
}

/** Undefined where the session has just begun to end. */
function openedStream(session: WatchSession, request: CallRequest): ClientHttp2Stream | undefined {
  try {
    return session.request(toStreamHeaders(request), request.body);
  } catch {
    return undefined;
  }
}

/** A server that refuses a stream before it has answered has not processed the request (RFC 9113 §8.7). */
function answered(stream: ClientHttp2Stream, controller: StreamController, handler: CallHandler): Promise<Outcome> {
  let [hasBegun, broke]: [boolean, Error | undefined] = [false, undefined];
  stream.once('response', (headers) => {
    hasBegun = true;
    handler.onResponseStart(controller, headers[':status'] ?? 0, headers);
  });
  stream.on('data', (chunk: Buffer) => handler.onResponseData(controller, chunk));
  stream.once('error', (error: Error) => (broke = error));
  return new Promise((resolve) => {
    stream.once('close', () => {
      const { rstCode, readableEnded } = stream;
      if (rstCode === constants.NGHTTP2_REFUSED_STREAM && !hasBegun && !controller.isAborted) return resolve('refused');
      if (broke === undefined && rstCode === constants.NGHTTP2_NO_ERROR && readableEnded) handler.onResponseEnd();
      else handler.onResponseError(controller, new BrokenStreamError(broke));
      resolve('ended');
    });
  });
}

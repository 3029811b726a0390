// One HTTP/2 session over one TLS connection to a peer. The end that opens streams is the HTTP/2 client, whichever end
// dialled. A session is open once a ping was answered: a TLS 1.3 handshake alone does not prove that the peer accepts
// our certificate.
import {
  connect, constants, performServerHandshake, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders,
  type ServerHttp2Session, type ServerHttp2Stream,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { onAbort } from '../../kubernetes/flow/abort.ts';
import type { TrafficClass } from '../protocol/cable-driver.ts';
import { toFailure, toRefusal, type Failure } from '../protocol/failure-cause.ts';
import { destroyOutsideFrames, SessionEnd } from './session-end.ts';
import type { KnownPeer } from './tls-identity.ts';
import {
  SESSION_MEMORY_MIB, SESSION_WINDOW, STREAM_WINDOW, type Purpose, type TunnelLimits,
} from '../protocol/tunnel-protocol.ts';
import { unblocked, type Unsent } from './unblocked-socket.ts';
import { unmapped } from '../../model/network/socket-address.ts';

/** What a session is made of. */
export interface SessionParts {
  readonly socket: TLSSocket;
  readonly peer: KnownPeer;
  readonly purpose: Purpose;
  /** Whether this end dialled. */
  readonly isDialer: boolean;
  readonly limits: TunnelLimits;
  /** What all sessions of the peer hold unsent. */
  readonly unsent: Unsent;
  /** Called for each stream that the peer opens. */
  readonly serve: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, session: TunnelSession) => void;
}

/** Notified of session events; carries no peer data. */
export interface SessionListener {
  readonly opened?: () => void;
  readonly roundTrip?: (ms: number) => void;
  /** The peer accepts no new streams on it: another session is needed. */
  readonly draining?: () => void;
  /** Told once. */
  readonly ended?: (failure: Failure) => void;
}

/** The peer rejected the stream. */
export class StreamRefusedError extends Error {
  override readonly name = 'StreamRefusedError';
  /** HTTP status for the client. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** The peer has not processed the stream, because its session is ending (RFC 9113 §8.7): retry on another session. */
export class StreamNotTakenError extends StreamRefusedError {
  constructor() {
    super('the gateway connection is being replaced', 503);
  }
}

/** Header with the remote gateway's reason for a rejection. */
export const REASON_HEADER = 'isthmus-reason';

/** Flush timeout of a closing session in ms: its peer may have stopped reading. */
const LAST_WORDS_MS = 1_000;

/** A session to a peer. */
export class TunnelSession {
  readonly peer: KnownPeer;
  readonly lane: TrafficClass;
  readonly purpose: Purpose;
  /** Whether this end opens streams. */
  readonly opensStreams: boolean;
  readonly remoteAddress: string;
  readonly #session: ClientHttp2Session | ServerHttp2Session;
  readonly #client: ClientHttp2Session | undefined;
  readonly #end: SessionEnd;
  readonly #socket: TLSSocket;
  readonly #limits: TunnelLimits;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #listeners: SessionListener[] = [];
  #isOpen = false;
  #isDraining = false;
  #failure: Failure | undefined;
  #bytesSeen = 0;
  #missedPings = 0;
  #pingIsOut = false;

  constructor({ socket, peer, purpose, isDialer, limits, unsent, serve }: SessionParts) {
    this.peer = peer;
    this.purpose = purpose;
    this.lane = purpose.lane;
    this.opensStreams = isDialer === (purpose.dialer === 'open');
    this.remoteAddress = unmapped(socket.remoteAddress ?? '');
    this.#socket = socket;
    this.#limits = limits;
    socket.setNoDelay(true);
    if (this.opensStreams) this.#session = this.#client = clientSession(socket);
    else {
      const session = serverSession(unblocked(socket, unsent), limits);
      session.on('stream', (stream, headers) => {
        stream.on('error', () => undefined); // its close is what counts
        this.#end.count(stream);
        if (this.isUsable) serve(stream, headers, this);
        else stream.close(constants.NGHTTP2_REFUSED_STREAM);
      });
      this.#session = session;
    }
    this.#end = new SessionEnd(this.#session);
    this.#watch(limits);
  }

  /** Adds a listener. */
  listen(listener: SessionListener): void {
    this.#listeners.push(listener);
  }

  /** Whether new streams may use it. */
  get isUsable(): boolean {
    return this.#isOpen && !this.#isDraining && !this.#end.isFinishing && !this.#session.destroyed;
  }

  /** Bytes of the TLS connection, and of its streams. */
  get bytes(): { readonly rx: number; readonly tx: number } {
    return { rx: this.#socket.bytesRead, tx: this.#socket.bytesWritten };
  }

  /**
   * Opens a stream to a service of the peer.
   * @throws StreamNotTakenError when another session may be tried; StreamRefusedError when the peer rejects it or does
   * not respond in time; the signal's reason.
   */
  async openStream(service: string, signal: AbortSignal): Promise<ClientHttp2Stream> {
    const client = this.#client;
    if (client === undefined || !this.isUsable) throw new StreamNotTakenError();
    signal.throwIfAborted();
    const stream = client.request({ ':method': 'CONNECT', ':authority': `${service}:443` });
    this.#end.count(stream);
    const status =
      await statusOf(stream, this.#limits.serviceMs + this.#limits.pingEveryMs, signal).catch((error: unknown) => {
      if (error instanceof StreamNotTakenError) this.#isDraining = true;
      destroyOutsideFrames(stream);
      throw error;
    });
    if (status.code === 200) return stream;
    destroyOutsideFrames(stream);
    throw new StreamRefusedError(status.reason, status.code === 403 ? 403 : 502);
  }

  /** Drains: accepts no new streams, and open ones may continue for this long. */
  drain(ms: number): void {
    // The limit also applies to a session that the peer drains already: its own may be longer, or missing.
    this.#isDraining = true;
    this.#end.finish();
    this.#timers.push(setTimeout(() => this.destroy({ cause: 'closed', message: 'the session was drained' }), ms));
  }

  /** Closes the session and all its streams, once no frame is being read; the peer gets the reason. */
  destroy(failure: Failure): void {
    this.#failure ??= failure;
    this.#isDraining = true;
    const words = Buffer.from(`${failure.cause}: ${failure.message}`.slice(0, 220));
    this.#end.destroy(words, () => this.#leave());
  }

  // --- life

  #watch(limits: TunnelLimits): void {
    const session = this.#session;
    session.on('error', (error: Error & { readonly code?: string }) => {
      this.#failure ??= toFailure(error, this.remoteAddress);
    });
    session.on('goaway', (_code, _last, words?: Uint8Array) => {
      if (words !== undefined && words.length > 0) this.#failure ??= toRefusal(Buffer.from(words).toString('latin1'));
      this.#isDraining = true;
      for (const listener of this.#listeners) listener.draining?.();
    });
    session.once('close', () => this.#ended());
    this.#socket.once('error', (error: Error & { readonly code?: string }) => {
      this.#failure ??= toFailure(error, this.remoteAddress);
      this.#socket.destroy(); // on a bare socket a session with a pending write would wait for it forever
    });
    this.#socket.once('close', () => session.destroy());
    this.#timers.push(
      setTimeout(
        () => this.#isOpen || this.destroy(
          { cause: 'protocol', message: `${this.remoteAddress}: no HTTP/2 answer in time` },
        ),
        limits.handshakeMs,
      ),
      setInterval(() => this.#look(), limits.pingEveryMs),
    );
    session.once('remoteSettings', () => setImmediate(() => this.#ping()));
  }

  #look(): void {
    const { bytesRead } = this.#socket;
    this.#missedPings = bytesRead === this.#bytesSeen ? this.#missedPings + 1 : 0;
    this.#bytesSeen = bytesRead;
    if (Date.now() >= this.peer.notAfterMs) return this.destroy(
      { cause: 'certificate', message: `${this.remoteAddress}: the peer's certificate has expired` },
    );
    if (this.#missedPings * this.#limits.pingEveryMs >= this.#limits.deadAfterMs) {
      return this.destroy({
        cause: 'unreachable',
        message: `${this.remoteAddress}: no answer any more; the peer is down, or cannot be reached`,
      });
    }
    this.#ping();
  }

  #ping(): void {
    if (this.#pingIsOut || this.#session.destroyed || this.#end.isFinishing) return;
    this.#pingIsOut = true;
    this.#session.ping((error, ms) => {
      this.#pingIsOut = false;
      if (error !== null) return;
      if (!this.#isOpen && !this.#isDraining) {
        this.#isOpen = true;
        for (const listener of this.#listeners) listener.opened?.();
      }
      for (const listener of this.#listeners) listener.roundTrip?.(ms);
    });
  }

  /** Releases the connection; the last frames may still be flushed for a moment. */
  #leave(): void {
    this.#socket.destroySoon();
    setTimeout(() => this.#socket.destroy(), LAST_WORDS_MS).unref();
  }

  #ended(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#leave();
    const failure = this.#failure ?? { cause: 'closed', message: `${this.remoteAddress}: the connection ended` };
    for (const listener of this.#listeners.splice(0)) listener.ended?.(failure);
  }
}

/** On the bare socket: its writes may block, and reads with them, which is safe because the other end always reads. */
function clientSession(socket: TLSSocket): ClientHttp2Session {
  const session = connect('https://peer', {
    createConnection: () => socket, maxSessionMemory: SESSION_MEMORY_MIB,
    settings: { initialWindowSize: STREAM_WINDOW, enablePush: false },
  });
  session.once('connect', () => {
    if (!session.destroyed) session.setLocalWindowSize(SESSION_WINDOW);
  });
  session.on('stream', (stream) => setImmediate(() => stream.close(constants.NGHTTP2_REFUSED_STREAM))); // a push
  return session;
}

/** Its writes never block, so that it always reads: one such end is enough to prevent a deadlock (ADR 0026). */
function serverSession(socket: Duplex, limits: TunnelLimits): ServerHttp2Session {
  const settings =
    { initialWindowSize: STREAM_WINDOW, maxConcurrentStreams: limits.streamsPerSession, maxHeaderListSize: 4_096 };
  const session = performServerHandshake(
    socket, { maxSessionMemory: SESSION_MEMORY_MIB, maxHeaderListPairs: 32, settings },
  );
  setImmediate(() => {
    if (!session.destroyed) session.setLocalWindowSize(SESSION_WINDOW);
  });
  return session;
}

/** The response status with its reason; throws when there is none. */
function statusOf(
  stream: ClientHttp2Stream, timeoutMs: number, signal: AbortSignal,
): Promise<{ readonly code: number; readonly reason: string }> {
  return new Promise((resolve, reject) => {
    const refused = new StreamRefusedError('the remote gateway does not answer', 504);
    const timer = setTimeout(() => reject(refused), timeoutMs);
    const forget = onAbort(signal, () => reject(signal.reason as Error));
    stream.once('response', (headers) => {
      const reason = headers[REASON_HEADER];
      resolve({
        code: headers[':status'] ?? 0,
        reason: typeof reason === 'string' ? reason.slice(0, 300) : 'the remote gateway refused',
      });
    });
    const broken = (message: string) =>
      (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ? new StreamNotTakenError() : new StreamRefusedError(
        message, 502,
      ));
    stream.on('error', (error: Error) => reject(broken(`the gateway connection broke: ${error.message}`)));
    stream.once('close', () => {
      clearTimeout(timer);
      forget();
      reject(broken('the gateway connection broke before the remote gateway answered'));
    });
    stream.once('response', () => {
      clearTimeout(timer);
      forget();
    });
  });
}

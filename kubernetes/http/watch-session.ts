// One HTTP/2 session for all watches of a cluster, and for calls while they are few. Pings find a dead connection
// within half a minute without ending quiet watches (as client-go: 30 s and 15 s). Why not undici: it does not act on
// unanswered pings (ADR 0004).
import {
  connect as connectSession, constants, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { secureSocket, type TlsOptions } from '../connect/secure-socket.ts';
import { isSilence, SilenceError } from '../connect/silence.ts';
import type { Headers } from '../credentials/resolved-credentials.ts';
import { untilCommonTick } from '../flow/common-tick.ts';

/** Timings of a session in ms. */
export interface SessionTimings {
  readonly connectTimeoutMs: number;
  /** Interval of HTTP/2 pings. */
  readonly pingAfterMs: number;
  /** A ping that is unanswered for this long ends the session. */
  readonly pingTimeoutMs: number;
}

/**
 * Flow-control windows in bytes: one slow reader must not block the others. What a stream may send unread waits in
 * memory, and of what waited at a start, when all targets send their lists at once, the allocator returns little. A
 * stream gets one window in each round trip, so those of a far server are wider.
 */
const STREAM_WINDOW = { near: 256 << 10, far: 1 << 20 };
/**
 * From this round trip in ms on a server is far. Only what the event loop idled of it counts: in a process that starts
 * on many lists, each answer waits for hundreds of milliseconds until it is read, and every server would be far.
 */
const FAR_MS = 40;
const SESSION_WINDOW = 16 << 20;

/**
 * Streams in one session. API servers allow 250, proxies before them often 100; a stream beyond what a server allows
 * would wait for another one to end, as a watch does after minutes.
 */
const MOST_STREAMS = 100;

/**
 * One of so many pings comes apart from the others: a ping among hundreds waits for them, and shows no round trip. The
 * first one does: what was measured while the session opened is too long where many others opened as well.
 */
const APART_EVERY = 3;

/** Within so many ms after the last answer to a ping or a call, a session needs no ping before a call. */
const LIVE_MS = 1_000;

/** A new connection: its server speaks HTTP/2 or does not. */
export type OpenedSession = { readonly kind: 'h2'; readonly session: WatchSession } | { readonly kind: 'h1' };

/** Connects and offers HTTP/2. Throws the connection's error, or a timeout. */
export async function openWatchSession(server: URL, tls: TlsOptions, timings: SessionTimings): Promise<OpenedSession> {
  const socket =
    await secureSocket(server, tls, { timeoutMs: timings.connectTimeoutMs, protocols: ['h2', 'http/1.1'] });
  if (socket.alpnProtocol === 'h2') return { kind: 'h2', session: new WatchSession(server, socket, timings) };
  socket.destroy();
  return { kind: 'h1' };
}

/** A session that is open until {@link ended}. */
export class WatchSession {
  readonly #session: ClientHttp2Session;
  readonly #socket: TLSSocket;
  readonly #timings: SessionTimings;
  #timer: NodeJS.Timeout;
  #bytesSeen = 0;
  #pingSentAt: number | undefined;
  #pings = 0;
  #asked: Promise<boolean> | undefined;
  /** Called with the round-trip time of each regular ping, in ms. */
  onRoundTrip: (ms: number) => void = () => undefined;
  /** Hears that a ping was answered which a caller waited for: those come too often to be samples. */
  onAnswer: () => void = () => undefined;
  /** Hears that the other side has ended the connection; one that was found to be dead is ended by us. */
  onRefused: () => void = () => undefined;
  /** Hears that it has ended, by whomever. */
  onEnd: () => void = () => undefined;
  /** It was ended by this process, or by the kernel after silence. */
  #isOver = false;
  /** It is destroyed in a moment. */
  #isEnding = false;
  /** Streams that are open, and places that were reserved for one. */
  #places = 0;
  #isLeft = false;
  #isWide = false;
  /** The last answer to a ping or a call, in ms of a monotonic clock. */
  #heardAt = -Infinity;

  constructor(server: URL, socket: TLSSocket, timings: SessionTimings) {
    this.#socket = socket;
    this.#timings = timings;
    this.#session = connectSession(server.origin, {
      createConnection: () => socket, settings: { initialWindowSize: STREAM_WINDOW.near, enablePush: false },
    });
    this.#session.once('connect', () => {
      if (!this.ended) this.#session.setLocalWindowSize(SESSION_WINDOW); // throws on a destroyed session
    });
    this.#session.on('error', (error) => (this.#isOver ||= isSilence(error))); // also reported by each stream
    this.#timer = setTimeout(() => this.#tick(), this.#untilPing());
    this.#session.once('connect', () => setImmediate(() => this.#look())); // measures the round trip at the start
    this.#session.once('close', () => {
      clearTimeout(this.#timer);
      this.onEnd();
      if (!this.#isOver) this.onRefused();
    });
  }

  /** Whether no more streams can be opened: closed, or draining (GOAWAY). */
  get ended(): boolean {
    return this.#isEnding || this.#session.closed || this.#session.destroyed;
  }

  /** Reserves a place for a stream; false when there is none. It must be used or given back. */
  reserve(): boolean {
    if (this.ended || this.#isLeft || this.#places >= Math.min(MOST_STREAMS, this.#mostAllowed)) return false;
    this.#places += 1;
    return true;
  }

  /** Gives back a reserved place. */
  release(): void {
    this.#places -= 1;
    this.#endIfLeft();
  }

  /** Opens a stream in a reserved place; its response follows. */
  request(headers: Headers, body?: string): ClientHttp2Stream {
    try {
      if (this.#isEnding) throw new Error('the session has ended');
      const stream = this.#session.request({ ...headers }, { endStream: body === undefined });
      cancelWhenDestroyed(stream);
      stream.once('close', () => this.release());
      if (body !== undefined) stream.end(body);
      return stream;
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** No more streams are opened in it: it ends with its last one. */
  leave(): void {
    this.#isLeft = true;
    this.#endIfLeft();
  }

  #endIfLeft(): void {
    if (this.#isLeft && this.#places === 0 && !this.#isEnding) this.destroy(new Error('no stream is left'));
  }

  /** What the server allows, once it has said so. */
  get #mostAllowed(): number {
    return this.ended ? 0 : (this.#session.remoteSettings.maxConcurrentStreams ?? Infinity);
  }

  /** Whether the server has answered something a moment ago, or answers a ping in time. */
  async isLive(ms: number): Promise<boolean> {
    return (!this.ended && performance.now() - this.#heardAt < LIVE_MS) || this.answersWithin(ms);
  }

  /** The server has answered something. */
  noteAnswer(): void {
    this.#heardAt = performance.now();
  }

  /** Whether the server answers a ping in time. The session continues in any case: it may only be slow. */
  async answersWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => setTimeout(() => setImmediate(() => resolve(false)), 1), ms);
    });
    return Promise.race([(this.#asked ??= this.#ask()), late]).finally(() => clearTimeout(timer));
  }

  /** One ping for all concurrent callers: a session allows few at a time. */
  #ask(): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.ended) return resolve(false);
      this.#session.ping((error) => {
        this.#asked = undefined;
        if (error === null) {
          this.noteAnswer();
          this.onAnswer();
        }
        resolve(error === null);
      });
    });
  }

  /**
   * Ends the session and all its streams, once the frame is read which is being read now: Node would send at once (see
   * {@link cancelWhenDestroyed}). Its connection is ended with it: a session that has begun to close would leave it
   * open for as long as the server does.
   */
  destroy(reason: Error): void {
    this.#isOver = true;
    this.#isEnding = true;
    setImmediate(() => {
      this.#session.destroy(reason, constants.NGHTTP2_CANCEL);
      this.#socket.destroy();
    });
  }

  /** Sessions are pinged at common times, mostly. */
  #tick(): void {
    this.#timer = setTimeout(() => this.#tick(), this.#untilPing());
    this.#look();
  }

  #untilPing(): number {
    this.#pings += 1;
    const before = this.#pings % APART_EVERY === 1 ? Math.random() : 0;
    return untilCommonTick(this.#timings.pingAfterMs, performance.now(), before);
  }

  /**
   * Runs every `pingAfterMs`. An unanswered ping ends the session, unless other bytes prove that the connection lives.
   */
  #look(): void {
    if (this.#pingSentAt !== undefined || this.ended) return;
    const sentAt = performance.now();
    const worked = performance.eventLoopUtilization();
    this.#bytesSeen = this.#socket.bytesRead;
    this.#pingSentAt = sentAt;
    // After a pause of the process the timer fires before the pong is read: one more loop iteration reads it.
    const timer =
      setTimeout(() => setTimeout(() => setImmediate(() => this.#judge(sentAt)), 1), this.#timings.pingTimeoutMs);
    this.#session.ping((error, durationMs) => {
      clearTimeout(timer);
      if (this.#pingSentAt === sentAt) this.#pingSentAt = undefined;
      if (error === null) {
        this.noteAnswer();
        this.#widen(performance.eventLoopUtilization(worked).idle);
        this.onRoundTrip(durationMs);
      }
      if (error !== null && !this.ended) this.destroy(error);
    });
  }

  /** Streams that are open get the wider window as well (RFC 9113 §6.9.2). */
  #widen(idleMs: number): void {
    if (this.#isWide || this.ended || idleMs < FAR_MS) return;
    this.#isWide = true;
    this.#session.settings({ initialWindowSize: STREAM_WINDOW.far });
  }

  #judge(sentAt: number): void {
    if (this.#pingSentAt !== sentAt) return;
    this.#pingSentAt = undefined;
    if (this.#socket.bytesRead === this.#bytesSeen) {
      this.destroy(new SilenceError('the connection is dead: a ping was not answered'));
    }
  }
}

/**
 * Makes a stream that is destroyed end with CANCEL. With any other code Node sends at once what is queued, also while
 * nghttp2 reads a frame; where several streams end within one frame, nghttp2 then goes on with one that was freed, and
 * memory is corrupted (nodejs/node#64113, not fixed in Node 20). A server could bring that about: one object over a
 * limit ends all of its watches.
 */
function cancelWhenDestroyed(stream: ClientHttp2Stream): void {
  const destroy = stream.destroy.bind(stream);
  stream.destroy = (error?: Error) => {
    if (!stream.pending && !stream.destroyed) stream.close(constants.NGHTTP2_CANCEL);
    return destroy(error);
  };
}

/** Waits for the response headers of a stream. Throws what ended the stream before. */
export function responseOf(stream: ClientHttp2Stream): Promise<IncomingHttpHeaders & { readonly ':status'?: number }> {
  return new Promise((resolve, reject) => {
    stream.once('response', resolve);
    stream.once('error', reject);
    stream.once('close', () => reject(new Error('the connection was closed before an answer')));
  });
}

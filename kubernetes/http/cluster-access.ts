// Connections to one API server under one set of credentials: a pool for calls and HTTP/2 sessions for watches.
// Rotated credentials make a new access; the old one finishes its calls and ends its watches, which resume on the new
// one.
import type { LookupFunction, Socket } from 'node:net';
import { Pool, type buildConnector, type Dispatcher } from 'undici';
import { CALLS_IN_FLIGHT } from './in-flight-limiter.ts';
import { dialThroughGateway, type GatewayTrafficClass } from '../connect/gateway-dialer.ts';
import { guardedLookup, refuseLiteral, type MayDial } from '../connect/guarded-dial.ts';
import { poolConnector } from '../connect/pool-connector.ts';
import type { CallPath } from './pending-call.ts';
import type { ClusterConnection } from '../credentials/kubeconfig.ts';
import type { Headers, ResolvedCredentials } from '../credentials/resolved-credentials.ts';
import { dialThroughProxy } from '../connect/proxy-dialer.ts';
import {
  parsedOnce, plainSocket, secureSocket, type TlsCertificates, type TlsOptions,
} from '../connect/secure-socket.ts';
import { SessionCalls } from './session-calls.ts';
import { openWatchSession, type OpenedSession, type SessionTimings, type WatchSession } from './watch-session.ts';

/** Timings of a transport in ms; tests shorten them. */
export interface TransportTimings extends SessionTimings {
  /** Deadline of a call, and of opening a watch. */
  readonly callTimeoutMs: number;
  /** Interval at which credentials and kubeconfigs are checked for changes. */
  readonly credentialsMaxAgeMs: number;
  /** Over HTTP/1.1, which has no pings, a watch that is silent for longer than this counts as dead. */
  readonly silenceMs: number;
  /**
   * A watch over HTTP/2 that is silent for longer than this counts as dead although pings are answered: a proxy may
   * answer them. Bookmarks come every minute.
   */
  readonly watchSilenceMs: number;
}

/**
 * Production defaults: a dead watch is noticed within 30 s over HTTP/2 (the ping before it, the next ping, its timeout)
 * and 45 s over HTTP/1.1.
 */
export const TRANSPORT_TIMINGS: TransportTimings = {
  callTimeoutMs: 15_000,
  connectTimeoutMs: 5_000,
  credentialsMaxAgeMs: 5_000,
  pingAfterMs: 10_000,
  pingTimeoutMs: 10_000,
  silenceMs: 45_000,
  watchSilenceMs: 85_000,
};

/** Callbacks for events of the session for watches. */
export interface SessionListener {
  /** A ping was answered after so many ms. */
  roundTrip(ms: number): void;
  /** The other side has ended the session. */
  refused(): void;
  /** A ping was answered that a caller waited for. */
  answered(): void;
}

const NOBODY: SessionListener = { roundTrip: () => undefined, refused: () => undefined, answered: () => undefined };
/**
 * Connections beyond those for calls that wait for a slot, for calls that never wait: a Lease renewal finds one at once
 * even while many pod conditions are written.
 */
const URGENT_CONNECTIONS = 72;
const CALL_CONNECTIONS = CALLS_IN_FLIGHT + URGENT_CONNECTIONS;

/** The watch was closed by this process because its credentials were replaced. */
export class CredentialsChangedError extends Error {
  override readonly name = 'CredentialsChangedError';

  constructor() {
    super('the credentials have changed');
  }
}

/** Connections of one set of credentials. */
export class ClusterAccess {
  /** Sends calls: over the session while they are few, else over connections of their own. */
  readonly path: CallPath & Pick<Dispatcher, 'close' | 'destroy'>;
  /** Headers that say who calls, and whom it acts as. */
  readonly identity: Headers;
  /** Base path of the API, without a trailing slash. */
  readonly basePath: string;
  /**
   * Aborted with {@link CredentialsChangedError} when another access has replaced this one, and when all connections
   * were closed.
   */
  readonly retired = new AbortController();
  /** Host and port of the server. */
  readonly host: string;
  readonly #connection: ClusterConnection;
  /** Throws the error of an invalid PEM. */
  readonly #tls: () => TlsOptions;
  readonly #timings: TransportTimings;
  readonly #listener: SessionListener;
  /** Opens a connection through the gateway or the proxy that leads to the server; undefined where there is neither. */
  readonly #tunnel: ((lane: GatewayTrafficClass) => Promise<Socket>) | undefined;
  readonly #connect: buildConnector.connector;
  #watches: Dispatcher | undefined;
  /** The last session; earlier ones are full, or have ended. */
  #session: Promise<OpenedSession> | undefined;
  readonly #sessions = new Set<WatchSession>();

  constructor(
    connection: ClusterConnection, credentials: ResolvedCredentials, timings: TransportTimings,
    listener: SessionListener = NOBODY,
  ) {
    this.#connection = connection;
    this.#timings = timings;
    this.#listener = listener;
    this.#tls = tlsOptions(connection, certificatesOf(connection, credentials));
    this.#tunnel = tunnelOf(connection, timings.connectTimeoutMs);
    this.host = connection.server.host;
    this.basePath = connection.server.pathname.replace(/\/$/, '');
    this.identity = identityOf(credentials);
    const [tunnel, mayDial] = [this.#tunnel, mayDialOf(connection)];
    this.#connect = poolConnector(
      { dial: tunnel && (() => tunnel('calls')), mayDial }, this.#tls, timings.connectTimeoutMs,
    );
    this.path = new SessionCalls(() => this.#pool(CALL_CONNECTIONS), () => this.#session);
  }

  /** The pool for watches where there is no HTTP/2. */
  get watches(): Dispatcher {
    this.#watches ??= this.#pool(null);
    return this.#watches;
  }

  /**
   * A session for one more watch, with a place reserved for it; opened when none is live or the last one is full.
   * Throws what {@link openWatchSession} throws.
   */
  async session(): Promise<OpenedSession> {
    if (this.#connection.server.protocol !== 'https:') return { kind: 'h1' };
    let awaited: Promise<OpenedSession> | undefined;
    for (;;) {
      const last = this.#session;
      const opened = await (last === awaited ? last : last?.catch(() => undefined));
      this.retired.signal.throwIfAborted();
      if (opened !== undefined && (opened.kind === 'h1' || opened.session.reserve())) return opened;
      // The first watch that finds the session closed or full opens the next one; the others share it.
      if (this.#session === last) {
        this.#session = this.#openSession();
        opened?.session.leave();
      }
      awaited = this.#session;
    }
  }

  /** Opens the session, if there is none, so that calls before the first watch share it. A failure is that of those. */
  async open(): Promise<void> {
    if (this.#connection.server.protocol !== 'https:') return;
    this.#session ??= this.#openSession();
    await this.#session.catch(() => undefined);
  }

  /** The live session for watches, if any; opens none. */
  async openedSession(): Promise<WatchSession | undefined> {
    const opened = await this.#session?.catch(() => undefined);
    return opened?.kind === 'h2' && !opened.session.ended ? opened.session : undefined;
  }

  /**
   * A connection for one HTTP/1.1 exchange that may last for hours or be upgraded. It outlives this access.
   * @throws Error with the cause when it cannot be opened.
   */
  async dial(): Promise<Socket> {
    const { server } = this.#connection;
    const { connectTimeoutMs } = this.#timings;
    this.#refuseAddress();
    if (server.protocol !== 'https:') return plainSocket(server, connectTimeoutMs, lookupOf(this.#connection));
    const socket = await this.#tunnel?.('bulk');
    return secureSocket(server, { ...this.#tls(), ...(socket !== undefined && { socket }) }, {
      timeoutMs: connectTimeoutMs, protocols: ['http/1.1'],
    });
  }

  async #openSession(): Promise<OpenedSession> {
    const { server } = this.#connection;
    this.#refuseAddress();
    const socket = await this.#tunnel?.('calls');
    const opened =
      await openWatchSession(server, { ...this.#tls(), ...(socket !== undefined && { socket }) }, this.#timings);
    if (opened.kind === 'h1') return opened;
    opened.session.onRoundTrip = (ms) => this.#listener.roundTrip(ms);
    opened.session.onRefused = () => this.#listener.refused();
    opened.session.onAnswer = () => this.#listener.answered();
    this.#sessions.add(opened.session);
    opened.session.onEnd = () => this.#sessions.delete(opened.session);
    return opened;
  }

  /** A gateway dials on our behalf; it reaches only API servers of the clusterset. */
  #refuseAddress(): void {
    const { server, gateway } = this.#connection;
    if (gateway === undefined) refuseLiteral(server.hostname, mayDialOf(this.#connection));
  }

  /** Ends watches; the sessions and the pool end with their last call in flight. */
  retire(): void {
    this.retired.abort(new CredentialsChangedError());
    void this.#watches?.destroy();
    void this.#leave();
  }

  /** A call that waits for the session to open may still need the pool. */
  async #leave(): Promise<void> {
    await this.#session?.catch(() => undefined);
    for (const session of this.#sessions) session.leave();
    await this.path.close().catch(() => undefined);
  }

  /** Closes all connections at once. */
  async destroy(): Promise<void> {
    this.retired.abort(new Error('the transport was closed'));
    await Promise.all([this.path.destroy(), this.#endWatches()]);
  }

  async #endWatches(): Promise<void> {
    await this.#session?.catch(() => undefined);
    for (const session of this.#sessions) session.destroy(new Error('the transport was closed'));
    await this.#watches?.destroy();
  }

  #pool(connections: number | null): Pool {
    const { callTimeoutMs } = this.#timings;
    return new Pool(this.#connection.server.origin, {
      connections, keepAliveTimeout: 30_000, headersTimeout: callTimeoutMs, bodyTimeout: callTimeoutMs,
      connect: this.#connect,
    });
  }
}

/** A gateway connects to the server itself, also where there is a proxy. */
function tunnelOf(
  { server, proxy, gateway }: ClusterConnection, timeoutMs: number,
): ((lane: GatewayTrafficClass) => Promise<Socket>) | undefined {
  if (gateway !== undefined) return (lane) => dialThroughGateway(gateway, timeoutMs, lane);
  return proxy && (() => dialThroughProxy(proxy, server, timeoutMs));
}

function certificatesOf(
  { certificateAuthority }: ClusterConnection, { certificate, key }: ResolvedCredentials,
): TlsCertificates {
  return {
    ...(certificateAuthority !== undefined && { ca: certificateAuthority, allowPartialTrustChain: true }),
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
  };
}

function mayDialOf({ limits, mayDial }: ClusterConnection): MayDial | undefined {
  return limits?.mayDial ?? mayDial;
}

function lookupOf(connection: ClusterConnection): LookupFunction | undefined {
  const mayDial = mayDialOf(connection);
  return mayDial === undefined || connection.gateway !== undefined ? undefined : guardedLookup(mayDial);
}

function tlsOptions(connection: ClusterConnection, certificates: TlsCertificates): () => TlsOptions {
  const parsed = parsedOnce(certificates);
  const { insecure, serverName } = connection;
  const lookup = lookupOf(connection);
  return () => ({
    rejectUnauthorized: !insecure, secureContext: parsed(), ...(serverName !== undefined && { servername: serverName }),
    ...(lookup !== undefined && { lookup }),
  });
}

function identityOf({ token, basic, impersonation }: ResolvedCredentials): Headers {
  if (token !== undefined) return { authorization: `Bearer ${token}`, ...impersonation };
  if (basic === undefined) return { ...impersonation };
  return { authorization: `Basic ${Buffer.from(basic, 'utf8').toString('base64')}`, ...impersonation };
}

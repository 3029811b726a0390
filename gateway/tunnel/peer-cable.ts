// The connection to one peer: its sessions, whichever side dialled, and the links for those that this side dials.
// link-state.ts has the rules of a link; here they meet sockets and clocks.
import { onAbort } from '../../kubernetes/flow/abort.ts';
import type { Failure } from '../protocol/failure-cause.ts';
import { startLink, stepLink, type LinkEvent, type LinkState, type LinkStep } from '../protocol/link-state.ts';
import { dialPeer, isTranslated } from './peer-dial.ts';
import { addRoundTrip, NO_ROUND_TRIPS, toStatistics, type RoundTrips } from '../protocol/round-trip-statistics.ts';
import { CableError, type KnownPeer, type TlsIdentity } from './tls-identity.ts';
import { PURPOSES, type Purpose, type TunnelLimits } from '../protocol/tunnel-protocol.ts';
import { TunnelSession, type SessionParts } from './tunnel-session.ts';
import type { CableConnection, TrafficClass, Peer } from '../protocol/cable-driver.ts';
import { messageOf } from '../../process/errors.ts';

/** Shared by all connections of a driver. */
export interface CableEnvironment {
  readonly identity: () => TlsIdentity;
  readonly limits: TunnelLimits;
  readonly serve: SessionParts['serve'];
  /** Why a peer is rejected although its certificate is valid. */
  readonly admit: (peer: KnownPeer) => Failure | undefined;
  /** Delay before the first dial in ms: longer for the side that leaves dialling to the other. */
  readonly firstDialMs: (peer: Peer) => number;
  /** {@link PeerCable.status} may have changed. */
  readonly changed: () => void;
}

/**
 * How long a stream waits for a session of its own traffic class before it uses the other's, in ms: a redial usually
 * takes less.
 */
const OTHER_LANE_MS = 300;

const MINUTE_MS = 60_000;

/** One purpose that is dialled. */
interface Link {
  readonly purpose: Purpose;
  readonly stopped: AbortController;
  state: LinkState;
  timer: NodeJS.Timeout | undefined;
  session: TunnelSession | undefined;
}

/** A cable that is wanted. */
export class PeerCable {
  readonly #environment: CableEnvironment;
  readonly #sessions = new Set<TunnelSession>();
  readonly #waiters = new Set<() => void>();
  #peer: Peer;
  #links: readonly Link[] = [];
  #roundTrips: RoundTrips = NO_ROUND_TRIPS;
  #endedBytes = { rx: 0, tx: 0 };
  #failure: Failure | undefined;
  /**
   * When the peer's sessions ended that had never been open. Node 20 never frees these (about 30 kB each), because it
   * waits for the acknowledgement of its settings.
   */
  #brokenAt: readonly number[] = [];

  constructor(peer: Peer, environment: CableEnvironment) {
    this.#peer = peer;
    this.#environment = environment;
    this.#startLinks();
  }

  /**
   * Switches to other addresses, or replaces all sessions after our certificate was renewed: new ones open first, then
   * the old ones drain.
   */
  use(peer: Peer, drainMs: number): void {
    this.#peer = peer;
    const before = this.#links;
    this.#startLinks();
    for (const link of before) {
      this.#stopLink(link);
      const { session } = link;
      if (session === undefined) continue;
      const successor = this.#links.find(({ purpose }) => purpose === link.purpose);
      void this.#untilConnected(successor).finally(() => session.drain(drainMs));
    }
  }

  /** Accepts a session that the peer dialled. */
  accept(parts: Omit<SessionParts, 'limits' | 'serve' | 'isDialer'>): Failure | undefined {
    const { sessionsPerPeer, brokenPerMinute } = this.#environment.limits;
    if (this.#sessions.size >= sessionsPerPeer) return { cause: 'limit', message: 'too many sessions of this cluster' };
    this.#brokenAt = this.#brokenAt.filter((at) => performance.now() - at < MINUTE_MS);
    if (this.#brokenAt.length >= brokenPerMinute) return {
      cause: 'limit', message: 'too many sessions of this cluster broke before they were open; wait a minute',
    };
    const session = new TunnelSession(
      { ...parts, isDialer: false, limits: this.#environment.limits, serve: this.#environment.serve },
    );
    let wasOpen = false;
    session.listen({ opened: () => (wasOpen = true), ended: () => wasOpen || this.#noteBroken() });
    this.#adopt(session);
    return undefined;
  }

  /** The newest session over which streams of this traffic class, or of any when omitted, can be opened. */
  sessionFor(lane?: TrafficClass): TunnelSession | undefined {
    return [...this.#sessions].findLast(
      (session) => session.opensStreams && (lane === undefined || session.lane === lane) && session.isUsable,
    );
  }

  /**
   * The same, waiting for one. While the traffic class's own session is recreated, the other's is used after a moment.
   * Undefined on timeout or abort.
   */
  async untilSession(lane: TrafficClass, ms: number, signal: AbortSignal): Promise<TunnelSession | undefined> {
    const started = performance.now();
    for (;;) {
      const waited = performance.now() - started;
      const session = this.sessionFor(lane) ?? (waited >= OTHER_LANE_MS ? this.sessionFor() : undefined);
      if (session !== undefined || waited >= ms || signal.aborted) return session;
      await this.#untilChanged(waited < OTHER_LANE_MS ? OTHER_LANE_MS - waited : ms - waited, signal);
    }
  }

  /** Closes the sessions of a peer that is no longer admitted. */
  recheck(): void {
    for (const session of this.#sessions) {
      const failure = this.#environment.admit(session.peer);
      if (failure !== undefined) session.destroy(failure);
    }
  }

  /** Closes everything; with `drainMs` streams may continue for that long. */
  async close(reason: Failure, drainMs: number): Promise<void> {
    for (const link of this.#links) this.#stopLink(link);
    const sessions = [...this.#sessions];
    const ends = sessions.map((session) => new Promise<void>((resolve) => session.listen({ ended: () => resolve() })));
    for (const session of sessions) {
      if (drainMs > 0) session.drain(drainMs);
      else session.destroy(reason);
    }
    await Promise.all(ends);
  }

  /** The connection's status in the Gateway object. */
  status(): CableConnection {
    const { clusterId, addresses } = this.#peer;
    const usable = [...this.#sessions].filter((session) => session.isUsable);
    const [first] = usable;
    const bytes = [...this.#sessions].map((session) => session.bytes);
    const statistics = toStatistics(this.#roundTrips);
    return {
      clusterId,
      ...this.#health(usable),
      ...(first !== undefined && { usingIP: first.remoteAddress }),
      usingNAT: first !== undefined && isTranslated(first.remoteAddress, addresses),
      rxBytes: this.#endedBytes.rx + bytes.reduce((sum, { rx }) => sum + rx, 0),
      txBytes: this.#endedBytes.tx + bytes.reduce((sum, { tx }) => sum + tx, 0),
      ...(statistics !== undefined && { latencyRTT: statistics, roundTripMs: this.#roundTrips.last }),
    };
  }

  #health(usable: readonly TunnelSession[]): Pick<CableConnection, 'status' | 'statusMessage' | 'cause'> {
    const { addresses } = this.#peer;
    if (usable.length > 0) return { status: 'connected', statusMessage: `${usable.length} sessions` };
    if (this.#failure !== undefined) {
      return { status: 'error', statusMessage: this.#failure.message, cause: this.#failure.cause };
    }
    return {
      status: 'connecting',
      statusMessage: addresses.length === 0
        ? 'waiting for the peer to dial: it has announced no address'
        : `dialling ${addresses.join(', ')}`,
    };
  }

  #noteBroken(): void {
    this.#brokenAt = [...this.#brokenAt, performance.now()];
  }

  // --- sessions

  #adopt(session: TunnelSession): void {
    this.#sessions.add(session);
    session.listen({
      opened: () => {
        this.#failure = undefined;
        this.#changed();
      },
      roundTrip: (ms) => (this.#roundTrips = addRoundTrip(this.#roundTrips, ms)),
      ended: (failure) => {
        this.#sessions.delete(session);
        const { rx, tx } = session.bytes;
        this.#endedBytes = { rx: this.#endedBytes.rx + rx, tx: this.#endedBytes.tx + tx };
        this.#failure = failure;
        this.#changed();
      },
    });
  }

  #changed(): void {
    for (const waiter of this.#waiters) waiter();
    this.#environment.changed();
  }

  #untilChanged(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiters.delete(done);
        forget();
        resolve();
      };
      const timer = setTimeout(done, ms);
      let forget = (): void => undefined;
      this.#waiters.add(done);
      forget = onAbort(signal, done);
    });
  }

  // --- links

  #startLinks(): void {
    const wait = this.#environment.firstDialMs(this.#peer);
    const before = this.#links;
    this.#links = PURPOSES.map(
      (purpose) => ({
        purpose, stopped: new AbortController(), state: { kind: 'waiting', failures: 0 }, timer: undefined,
        session: undefined,
      }),
    );
    for (const link of this.#links) this.#take(
      link, startLink(wait, before.find(({ purpose }) => purpose === link.purpose)?.state, performance.now()),
    );
  }

  #stopLink(link: Link): void {
    clearTimeout(link.timer);
    link.stopped.abort();
    link.state = stepLink(link.state, { kind: 'stop' }, this.#plan()).state;
  }

  #plan() {
    const { redialFirstMs, redialMaxMs } = this.#environment.limits;
    return { addresses: this.#peer.addresses.length, redialFirstMs, redialMaxMs };
  }

  #apply(link: Link, event: LinkEvent): void {
    this.#take(link, stepLink(link.state, event, this.#plan()));
  }

  #take(link: Link, { state, effect }: LinkStep): void {
    link.state = state;
    if (effect.kind === 'wait') link.timer =
      setTimeout(() => this.#apply(link, { kind: 'due', isCovered: this.#isCovered(link.purpose) }), effect.ms);
    if (effect.kind === 'dial') void this.#dial(link, this.#peer.addresses[effect.address] ?? '');
  }

  /** Whether the peer dialled a session for the same purpose. */
  #isCovered({ dialer, lane }: Purpose): boolean {
    return [...this.#sessions].some(
      (session) =>
        session.isUsable && session.lane === lane && session.purpose.dialer !== dialer
          && session.opensStreams === (dialer === 'open'),
    );
  }

  async #dial(link: Link, address: string): Promise<void> {
    const { identity, limits, serve, admit } = this.#environment;
    try {
      const { socket, peer } = await dialPeer(
        {
          clusterId: this.#peer.clusterId, address, purpose: link.purpose, identity: identity(),
          timeoutMs: limits.dialMs,
        },
        link.stopped.signal,
      );
      if (link.stopped.signal.aborted) return void socket.destroy();
      const refusal = admit(peer);
      if (refusal !== undefined) {
        socket.destroy();
        throw new CableError(refusal);
      }
      const session = new TunnelSession({ socket, peer, purpose: link.purpose, isDialer: true, limits, serve });
      link.session = session;
      this.#adopt(session);
      session.listen({
        opened: () => this.#apply(link, { kind: 'opened', nowMs: performance.now() }),
        draining: () =>
          this.#lost(link, session, { cause: 'closed', message: `${address}: the peer stops, or hands over` }),
        ended: (failure) => this.#lost(link, session, failure),
      });
    } catch (error) {
      this.#failed(link, error instanceof CableError ? error.failure : { cause: 'closed', message: messageOf(error) });
    }
  }

  /** A draining session is replaced at once; its end is then no news. */
  #lost(link: Link, session: TunnelSession, failure: Failure): void {
    if (link.session === session) this.#failed(link, failure);
  }

  #failed(link: Link, failure: Failure): void {
    if (link.state.kind === 'stopped') return;
    link.session = undefined;
    this.#failure = failure;
    this.#apply(link, { kind: 'failed', failure, nowMs: performance.now(), random: Math.random() });
    this.#changed();
  }

  /** Resolves when the link is connected or stopped, at the latest after the handshake timeout. */
  async #untilConnected(link: Link | undefined): Promise<void> {
    const { handshakeMs } = this.#environment.limits;
    const patience = AbortSignal.timeout(handshakeMs);
    const isPending = () => link !== undefined && link.state.kind !== 'connected' && link.state.kind !== 'stopped';
    while (isPending() && !patience.aborted) await this.#untilChanged(handshakeMs, patience);
  }
}

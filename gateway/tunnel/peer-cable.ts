// The connection to one peer: its sessions, whichever side dialled. peer-links.ts dials those of this side.
import { onAbort } from '../../kubernetes/flow/abort.ts';
import type { Failure } from '../protocol/failure-cause.ts';
import { isTranslated } from './peer-dial.ts';
import { PeerLinks, type LinkEnvironment } from './peer-links.ts';
import { addRoundTrip, NO_ROUND_TRIPS, toStatistics, type RoundTrips } from '../protocol/round-trip-statistics.ts';
import type { Purpose } from '../protocol/tunnel-protocol.ts';
import { TunnelSession, type SessionParts } from './tunnel-session.ts';
import type { CableConnection, TrafficClass, Peer } from '../protocol/cable-driver.ts';

/** Shared by all connections of a driver. */
export interface CableEnvironment extends LinkEnvironment {
  /** {@link PeerCable.status} may have changed. */
  readonly changed: () => void;
}

/**
 * How long a stream waits for a session of its own traffic class before it uses the other's, in ms: a redial usually
 * takes less.
 */
const OTHER_LANE_MS = 300;

const MINUTE_MS = 60_000;

/** A cable that is wanted. */
export class PeerCable {
  readonly #environment: CableEnvironment;
  readonly #sessions = new Set<TunnelSession>();
  readonly #waiters = new Set<() => void>();
  readonly #unsent = { bytes: 0 };
  readonly #links: PeerLinks;
  #peer: Peer;
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
    this.#links = new PeerLinks(peer, environment, {
      unsent: this.#unsent,
      adopt: (session) => this.#adopt(session),
      isCovered: (purpose) => this.#isCovered(purpose),
      failed: (failure) => {
        this.#failure = failure;
        this.#changed();
      },
      untilChanged: (ms, signal) => this.#untilChanged(ms, signal),
    });
  }

  /**
   * Switches to other addresses, or replaces all sessions after our certificate was renewed: new ones open first, then
   * the old ones drain.
   */
  use(peer: Peer, drainMs: number): void {
    this.#peer = peer;
    this.#links.use(peer, drainMs);
  }

  /** Accepts a session that the peer dialled. */
  accept(parts: Omit<SessionParts, 'limits' | 'serve' | 'isDialer' | 'unsent'>): Failure | undefined {
    const { limits, serve } = this.#environment;
    if (this.#sessions.size >= limits.sessionsPerPeer) {
      return { cause: 'limit', message: 'too many sessions of this cluster' };
    }
    this.#brokenAt = this.#brokenAt.filter((at) => performance.now() - at < MINUTE_MS);
    if (this.#brokenAt.length >= limits.brokenPerMinute) return {
      cause: 'limit', message: 'too many sessions of this cluster broke before they were open; wait a minute',
    };
    const session = new TunnelSession({ ...parts, isDialer: false, limits, unsent: this.#unsent, serve });
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
    this.#links.stop();
    const sessions = [...this.#sessions];
    const ends = sessions.map((session) => new Promise<void>((resolve) => session.listen({ ended: () => resolve() })));
    for (const session of sessions) {
      if (drainMs > 0) session.drain(drainMs);
      else session.destroy(reason);
    }
    await Promise.all(ends);
  }

  /** The connection's status in the ClustersetGateway object. */
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

  /** Whether the peer dialled a session for the same purpose. */
  #isCovered({ dialer, lane }: Purpose): boolean {
    return [...this.#sessions].some(
      (session) =>
        session.isUsable && session.lane === lane && session.purpose.dialer !== dialer
          && session.opensStreams === (dialer === 'open'),
    );
  }
}

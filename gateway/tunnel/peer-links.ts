// The links to one peer that this side dials, one for each purpose. link-state.ts has the rules of a link; here they
// meet sockets and clocks.
import { messageOf } from '../../process/errors.ts';
import type { Peer } from '../protocol/cable-driver.ts';
import type { Failure } from '../protocol/failure-cause.ts';
import { startLink, stepLink, type LinkEvent, type LinkState, type LinkStep } from '../protocol/link-state.ts';
import { PURPOSES, type Purpose, type TunnelLimits } from '../protocol/tunnel-protocol.ts';
import { dialPeer } from './peer-dial.ts';
import { CableError, type KnownPeer, type TlsIdentity } from './tls-identity.ts';
import { TunnelSession, type SessionParts } from './tunnel-session.ts';

/** What links are dialled with. */
export interface LinkEnvironment {
  readonly identity: () => TlsIdentity;
  readonly limits: TunnelLimits;
  readonly serve: SessionParts['serve'];
  /** Why a peer is rejected although its certificate is valid. */
  readonly admit: (peer: KnownPeer) => Failure | undefined;
  /** Delay before the first dial in ms: longer for the side that leaves dialling to the other. */
  readonly firstDialMs: (peer: Peer) => number;
}

/** The cable that the links belong to. */
export interface LinkOwner extends Pick<SessionParts, 'unsent'> {
  /** A session was dialled. */
  adopt(session: TunnelSession): void;
  /** Whether the peer dialled a session for the same purpose. */
  isCovered(purpose: Purpose): boolean;
  /** A link was lost, or could not be dialled. */
  failed(failure: Failure): void;
  /** Resolves when a session of the cable has changed, after `ms`, or when the signal is aborted. */
  untilChanged(ms: number, signal: AbortSignal): Promise<void>;
}

/** One purpose that is dialled. */
interface Link {
  readonly purpose: Purpose;
  readonly stopped: AbortController;
  state: LinkState;
  timer: NodeJS.Timeout | undefined;
  session: TunnelSession | undefined;
}

/** The dialled links of a cable. */
export class PeerLinks {
  readonly #environment: LinkEnvironment;
  readonly #owner: LinkOwner;
  #peer: Peer;
  #links: readonly Link[] = [];

  constructor(peer: Peer, environment: LinkEnvironment, owner: LinkOwner) {
    this.#peer = peer;
    this.#environment = environment;
    this.#owner = owner;
    this.#start();
  }

  /** Dials every purpose again, perhaps at other addresses; sessions of before drain once a new one has opened. */
  use(peer: Peer, drainMs: number): void {
    this.#peer = peer;
    const before = this.#links;
    this.#start();
    for (const link of before) {
      this.#stop(link);
      const { session } = link;
      if (session === undefined) continue;
      const successor = this.#links.find(({ purpose }) => purpose === link.purpose);
      void this.#untilConnected(successor).finally(() => session.drain(drainMs));
    }
  }

  /** Dials no more; open sessions stay. */
  stop(): void {
    for (const link of this.#links) this.#stop(link);
  }

  #start(): void {
    const wait = this.#environment.firstDialMs(this.#peer);
    const before = this.#links;
    this.#links = PURPOSES.map((purpose) => ({
      purpose, stopped: new AbortController(), state: { kind: 'waiting', failures: 0 }, timer: undefined,
      session: undefined,
    }));
    for (const link of this.#links) {
      const last = before.find(({ purpose }) => purpose === link.purpose)?.state;
      this.#take(link, startLink(wait, last, performance.now()));
    }
  }

  #stop(link: Link): void {
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
    if (effect.kind === 'dial') void this.#dial(link, this.#peer.addresses[effect.address] ?? '');
    if (effect.kind !== 'wait') return;
    const due = () => this.#apply(link, { kind: 'due', isCovered: this.#owner.isCovered(link.purpose) });
    link.timer = setTimeout(due, effect.ms);
  }

  async #dial(link: Link, address: string): Promise<void> {
    const { identity, limits, serve, admit } = this.#environment;
    const { clusterId } = this.#peer;
    const { unsent } = this.#owner;
    try {
      const { socket, peer } = await dialPeer(
        { clusterId, address, purpose: link.purpose, identity: identity(), timeoutMs: limits.dialMs },
        link.stopped.signal,
      );
      if (link.stopped.signal.aborted) return void socket.destroy();
      const refusal = admit(peer);
      if (refusal !== undefined) {
        socket.destroy();
        throw new CableError(refusal);
      }
      this.#opened(
        link, new TunnelSession({ socket, peer, purpose: link.purpose, isDialer: true, limits, unsent, serve }),
        address,
      );
    } catch (error) {
      this.#failed(link, error instanceof CableError ? error.failure : { cause: 'closed', message: messageOf(error) });
    }
  }

  #opened(link: Link, session: TunnelSession, address: string): void {
    link.session = session;
    this.#owner.adopt(session);
    session.listen({
      opened: () => this.#apply(link, { kind: 'opened', nowMs: performance.now() }),
      draining: () =>
        this.#lost(link, session, { cause: 'closed', message: `${address}: the peer stops, or hands over` }),
      ended: (failure) => this.#lost(link, session, failure),
    });
  }

  /** A draining session is replaced at once; its end is then no news. */
  #lost(link: Link, session: TunnelSession, failure: Failure): void {
    if (link.session === session) this.#failed(link, failure);
  }

  #failed(link: Link, failure: Failure): void {
    if (link.state.kind === 'stopped') return;
    link.session = undefined;
    this.#apply(link, { kind: 'failed', failure, nowMs: performance.now(), random: Math.random() });
    this.#owner.failed(failure);
  }

  /** Resolves when the link is connected or stopped, at the latest after the handshake timeout. */
  async #untilConnected(link: Link | undefined): Promise<void> {
    const { handshakeMs } = this.#environment.limits;
    const patience = AbortSignal.timeout(handshakeMs);
    const isPending = () => link !== undefined && link.state.kind !== 'connected' && link.state.kind !== 'stopped';
    while (isPending() && !patience.aborted) await this.#owner.untilChanged(handshakeMs, patience);
  }
}

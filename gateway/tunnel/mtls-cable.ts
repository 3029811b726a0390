// Cable driver `mtls`: streams to services of peers over HTTP/2 on mutually authenticated TLS 1.3. Needs no privileges.
// Either side may dial, so a peer that can only dial out is reachable too.
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { gatewayName } from '../../model/network/gateway-names.ts';
import type { AllowedServices } from '../protocol/allowed-services.ts';
import type { CableConnection, Peer, StreamDriver, StreamRecord, StreamRequest } from '../protocol/cable-driver.ts';
import type { Failure } from '../protocol/failure-cause.ts';
import { PeerCable, type CableEnvironment } from './peer-cable.ts';
import { ServiceStreams, type ServiceStreamsOptions } from './service-stream.ts';
import type { KnownPeer, TlsIdentity } from './tls-identity.ts';
import { startTunnelListener, type TunnelListener } from './tunnel-listener.ts';
import { TUNNEL_LIMITS, type Purpose, type TunnelLimits } from '../protocol/tunnel-protocol.ts';
import { StreamNotTakenError, StreamRefusedError } from './tunnel-session.ts';

/** What the driver is made with. */
export interface MtlsDriverOptions {
  readonly clusterId: string;
  readonly identity: TlsIdentity;
  /** What peers may reach. */
  readonly services: AllowedServices;
  /** Services exported by this cluster, which peers may reach as well. */
  readonly exported?: ServiceStreamsOptions['exported'];
  /** Where peers may dial in; missing when this cluster can only dial out. */
  readonly listen?: { readonly host: string; readonly port: number } | undefined;
  /** Whether peers know an address of this cluster. A cluster may listen where none of them can dial in. */
  readonly isAnnounced: boolean;
  readonly limits?: Partial<TunnelLimits>;
  readonly audit: (record: StreamRecord) => void;
  /** Called for each rejected connection. */
  readonly refused?: (failure: Failure, from: string) => void;
  /** {@link MtlsDriver.connections} may have changed. */
  readonly changed?: () => void;
}

/**
 * Of two members that could both dial, the one whose ID sorts last waits this long for the other, in ms: not longer,
 * because the other one may not get through, and a takeover has to end within 8 s (`GATEWAY_LEASE_TIMINGS`).
 */
const LEAVE_DIALLING_MS = 1_000;
/** How long replaced sessions may continue, in ms: watches resume by themselves. */
const REPLACED_DRAIN_MS = 30_000;
/** Sessions tried for one stream when each ends at that moment. */
const MAX_TRIES = 4;
const NO_LONGER_WANTED: Failure = { cause: 'unknown-peer', message: 'this cluster is no longer a member' };
const STOPPING: Failure = { cause: 'closed', message: 'the gateway stops' };

/** The driver; create it with {@link startMtlsDriver}. */
export class MtlsDriver implements StreamDriver {
  readonly name = 'mtls';
  readonly #options: MtlsDriverOptions;
  readonly #limits: TunnelLimits;
  readonly #streams: ServiceStreams;
  readonly #cables = new Map<string, PeerCable>();
  readonly #peers = new Map<string, Peer>();
  #identity: TlsIdentity;
  #revoked: ReadonlySet<string> = new Set();
  #listener: TunnelListener | undefined;
  #isClosed = false;

  constructor(options: MtlsDriverOptions) {
    this.#options = options;
    this.#identity = options.identity;
    this.#limits = { ...TUNNEL_LIMITS, ...options.limits };
    this.#streams = new ServiceStreams(
      { services: options.services, exported: options.exported, limits: this.#limits, audit: options.audit },
    );
  }

  /** Starts listening, if configured. Throws what listening throws. */
  async start(): Promise<void> {
    const { listen, refused = () => undefined } = this.#options;
    if (listen === undefined) return;
    const accept = (socket: TLSSocket, peer: KnownPeer, purpose: Purpose) => this.#accept(socket, peer, purpose);
    this.#listener =
      await startTunnelListener({ ...listen, identity: this.#identity, limits: this.#limits, accept, refused });
  }

  /** The port where peers dial in; undefined where none can. */
  get port(): number | undefined {
    return this.#listener?.port;
  }

  connect(peer: Peer): void {
    const before = this.#peers.get(peer.clusterId);
    if (this.#isClosed || peer.clusterId === this.#options.clusterId || isSame(before, peer)) return;
    this.#peers.set(peer.clusterId, peer);
    const cable = this.#cables.get(peer.clusterId);
    if (cable === undefined) this.#cables.set(peer.clusterId, new PeerCable(peer, this.#environment()));
    else cable.use(peer, REPLACED_DRAIN_MS);
  }

  disconnect(clusterId: string): void {
    const cable = this.#cables.get(clusterId);
    this.#cables.delete(clusterId);
    this.#peers.delete(clusterId);
    void cable?.close(NO_LONGER_WANTED, 0);
    this.#options.changed?.();
  }

  /** Switches to a renewed certificate: new sessions open first, then the old ones drain. */
  use(identity: TlsIdentity): void {
    this.#identity = identity;
    this.#listener?.use(identity);
    for (const [clusterId, cable] of this.#cables) {
      const peer = this.#peers.get(clusterId);
      if (peer !== undefined) cable.use(peer, REPLACED_DRAIN_MS);
    }
  }

  /** Revoked serial numbers (upper-case hexadecimal). Their live sessions close at once. */
  revoke(serials: ReadonlySet<string>): void {
    this.#revoked = serials;
    for (const cable of this.#cables.values()) cable.recheck();
  }

  connections(): readonly CableConnection[] {
    return [...this.#cables.values()].map((cable) => cable.status());
  }

  /** Peers' streams that are connected to services now. */
  get servedStreams(): number {
    return this.#streams.open;
  }

  async openStream({ clusterId, service, lane }: StreamRequest, signal: AbortSignal): Promise<Duplex> {
    const cable = this.#cables.get(clusterId);
    if (this.#isClosed) throw new StreamRefusedError('this gateway is stopping; another one takes over', 503);
    if (cable === undefined) throw new StreamRefusedError(
      `no member of the clusterset is called "${clusterId}"; see "isthmus gateway show endpoints"`, 404,
    );
    for (let tries = 1; ; tries += 1) {
      const session = await cable.untilSession(lane, this.#limits.cableWaitMs, signal);
      signal.throwIfAborted();
      if (session === undefined) break;
      try {
        return await session.openStream(service, signal);
      } catch (error) {
        if (!(error instanceof StreamNotTakenError) || tries === MAX_TRIES) throw error;
      }
    }
    const { status, statusMessage } = cable.status();
    throw new StreamRefusedError(`there is no gateway connection to "${clusterId}" (${status}): ${statusMessage}`, 503);
  }

  async close(drainMs = 0): Promise<void> {
    this.#isClosed = true;
    await this.#listener?.close();
    await Promise.all([...this.#cables.values()].map((cable) => cable.close(STOPPING, drainMs)));
  }

  #environment(): CableEnvironment {
    return {
      identity: () => this.#identity,
      limits: this.#limits,
      serve: this.#streams.serve,
      admit: (peer) => this.#admit(peer),
      firstDialMs: ({ clusterId, addresses }) => {
        const { listen, isAnnounced, clusterId: own } = this.#options;
        const mayWait = listen !== undefined && isAnnounced && addresses.length > 0 && clusterId < own;
        return mayWait ? LEAVE_DIALLING_MS : 0;
      },
      changed: () => this.#options.changed?.(),
    };
  }

  #accept(socket: TLSSocket, peer: KnownPeer, purpose: Purpose): Failure | undefined {
    return this.#admit(peer) ?? this.#cables.get(peer.clusterId)?.accept({ socket, peer, purpose });
  }

  #admit({ clusterId, serial }: KnownPeer): Failure | undefined {
    if (this.#isClosed) return STOPPING;
    if (this.#revoked.has(serial)) {
      return { cause: 'revoked', message: `the certificate of "${clusterId}" was revoked; join again` };
    }
    if (this.#cables.has(clusterId)) return undefined;
    return { cause: 'unknown-peer', message: `${gatewayName(clusterId)} is not a known member` };
  }
}

/** Creates the driver and starts listening, if configured. Throws what listening throws. */
export async function startMtlsDriver(options: MtlsDriverOptions): Promise<MtlsDriver> {
  const driver = new MtlsDriver(options);
  await driver.start();
  return driver;
}

function isSame(one: Peer | undefined, other: Peer): boolean {
  return one !== undefined && one.addresses.join() === other.addresses.join();
}

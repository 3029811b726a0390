// Driver `wireguard`: carries pod traffic to the other members. WireGuard runs in its own program; addresses, routes
// and packet rules follow one plan (pod-plane-plan.ts). A peer's address is found by trying, and kept alive through
// NAT. A peer is connected while its gateway answers through the tunnel.
import type { Logger } from 'pino';
import type { PodPrefix } from '../../model/network/pod-addresses.ts';
import { messageOf } from '../../process/errors.ts';
import type { CableConnection, CableDriver } from '../../gateway/protocol/cable-driver.ts';
import { nextAttempt, type Attempt } from '../../gateway/protocol/candidate-address.ts';
import { Echo, ECHO_PORT } from '../../gateway/tunnel/echo.ts';
import { gatewayNetwork, WIREGUARD_OVERHEAD, type LinkNames } from '../plan/gateway-network.ts';
import type { Network } from '../plan/network-plan.ts';
import { toRuleset } from '../plan/packet-rules.ts';
import {
  overlayAddress, planPodPlane, type PodPeer, type PodPlanePlan, type WorkerNode,
} from '../plan/pod-plane-plan.ts';
import { NetworkKeeper, TABLE } from '../network/node-network.ts';
import { inUse, newest, peerStatus } from '../plan/peer-status.ts';
import { resolveEndpoint } from './resolve-endpoint.ts';
import { NO_ROUND_TRIPS, toStatistics } from '../../gateway/protocol/round-trip-statistics.ts';
import { WireguardProcess } from './wireguard-process.ts';
import type { WireguardPeerState } from '../plan/wireguard-protocol.ts';

/** Options of a driver. */
export interface WireguardDriverOptions {
  readonly clusterId: string;
  /** Path of the program, see pod-plane/wireguard/program. */
  readonly program: string;
  readonly names: LinkNames;
  readonly listenPort: number;
  /** Base64. */
  readonly privateKey: string;
  readonly prefixes: readonly PodPrefix[];
  /** Whether peers can dial in. */
  readonly isReachable: boolean;
  /** Path MTU between gateways, in bytes; 1500 on most networks. */
  readonly underlayMtu: number;
  /** Address of this node within the cluster; needed only with workers. */
  readonly nodeAddress?: string | undefined;
  readonly workers?: readonly WorkerNode[] | undefined;
  readonly changed: () => void;
  readonly logger: Logger;
}

const TICK_MS = 1_000;
/** Interval at which to check which key a peer uses during its rotation. */
const ROTATION_TICK_MS = 50;
const CHECK_EVERY_TICKS = 5;
/** A connection without an answer for this long is down. */
const DEAD_AFTER_MS = 5_000;

interface PeerRecord {
  peer: PodPeer;
  attempt: Attempt;
  /** `address:port` of each of the peer's addresses, with names resolved. */
  endpoints: readonly string[];
  state: WireguardPeerState | undefined;
  wasConnected: boolean;
}

/** The driver; see {@link startWireguardDriver}. */
export class WireguardDriver implements CableDriver {
  readonly name = 'wireguard';
  readonly #options: WireguardDriverOptions;
  readonly #process: WireguardProcess;
  readonly #keeper: NetworkKeeper;
  readonly #peers = new Map<string, PeerRecord>();
  readonly #timer: NodeJS.Timeout;
  #privateKey: string;
  #workers: readonly WorkerNode[];
  #prefixes: readonly PodPrefix[];
  #echo: Echo | undefined;
  #plan: PodPlanePlan = { peers: [], routes: [], relayed: [], refused: new Map() };
  #turn: Promise<void> = Promise.resolve();
  #ticks = 0;
  #closed = false;
  #failure: string | undefined;

  /** @internal */
  constructor(options: WireguardDriverOptions, process: WireguardProcess, keeper: NetworkKeeper) {
    this.#options = options;
    this.#process = process;
    this.#keeper = keeper;
    this.#privateKey = options.privateKey;
    this.#workers = options.workers ?? [];
    this.#prefixes = options.prefixes;
    this.#timer = setInterval(() => void this.#tick(), ROTATION_TICK_MS);
    this.#apply();
  }

  /** What is wrong with this node's pod plane; undefined when nothing is. */
  get failure(): string | undefined {
    return this.#failure ?? this.#keeper.failure;
  }

  /** Whether it has ended: closed, or because the program exited by itself. */
  get isClosed(): boolean {
    return this.#closed;
  }

  connect(peer: PodPeer): void {
    const known = this.#peers.get(peer.clusterId);
    if (known !== undefined && JSON.stringify(known.peer) === JSON.stringify(peer)) return;
    const isMoved = known === undefined || known.peer.addresses.join() !== peer.addresses.join();
    const record = known
      ?? { peer, attempt: { number: 0, sinceMs: Date.now() }, endpoints: [], state: undefined, wasConnected: false };
    Object.assign(record, { peer, ...(isMoved && { attempt: { number: 0, sinceMs: Date.now() } }) });
    this.#peers.set(peer.clusterId, record);
    void this.#resolve(record);
  }

  disconnect(clusterId: string): void {
    const record = this.#peers.get(clusterId);
    if (record === undefined) return;
    this.#peers.delete(clusterId);
    this.#echo?.forget(overlayAddress(record.peer.ranges) ?? '');
    this.#apply();
    this.#options.changed();
  }

  /** The other nodes of this cluster. */
  useWorkers(workers: readonly WorkerNode[]): void {
    if (JSON.stringify(workers) === JSON.stringify(this.#workers)) return;
    this.#workers = workers;
    this.#apply();
  }

  /** Sets own CIDRs as the others see them, for example when a member with an overlapping CIDR has joined. */
  usePrefixes(prefixes: readonly PodPrefix[]): void {
    if (JSON.stringify(prefixes) === JSON.stringify(this.#prefixes)) return;
    this.#prefixes = prefixes;
    this.#apply();
  }

  /**
   * Switches to another key, which peers must know already. Streams continue: packets lost meanwhile are retransmitted.
   */
  useKey(privateKey: string): void {
    if (privateKey === this.#privateKey) return;
    this.#privateKey = privateKey;
    this.#apply();
    void this.#turn.then(() => this.#askAll());
  }

  connections(): readonly CableConnection[] {
    return [...this.#peers.values()].map((record) => this.#connection(record));
  }

  /** Resolves when all requested changes are in place. */
  settled(): Promise<void> {
    return this.#turn;
  }

  /** Streams belong to pods: nothing to drain. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#turn;
    this.#echo?.close();
    await this.#keeper.close();
    await this.#process.close();
  }

  // --- desired state

  #apply(): void {
    this.#turn = this.#turn.then(() => this.#attempt());
  }

  async #attempt(): Promise<void> {
    if (this.#closed) return;
    this.#failure = await this.#applyNow().then(() => undefined, messageOf);
    if (this.#failure !== undefined) {
      this.#options.logger.warn({ error: this.#failure }, 'the pod plane is not as it should be');
    }
  }

  async #applyNow(without?: string): Promise<void> {
    const { clusterId, isReachable, listenPort, names } = this.#options;
    const prefixes = this.#prefixes;
    this.#plan = planPodPlane({ clusterId, prefixes, isReachable }, [...this.#peers.values()].map(inUse));
    const peers = this.#plan.peers.filter((peer) => peer.clusterId !== without)
      .map((peer) => ({ ...peer, endpoint: this.#endpointOf(peer.clusterId) }));
    const rules = {
      table: TABLE, tunnel: names.tunnel, ...(this.#workers.length > 0 && { overlay: names.overlay }), prefixes,
      relayed: this.#plan.relayed, echoPort: ECHO_PORT,
    };
    // before anybody can send us something
    await this.#keeper.keep({ network: this.#network(), ruleset: toRuleset(rules) });
    await this.#process.configure({ privateKey: this.#privateKey, listenPort, peers });
    const own = this.#overlayAddress();
    if (own !== undefined) this.#echo ??= await Echo.open(own);
  }

  #overlayAddress(): string | undefined {
    return overlayAddress(this.#prefixes.map(({ own }) => own));
  }

  #network(): Network {
    const { names, underlayMtu, nodeAddress } = this.#options;
    return gatewayNetwork({
      names, underlayMtu, nodeAddress, source: this.#overlayAddress(), routes: this.#plan.routes,
      workers: this.#workers,
    });
  }

  #endpointOf(clusterId: string): string | undefined {
    const record = this.#peers.get(clusterId);
    return record === undefined
      || record.endpoints.length === 0 ? undefined : record.endpoints[record.attempt.number % record.endpoints.length];
  }

  async #resolve(record: PeerRecord): Promise<void> {
    const resolved = await Promise.all(record.peer.addresses.map(resolveEndpoint));
    record.endpoints = resolved.flatMap((one) => one ?? []);
    this.#apply();
    this.#options.changed();
  }

  // --- observed state

  async #tick(): Promise<void> {
    this.#ticks += 1;
    const isWhole = this.#ticks % (TICK_MS / ROTATION_TICK_MS) === 0;
    const isRotating = [...this.#peers.values()].some(({ peer }) => peer.publicKeys.length > 1);
    if (this.#closed || (!isWhole && !isRotating)) return;
    try {
      await this.#look();
      if (isWhole) await this.#everySecond();
    } catch (error) {
      if (!this.#closed) this.#failure = messageOf(error);
    }
  }

  async #look(): Promise<void> {
    const states = new Map((await this.#process.peers()).map((state) => [state.publicKey, state]));
    for (const record of this.#peers.values()) {
      const before = inUse(record).publicKeys[0];
      record.state = newest(record.peer.publicKeys.flatMap((key) => states.get(key) ?? []));
      if (record.peer.publicKeys.length > 1 && inUse(record).publicKeys[0] !== before) this.#apply();
    }
  }

  async #everySecond(): Promise<void> {
    this.#askAll();
    if (this.#ticks % (CHECK_EVERY_TICKS * (TICK_MS / ROTATION_TICK_MS)) === 0) await this.#keeper.check();
    for (const record of this.#peers.values()) {
      const answers = this.#answers(record);
      if (answers !== record.wasConnected) this.#options.changed();
      record.wasConnected = answers;
      const attempt = nextAttempt(
        record.attempt,
        { addresses: record.endpoints.length, lastHandshakeMs: record.state?.lastHandshakeMs ?? 0, answers },
        Date.now(),
      );
      if (attempt !== record.attempt) this.#tryAnew(record, attempt);
    }
  }

  /** WireGuard starts a handshake with a known peer every five seconds only; with a new one at once. */
  #tryAnew(record: PeerRecord, attempt: Attempt): void {
    record.attempt = attempt;
    this.#turn = this.#turn.then(() => this.#applyNow(record.peer.clusterId)).catch(() => undefined);
    this.#apply();
  }

  #askAll(): void {
    for (const { peer } of this.#peers.values()) {
      const address = overlayAddress(peer.ranges);
      if (address !== undefined) this.#echo?.send(address);
    }
  }

  #answers({ peer }: PeerRecord): boolean {
    const answeredMs = this.#echo?.state(overlayAddress(peer.ranges) ?? '').answeredMs;
    return answeredMs !== undefined && performance.now() - answeredMs < DEAD_AFTER_MS;
  }

  #connection(record: PeerRecord): CableConnection {
    const { peer, state, endpoints } = record;
    const trips = this.#echo?.state(overlayAddress(peer.ranges) ?? '').trips ?? NO_ROUND_TRIPS;
    const statistics = toStatistics(trips);
    const seen = state?.endpoint;
    return {
      clusterId: peer.clusterId, ...peerStatus({
        ...record, refused: this.#plan.refused.get(peer.clusterId), answers: this.#answers(record), nowMs: Date.now(),
      }),
      ...(seen !== undefined && { usingIP: seen.slice(0, seen.lastIndexOf(':')) }),
      usingNAT: seen !== undefined && !endpoints.includes(seen),
      rxBytes: state?.rxBytes ?? 0, txBytes: state?.txBytes ?? 0,
      ...(statistics !== undefined && { latencyRTT: statistics, roundTripMs: trips.last }),
    };
  }
}

/**
 * Starts the driver, replacing leftovers of an earlier process, and creates the tunnel. Throws an Error with the cause,
 * for example missing privileges.
 */
export async function startWireguardDriver(options: WireguardDriverOptions): Promise<WireguardDriver> {
  const keeper = new NetworkKeeper(options.names, options.logger);
  const holder: { driver?: WireguardDriver } = {};
  const process = await WireguardProcess.start({
    program: options.program, interfaceName: options.names.tunnel, mtu: options.underlayMtu - WIREGUARD_OVERHEAD,
    ended: (said) => {
      if (holder.driver?.isClosed === true) return; // its link was deleted
      options.logger.error({ said }, 'WireGuard has ended');
      void holder.driver?.close();
    },
  });
  holder.driver = new WireguardDriver(options, process, keeper);
  return holder.driver;
}

// Driver `wireguard`: carries pod traffic to the other members. WireGuard runs in its own program; addresses, routes
// and packet rules follow one plan (pod-plane-plan.ts). A peer's address is found by trying, and kept alive through
// NAT. A peer is connected while its gateway answers through the tunnel.
import type { Logger } from 'pino';
import type { PodPrefix } from '../../model/network/pod-addresses.ts';
import { messageOf } from '../../process/errors.ts';
import type { CableConnection, CableDriver } from '../../gateway/protocol/cable-driver.ts';
import { ECHO_PORT } from '../../gateway/tunnel/echo.ts';
import { gatewayNetwork, tunnelMtu, type LinkNames } from '../plan/gateway-network.ts';
import type { Network } from '../plan/network-plan.ts';
import { toRuleset } from '../plan/packet-rules.ts';
import {
  tunnelAddress, planPodPlane, type PodPeer, type PodPlanePlan, type WorkerNode,
} from '../plan/pod-plane-plan.ts';
import { NetworkKeeper, TABLE } from '../network/node-network.ts';
import type { resolveEndpoint } from './resolve-endpoint.ts';
import { WireguardPeers } from './wireguard-peers.ts';
import { WireguardProcess } from './wireguard-process.ts';

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
  readonly pathMtu: number;
  /** Address of this node within the cluster; needed only with workers. */
  readonly nodeAddress?: string | undefined;
  readonly workers?: readonly WorkerNode[] | undefined;
  /** Resolves addresses of peers; for tests. */
  readonly resolve?: typeof resolveEndpoint;
  readonly changed: () => void;
  readonly logger: Logger;
}

const TICK_MS = 1_000;
/** Interval at which to check which key a peer uses during its rotation. */
const ROTATION_TICK_MS = 50;
const CHECK_EVERY_TICKS = 5;

/** The driver; see {@link startWireguardDriver}. */
export class WireguardDriver implements CableDriver {
  readonly name = 'wireguard';
  readonly #options: WireguardDriverOptions;
  readonly #process: WireguardProcess;
  readonly #keeper: NetworkKeeper;
  readonly #peers: WireguardPeers;
  readonly #timer: NodeJS.Timeout;
  #privateKey: string;
  #workers: readonly WorkerNode[];
  #prefixes: readonly PodPrefix[];
  #plan: PodPlanePlan = { peers: [], routes: [], relayed: [], refused: new Map() };
  #turn: Promise<void> = Promise.resolve();
  #ticks = 0;
  #closing: Promise<void> | undefined;
  #failure: string | undefined;

  /** @internal */
  constructor(options: WireguardDriverOptions, process: WireguardProcess, keeper: NetworkKeeper) {
    this.#options = options;
    this.#process = process;
    this.#keeper = keeper;
    this.#peers = new WireguardPeers(options.resolve);
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

  /** Whether it has ended: closed, or because the program exited. */
  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  connect(peer: PodPeer): void {
    if (this.#peers.put(peer)) void this.#resolve(peer.clusterId);
  }

  disconnect(clusterId: string): void {
    if (!this.#peers.remove(clusterId)) return;
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
    void this.#turn.then(() => this.#peers.askAll());
  }

  connections(): readonly CableConnection[] {
    return this.#peers.connections(this.#plan.refused);
  }

  /** Resolves when all requested changes are in place. */
  settled(): Promise<void> {
    return this.#turn;
  }

  /** Streams belong to pods: nothing to drain. The caller waits until another driver may follow. */
  close(): Promise<void> {
    return (this.#closing ??= this.#end());
  }

  async #end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turn;
    this.#peers.close();
    await this.#keeper.close();
    await this.#process.close();
  }

  // --- desired state

  #apply(): void {
    this.#turn = this.#turn.then(() => this.#attempt());
  }

  async #attempt(): Promise<void> {
    if (this.isClosed) return;
    this.#failure = await this.#applyNow().then(() => undefined, messageOf);
    if (this.#failure !== undefined) {
      this.#options.logger.warn({ error: this.#failure }, 'the pod plane differs from its plan');
    }
  }

  async #applyNow(without: ReadonlySet<string> = new Set()): Promise<void> {
    const { clusterId, isReachable, listenPort, names } = this.#options;
    const prefixes = this.#prefixes;
    this.#plan = planPodPlane({ clusterId, prefixes, isReachable }, this.#peers.inUse());
    const peers = this.#plan.peers.filter((peer) => !without.has(peer.clusterId))
      .map((peer) => ({ ...peer, endpoint: this.#peers.endpointOf(peer.clusterId) }));
    const rules = {
      table: TABLE, tunnel: names.tunnel, ...(this.#workers.length > 0 && { vxlan: names.vxlan }), prefixes,
      relayed: this.#plan.relayed, echoPort: ECHO_PORT,
    };
    // before a peer can send us packets
    await this.#keeper.keep({ network: this.#network(), ruleset: toRuleset(rules) });
    await this.#process.configure({ privateKey: this.#privateKey, listenPort, peers });
    const own = this.#tunnelAddress();
    if (own !== undefined) await this.#peers.askFrom(own);
  }

  #tunnelAddress(): string | undefined {
    return tunnelAddress(this.#prefixes.map(({ own }) => own));
  }

  #network(): Network {
    const { names, pathMtu, nodeAddress } = this.#options;
    return gatewayNetwork({
      names, pathMtu, nodeAddress, source: this.#tunnelAddress(), routes: this.#plan.routes,
      workers: this.#workers,
    });
  }

  async #resolve(clusterId: string): Promise<void> {
    await this.#peers.resolve(clusterId);
    this.#apply();
    this.#options.changed();
  }

  /** A name may have got an address, or another one. Outside of the turn, which a slow resolver must not hold up. */
  async #resolveAnew(clusterId: string): Promise<void> {
    if (await this.#peers.resolve(clusterId)) this.#apply();
  }

  // --- observed state

  async #tick(): Promise<void> {
    this.#ticks += 1;
    const isWhole = this.#ticks % (TICK_MS / ROTATION_TICK_MS) === 0;
    if (this.isClosed || (!isWhole && !this.#peers.isRotating)) return;
    try {
      await this.#look();
      if (isWhole) await this.#everySecond();
    } catch (error) {
      if (!this.isClosed) this.#failure = messageOf(error);
    }
  }

  async #look(): Promise<void> {
    if (this.#peers.observe(await this.#process.peers())) this.#apply();
  }

  async #everySecond(): Promise<void> {
    this.#peers.askAll();
    if (this.#ticks % (CHECK_EVERY_TICKS * (TICK_MS / ROTATION_TICK_MS)) === 0) await this.#keeper.check();
    const { isStatusChanged, moved } = this.#peers.look();
    if (isStatusChanged) this.#options.changed();
    // one without an address cannot be dialled, and may be dialling in
    const dialled = new Set(moved.filter((clusterId) => this.#peers.endpointOf(clusterId) !== undefined));
    if (dialled.size > 0) this.#tryAnew(dialled);
    for (const clusterId of moved) void this.#resolveAnew(clusterId);
  }

  /** WireGuard starts a handshake with a known peer every five seconds only; with a new one at once. */
  #tryAnew(clusterIds: ReadonlySet<string>): void {
    const applied = this.#turn.then(() => (this.isClosed ? undefined : this.#applyNow(clusterIds)));
    this.#turn = applied.catch(() => undefined);
    this.#apply();
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
    program: options.program, interfaceName: options.names.tunnel, mtu: tunnelMtu(options.pathMtu),
    ended: (output) => {
      if (holder.driver?.isClosed === true) return; // its link was deleted
      options.logger.error({ output }, 'WireGuard has ended');
      void holder.driver?.close();
    },
  });
  holder.driver = new WireguardDriver(options, process, keeper);
  return holder.driver;
}

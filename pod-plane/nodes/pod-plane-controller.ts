// The pod plane of one node. All nodes watch the same objects; the holder of the Lease is the cluster's gateway, and
// the others route traffic for pods of other clusters to it. A node that loses the Lease removes its tunnel before
// another node may create one. Operations are serialized.
import type { Logger } from 'pino';
import { POD_PLANE_BACKEND, type ClustersetEndpoint } from '../../api/kinds/gateway.ts';
import { OWN_ENDPOINT_LABEL, TRUE } from '../../api/objects/keys.ts';
import { CLUSTERSET_ENDPOINTS } from '../../api/resource-types.ts';
import { onAbort } from '../../kubernetes/flow/abort.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { Fence } from '../../kubernetes/flow/fence.ts';
import { endpointObjectName } from '../../model/network/gateway-names.ts';
import { messageOf } from '../../process/errors.ts';
import type { CableConnection } from '../../gateway/protocol/cable-driver.ts';
import { tunnelMtu } from '../plan/gateway-network.ts';
import { keepPlaneKeys } from '../wireguard/plane-key-secret.ts';
import type { PlaneKeys } from '../plan/plane-keys.ts';
import type { PlaneMembers } from '../plan/plane-members.ts';
import { announcedAddresses, workersOf, type PlaneNode } from '../plan/plane-nodes.ts';
import { LINK_NAMES } from '../network/node-network.ts';
import { PodPlaneState } from './pod-plane-state.ts';
import type { RouteAgent } from './route-agent.ts';
import { startWireguardDriver, type WireguardDriver } from '../wireguard/wireguard-cable.ts';

/** Options of a node. */
export interface PodPlaneOptions {
  readonly client: ClusterClient;
  /** The install namespace. */
  readonly namespace: string;
  /** Name of this node. */
  readonly node: string;
  /** Path of the program, see pod-plane/wireguard/program. */
  readonly program: string;
  readonly listenPort: number;
  /**
   * Where peers reach the gateway, `host:port`; empty when it can only dial out; missing for the candidates' own
   * addresses.
   */
  readonly addresses?: readonly string[] | undefined;
  /** Path MTU between gateways, in bytes. */
  readonly pathMtu: number;
  /** Holds while this node is the gateway. */
  readonly fence: Fence;
  readonly makeAgent: () => RouteAgent;
  readonly startDriver?: typeof startWireguardDriver;
  readonly changed: () => void;
  readonly logger: Logger;
}

const INTERVAL_MS = 100;
const FIELD_MANAGER = 'isthmus-pod-plane';

/** A node's part of the pod plane. */
export class PodPlaneController {
  readonly #options: PodPlaneOptions;
  readonly #state: PodPlaneState;
  #driver: WireguardDriver | undefined;
  #agent: RouteAgent | undefined;
  #turn: Promise<void> = Promise.resolve();
  #isDue = false;
  #isEnding = false;
  #isBarred = false;
  #rotationDueMs: number | undefined;
  #failure: string | undefined = 'the members of the clusterset are not known yet';

  constructor(options: PodPlaneOptions) {
    this.#options = options;
    this.#state = new PodPlaneState(options);
    this.#state.onChange(() => this.#wake());
  }

  /** Whether this node is a candidate for the gateway. */
  get isCandidate(): boolean {
    return this.#state.isCandidate(this.#options.node);
  }

  /** Whether this node is the gateway. */
  get isActive(): boolean {
    return this.#driver !== undefined;
  }

  get clusterId(): string | undefined {
    return this.#state.clusterId;
  }

  /** The current problem as text; undefined when there is none. */
  get failure(): string | undefined {
    return this.#failure ?? this.#driver?.failure ?? this.#agent?.failure;
  }

  /** Whether all informers have synced. */
  get hasSynced(): boolean {
    return this.#state.hasSynced;
  }

  connections(): readonly CableConnection[] {
    return this.#driver?.connections() ?? [];
  }

  /** Runs until `signal` is aborted, then removes everything from this node. */
  async run(signal: AbortSignal): Promise<void> {
    const timer = setInterval(() => this.#look(), INTERVAL_MS);
    onAbort(signal, () => (this.#isEnding = true)); // a lease acquired now creates no tunnel any more
    void this.#state.synced().then(() => this.#wake()); // earlier notifications were ignored
    await this.#state.run(signal);
    clearInterval(timer);
    await this.#turn;
    await this.#driver?.close();
    await this.#agent?.close();
  }

  /** The fence may end at any time, and a key rotation step may be due. */
  followFence(): void {
    this.#wake();
  }

  /**
   * Removes the tunnel, then does `work`; none is made before that has ended. While this node's part ends, nothing is
   * done: {@link run} removes the tunnel.
   */
  async withoutTunnel(work: () => Promise<void>): Promise<void> {
    this.#isBarred = true;
    this.#wake();
    await this.#turn;
    if (!this.#isEnding) await work();
    this.#isBarred = false;
  }

  get #mayBeGateway(): boolean {
    return !this.#isBarred && this.#options.fence.holds();
  }

  #look(): void {
    const isRotating = this.#rotationDueMs !== undefined && performance.now() >= this.#rotationDueMs;
    if (this.#mayBeGateway !== this.isActive || this.#driver?.isClosed === true || isRotating) this.#wake();
  }

  #wake(): void {
    if (this.#isDue || this.#isEnding || !this.hasSynced) return;
    this.#isDue = true;
    this.#turn = this.#turn.then(() => this.#attempt());
  }

  async #attempt(): Promise<void> {
    this.#isDue = false;
    if (this.#isEnding) return;
    const failure = await this.#step().catch(messageOf);
    if (failure !== undefined && failure !== this.#failure) {
      this.#options.logger.warn({ error: failure }, 'the pod plane of this node differs from its plan');
    }
    this.#failure = failure;
    this.#options.changed();
  }

  /** Reconciles this node; returns what prevents it. */
  async #step(): Promise<string | undefined> {
    const isGateway = this.#mayBeGateway;
    if (this.#driver !== undefined && (!isGateway || this.#driver.isClosed)) await this.#stopDriver();
    const { clusterId } = this.#state;
    if (clusterId === undefined) return 'this cluster is in no clusterset: run "isthmus gateway join" and a gateway';
    const members = this.#state.members(clusterId);
    if (members === undefined || members.prefixes.length === 0) await this.#withdraw();
    if (members === undefined) {
      return `there is no ClustersetMember "${clusterId}": this cluster has left its clusterset, or the broker has ` +
        'not sent it yet';
    }
    if (members.prefixes.length === 0) {
      return 'this cluster has no IPv4 pod range of its own, and the pod plane carries IPv4 alone: let it leave, and ' +
        'join again with --cluster-cidr';
    }
    const own = this.#state.node(this.#options.node);
    if (own === undefined) {
      return `there is no Node "${this.#options.node}" with an IPv4 InternalIP; name this node with --node-name`;
    }
    return isGateway ? this.#beGateway(clusterId, own, members) : this.#beWorker(own, members);
  }

  async #beWorker(own: PlaneNode, { prefixes, remoteRanges }: PlaneMembers): Promise<string | undefined> {
    const { gateway } = this.#state;
    // between two gateways the existing network stays
    if (gateway === undefined || gateway.name === own.name) return undefined;
    this.#agent ??= this.#options.makeAgent();
    await this.#agent.use({
      nodeAddress: own.address, gatewayAddress: gateway.address, remoteRanges,
      podRanges: prefixes.map((prefix) => prefix.own), mtu: tunnelMtu(this.#options.pathMtu),
    });
    return undefined;
  }

  async #beGateway(clusterId: string, own: PlaneNode, members: PlaneMembers): Promise<string | undefined> {
    const { client, namespace, fence } = this.#options;
    const keys = await keepPlaneKeys(client.fencedBy(fence), namespace, {
      secret: this.#state.keySecret, isAnnounced: (publicKeys) => this.#state.isAnnounced(clusterId, publicKeys),
    });
    this.#rotationDueMs = keys.lookAgainMs === undefined ? undefined : performance.now() + keys.lookAgainMs;
    const nodes = this.#state.nodes();
    const addresses = this.#options.addresses ?? announcedAddresses(own, nodes, this.#options.listenPort);
    const workers = workersOf(nodes, own.name);
    await this.#agent?.release();
    this.#agent = undefined;
    this.#driver ??= await this.#start(clusterId, { own, members, keys, workers, isReachable: addresses.length > 0 });
    const driver = this.#driver;
    driver.usePrefixes(members.prefixes);
    driver.useWorkers(workers);
    driver.useKey(keys.privateKey);
    const wanted = new Set(members.peers.map((peer) => peer.clusterId));
    for (const connection of driver.connections()) {
      if (!wanted.has(connection.clusterId)) driver.disconnect(connection.clusterId);
    }
    for (const peer of members.peers) driver.connect(peer);
    await this.#announce(clusterId, addresses, keys.publicKeys);
    return undefined;
  }

  async #start(clusterId: string, of: {
    readonly own: PlaneNode; readonly members: PlaneMembers; readonly keys: PlaneKeys;
    readonly workers: ReturnType<typeof workersOf>; readonly isReachable: boolean
  }): Promise<WireguardDriver> {
    const { program, listenPort, pathMtu, changed, logger, startDriver = startWireguardDriver } = this.#options;
    const driver = await startDriver({
      clusterId, program, names: LINK_NAMES, listenPort, privateKey: of.keys.privateKey, prefixes: of.members.prefixes,
      isReachable: of.isReachable, pathMtu, nodeAddress: of.own.address, workers: of.workers, changed, logger,
    });
    logger.info({ cluster: clusterId, node: of.own.name }, 'this node is the gateway of the pod plane');
    return driver;
  }

  /** Whoever was a peer of a cluster that has left knows its key, and must not get in any more. */
  async #withdraw(): Promise<void> {
    if (this.#driver !== undefined) await this.#stopDriver();
    await this.#agent?.close();
    this.#agent = undefined;
  }

  async #stopDriver(): Promise<void> {
    const driver = this.#driver;
    this.#driver = undefined;
    await driver?.close();
    this.#options.logger.info({ node: this.#options.node }, 'this node is no longer the gateway of the pod plane');
  }

  /** The API plane's gateway sends it to the broker. */
  async #announce(clusterID: string, addresses: readonly string[], publicKeys: readonly string[]): Promise<void> {
    const { client, namespace, fence } = this.#options;
    const name = endpointObjectName(clusterID, POD_PLANE_BACKEND);
    const spec = { clusterID, backend: POD_PLANE_BACKEND, addresses, publicKeys };
    const known = this.#state.endpoint(name);
    if (
      JSON.stringify([known?.spec.addresses ?? [], known?.spec.publicKeys]) === JSON.stringify([addresses, publicKeys])
    ) return;
    const endpoint: ClustersetEndpoint = {
      metadata: { namespace, name, labels: { [OWN_ENDPOINT_LABEL]: TRUE } }, spec,
    };
    await client.fencedBy(fence).apply(CLUSTERSET_ENDPOINTS, endpoint, FIELD_MANAGER);
  }
}

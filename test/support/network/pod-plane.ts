// A pod plane over a NetworkWorld: keys, ranges, gateways on the gateway nodes, route agents on the workers, and a
// server in each pod.
import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CableConnection } from '../../../gateway/protocol/cable-driver.ts';
import { publicKeyOf } from '../../../gateway/protocol/wireguard-keys.ts';
import type { PodPeer } from '../../../pod-plane/plan/pod-plane-plan.ts';
import { podPrefixes, seenAddress, type ClusterRanges, type PodPrefix } from '../../../model/network/pod-addresses.ts';
import type { PodAnswer, PodQuestion } from './namespace-pod.ts';
import {
  NetworkWorld, type ClusterWiring, type NamespaceProgram, type NetworkCluster, type NetworkNode,
} from './network-world.ts';
import type { GatewayQuestion } from './pod-plane-gateway.ts';

const GATEWAY = new URL('pod-plane-gateway.js', import.meta.url);
const POD = new URL('namespace-pod.js', import.meta.url);
const PATH_MTU = 1_500;
const TIMEOUT_MS = 30_000;

/** A cluster on the pod plane. */
export interface PlaneCluster extends NetworkCluster {
  readonly privateKey: string;
  readonly prefixes: readonly PodPrefix[];
  readonly servers: ReadonlyMap<string, NamespaceProgram>;
}

/** A private key for WireGuard, base64. */
export function newKey(): string {
  const { d = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  return Buffer.from(d, 'base64url').toString('base64');
}

/** Clusters whose pods reach one another. */
export class PodPlane {
  readonly world: NetworkWorld;
  readonly clusters: readonly PlaneCluster[];
  /** By the name of their node. */
  readonly gateways = new Map<string, NamespaceProgram>();
  readonly agents = new Map<string, NamespaceProgram>();
  readonly #program: string;

  private constructor(world: NetworkWorld, program: string) {
    this.world = world;
    this.#program = program;
    const ranges: ClusterRanges[] = world.clusters.map(
      ({ id, podCIDR }, index) => ({ clusterID: id, clusterCIDR: [podCIDR], globalCIDR: [`242.${index}.0.0/16`] }),
    );
    this.clusters = world.clusters.map((cluster, index) => ({
      ...cluster, privateKey: newKey(),
      prefixes: podPrefixes(ranges[index] as ClusterRanges, ranges), servers: this.#servers(cluster),
    }));
  }

  /** Wires the clusters; nothing of the pod plane is there yet. */
  static async make(wirings: readonly ClusterWiring[], program: string): Promise<PodPlane> {
    const world = await NetworkWorld.make(wirings);
    try {
      const plane = new PodPlane(world, program);
      await Promise.all(plane.clusters.flatMap(
        ({ servers }) => [...servers.values()].map((server) => server.ask({ ask: 'ready' } satisfies PodQuestion)),
      ));
      return plane;
    } catch (error) {
      await world.remove();
      throw error;
    }
  }

  #servers(cluster: NetworkCluster): ReadonlyMap<string, NamespaceProgram> {
    const pods = [cluster.gateway, cluster.worker].flatMap((node) => node.pods);
    return new Map(pods.map(({ name, namespace }) => [name, this.world.start(namespace, POD, name)]));
  }

  /**
   * Starts gateways and route agents everywhere, and waits until all cables are up. Gives how long that took, in ms.
   */
  async start(): Promise<number> {
    const begin = performance.now();
    await Promise.all(this.clusters.map((cluster) => this.startGateway(cluster, cluster.gateway)));
    await Promise.all(this.clusters.map((cluster) => this.startAgent(cluster, cluster.worker, cluster.gateway)));
    await this.untilConnected();
    return Math.round(performance.now() - begin);
  }

  /** A standby: a process that runs, and does nothing yet. */
  prepareGateway(node: NetworkNode): NamespaceProgram {
    const gateway = this.gateways.get(node.name) ?? this.world.start(node.namespace, GATEWAY);
    this.gateways.set(node.name, gateway);
    return gateway;
  }

  /** Starts a cluster's gateway on a node. */
  async startGateway(cluster: PlaneCluster, node: NetworkNode, privateKey = cluster.privateKey): Promise<void> {
    const gateway = this.prepareGateway(node);
    const workers = [cluster.gateway, cluster.worker].filter((one) => one !== node)
      .map(({ name, address, podCIDR }) => ({ name, address, podCIDR }));
    const options = {
      clusterId: cluster.id, program: this.#program, listenPort: 51_820,
      privateKey, prefixes: cluster.prefixes, isReachable: cluster.addresses.length > 0, pathMtu: PATH_MTU,
      nodeAddress: node.address, workers,
    };
    const { failure } =
      await gateway.ask<{ readonly failure: string }>({ ask: 'start', options } satisfies GatewayQuestion);
    if (failure !== '') throw new Error(`${node.name}: ${failure}`);
    for (const other of this.clusters) {
      if (other !== cluster) await gateway.ask({ ask: 'connect', peer: toPeer(other) } satisfies GatewayQuestion);
    }
  }

  /** Sends a node's traffic to other clusters to the gateway node. */
  async startAgent(cluster: PlaneCluster, node: NetworkNode, gateway: NetworkNode): Promise<void> {
    const agent = this.agents.get(node.name) ?? this.world.start(node.namespace, GATEWAY);
    this.agents.set(node.name, agent);
    const remoteRanges = this.clusters.filter((one) => one !== cluster)
      .flatMap(({ prefixes }) => prefixes.map(({ seen }) => seen));
    const facts = {
      nodeAddress: node.address, gatewayAddress: gateway.address, remoteRanges, podRanges: [cluster.podCIDR],
      mtu: PATH_MTU - 80,
    };
    const { failure } =
      await agent.ask<{ readonly failure: string }>({ ask: 'route', facts } satisfies GatewayQuestion);
    if (failure !== '') throw new Error(`${node.name}: ${failure}`);
  }

  /** Cables of the gateway on a node. */
  async connections(node: NetworkNode): Promise<readonly CableConnection[]> {
    return (await this.#gatewayOn(node).ask<{ readonly connections: readonly CableConnection[] }>(
      { ask: 'connections' } satisfies GatewayQuestion,
    )).connections;
  }

  #gatewayOn({ name }: NetworkNode): NamespaceProgram {
    const gateway = this.gateways.get(name);
    if (gateway === undefined) throw new Error(`no gateway on ${name}`);
    return gateway;
  }

  /** Asks the gateway on a node. */
  tell(node: NetworkNode, question: GatewayQuestion): Promise<unknown> {
    return this.#gatewayOn(node).ask(question);
  }

  /** Waits until each gateway is connected to all others. */
  async untilConnected(): Promise<void> {
    const deadline = performance.now() + TIMEOUT_MS;
    for (;;) {
      const all = (await Promise.all(this.clusters.map(({ gateway }) => this.connections(gateway)))).flat();
      if (all.every(({ status }) => status === 'connected')) return;
      if (performance.now() > deadline) throw new Error(
        `in vain for ${TIMEOUT_MS} ms: ${all.map(({ clusterId, status, statusMessage }) => `${clusterId} ${status} (${statusMessage})`).join('; ')}`,
      );
      await delay(100);
    }
  }

  /** Pods of a cluster with the address under which others reach them. */
  pods(cluster: PlaneCluster): readonly {
    readonly name: string; readonly node: NetworkNode; readonly address: string; readonly seen: string;
    readonly program: NamespaceProgram
  }[] {
    return [cluster.gateway, cluster.worker].flatMap((node) =>
      node.pods.map(
        ({ name, address }) => ({
          name, node, address, seen: seenAddress(cluster.prefixes, address) ?? '',
          program: cluster.servers.get(name) as NamespaceProgram,
        }),
      ),
    );
  }

  /** One HTTP request from a pod. */
  get(program: NamespaceProgram, url: string, timeoutMs = 5_000): Promise<PodAnswer> {
    return program.ask({ ask: 'get', url, timeoutMs } satisfies PodQuestion);
  }

  /** Ends gateways and agents properly; pods stay. */
  async stop(): Promise<void> {
    await Promise.all([...this.gateways.values(), ...this.agents.values()].map((program) => program.stop()));
    this.gateways.clear();
    this.agents.clear();
  }

  /** Ends them as a crash of all nodes would. */
  async kill(): Promise<void> {
    await Promise.all([...this.gateways.values(), ...this.agents.values()].map((program) => program.kill()));
    this.gateways.clear();
    this.agents.clear();
  }

  remove(): Promise<void> {
    return this.world.remove();
  }
}

/** A cluster as the others know it. */
export function toPeer(
  { id, addresses, privateKey, prefixes }: PlaneCluster, publicKeys = [publicKeyOf(privateKey)],
): PodPeer {
  return { clusterId: id, addresses, publicKeys, ranges: prefixes.map(({ seen }) => seen) };
}

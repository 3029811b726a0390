// The real nodes of one cluster, as its control plane starts and stops them.
import { AppError } from '../../process/errors.ts';
import type { Transport } from '../../kubernetes/http/transport.ts';
import type { ClusterNodes } from '../control-plane/cluster-nodes.ts';
import type { ClusterPlan } from '../plan/cluster-plan.ts';
import { realNodeObjects } from '../plan/node-objects.ts';
import type { RealNetworkPlan } from '../plan/real-node-plan.ts';
import type { Registry } from '../images/registry.ts';
import { removeCgroups } from './cgroups.ts';
import { clusterDnsObjects } from './cluster-dns.ts';
import { openClusterNetwork, removeInterface, type ClusterNetwork } from './cluster-network.ts';
import { raiseInotifyLimit, restoreInotifyLimit } from './inotify-limit.ts';
import { startRealNode, type NodeGround, type RealNode } from './real-node.ts';

/** What the nodes of all clusters share. */
export interface NodesShared extends Pick<NodeGround, 'machine' | 'programs' | 'runc' | 'onStart' | 'onFailure'> {
  readonly registry: Registry;
}

/** After its end was asked for, a node's cgroups are empty within seconds. */
const stopTimeoutMs = 30_000;

/** The nodes of one cluster; the network is there from {@link open} on. */
export class RealNodes implements ClusterNodes {
  readonly nodes: RealNode[] = [];
  readonly #plan: ClusterPlan & { readonly realNetwork: RealNetworkPlan };
  readonly #shared: NodesShared;
  #network: ClusterNetwork | undefined;
  #registryUrl = '';

  constructor(plan: ClusterPlan & { readonly realNetwork: RealNetworkPlan }, shared: NodesShared) {
    this.#plan = plan;
    this.#shared = shared;
  }

  async open(signal: AbortSignal): Promise<void> {
    await raiseInotifyLimit();
    this.#network = await openClusterNetwork(this.#plan, signal);
    this.#shared.onStart('network', this.#network.process.identity);
    this.#registryUrl = await this.#shared.registry.listen(this.#plan.address);
  }

  async start(api: Transport, signal: AbortSignal): Promise<void> {
    const network = this.#network;
    if (network === undefined) throw new AppError('StartFailed', `Cluster ${this.#plan.name} has no network.`);
    for (const node of realNodeObjects(this.#plan, this.#plan.realNetwork)) {
      await api.call({ method: 'POST', path: '/api/v1/nodes', body: node }, signal);
    }
    const { machine, programs, runc, onStart, onFailure } = this.#shared;
    const ground = {
      cluster: this.#plan, network, machine, programs, runc, onStart, onFailure, registry: this.#registryUrl,
    };
    for (const plan of this.#plan.realNetwork.nodes) this.nodes.push(await startRealNode(plan, ground, signal));
    if (this.nodes.length === 0) return;
    for (const [path, body] of clusterDnsObjects(this.#plan)) await api.call({ method: 'POST', path, body }, signal);
  }

  async stop(): Promise<void> {
    const signal = AbortSignal.timeout(stopTimeoutMs);
    await Promise.all(this.nodes.map((node) => node.crash(signal)));
    await this.#network?.close();
    await restoreInotifyLimit();
  }
}

/** What real nodes have outside the sandbox's folder, by the names that their record keeps. */
export interface NodeTraces {
  readonly interfaces: readonly string[];
  readonly cgroups: readonly string[];
}

/** Removes the traces of killed nodes; their processes have ended. */
export async function clearTraces({ interfaces, cgroups }: NodeTraces, signal: AbortSignal): Promise<void> {
  for (const name of interfaces) await removeInterface(name);
  for (const cgroup of cgroups) await removeCgroups(cgroup, signal);
  await restoreInotifyLimit();
}

// The network of a cluster with real nodes: a bridge in a network namespace of its own, where no firewall of this
// machine reaches, this machine on it as the control plane's host, and the nodes. It ends with its process.
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { ClusterPlan } from '../plan/cluster-plan.ts';
import type { RealNetworkPlan, RealNodePlan } from '../plan/real-node-plan.ts';
import type { ComponentProcess } from '../processes/component-process.ts';
import { runInNetwork, runTool, startNamespaceProcess, type NamespaceProcess } from './namespace-process.ts';
import { SWITCH } from './node-scripts.ts';

/** A network that is up. */
export interface ClusterNetwork {
  readonly process: ComponentProcess;
  /** Connects a node's namespace, and routes its pods. */
  connect(node: RealNodePlan, pid: number): Promise<void>;
  /** Takes this machine off it, and ends it. */
  close(): Promise<void>;
}

/** An address with the length of all nodes' prefixes. IPv6's search for another owner of it would take seconds. */
function onLink(address: string): readonly string[] {
  return address.includes(':') ? [`${address}/64`, 'nodad'] : [`${address}/24`];
}

/** The routes of a node's pods, through its address of the same family. */
function podRoutes({ podRanges, addresses }: RealNodePlan): readonly (readonly [range: string, via: string])[] {
  return podRanges.map((range, index) => [range, addresses[index] ?? '']);
}

/** A pair of interfaces: `name` in the namespace of `pid`, default: here, and a port of the bridge. */
async function plug(bridge: NamespaceProcess, name: string, port: string, pid: number): Promise<void> {
  await runInNetwork(
    bridge.pid, 'ip', 'link', 'add', port, 'type', 'veth', 'peer', 'name', name, 'netns', String(pid),
  );
  await runInNetwork(bridge.pid, 'ip', 'link', 'set', port, 'master', 'bridge', 'up');
}

/** This machine reaches pods for webhooks and aggregated API servers, through the nodes that they run on. */
async function connectMachine(plan: RealNetworkPlan, bridge: NamespaceProcess): Promise<void> {
  await plug(bridge, plan.interface, 'machine', process.pid);
  await runTool('ip', 'link', 'set', plan.interface, 'up');
  for (const address of plan.addresses) await runTool('ip', 'addr', 'add', ...onLink(address), 'dev', plan.interface);
  for (const [range, via] of plan.nodes.flatMap(podRoutes)) await runTool('ip', 'route', 'add', range, 'via', via);
}

async function connectNode(
  plan: RealNetworkPlan, bridge: NamespaceProcess, node: RealNodePlan, pid: number,
): Promise<void> {
  await plug(bridge, 'eth0', node.name.slice(-15), pid);
  const ip = (...args: readonly string[]): Promise<void> => runInNetwork(pid, 'ip', ...args);
  await ip('link', 'set', 'lo', 'up');
  await ip('link', 'set', 'eth0', 'up');
  for (const address of node.addresses) await ip('addr', 'add', ...onLink(address), 'dev', 'eth0');
  for (const address of plan.addresses) await ip('route', 'add', 'default', 'via', address);
  const others = plan.nodes.filter(({ name }) => name !== node.name);
  for (const [range, via] of others.flatMap(podRoutes)) await ip('route', 'add', range, 'via', via);
  await runInNetwork(pid, 'nft', '-f', join(node.directory, 'masquerade.nft'));
}

/** Removes an interface of this machine with all routes through it; the kernel would be slower to. */
export async function removeInterface(name: string): Promise<void> {
  const isThere = Object.keys(networkInterfaces()).includes(name);
  if (isThere) await runTool('ip', 'link', 'delete', name);
}

/** Brings the network up, with this machine on it. */
export async function openClusterNetwork(
  plan: ClusterPlan & { readonly realNetwork: RealNetworkPlan }, signal: AbortSignal,
): Promise<ClusterNetwork> {
  const { realNetwork, name, directory } = plan;
  const ready = join(directory, 'network-ready');
  const bridge = await startNamespaceProcess({
    name: `${name}/network`,
    command: ['unshare', '--net', '--fork', '--kill-child', 'sh', '-c', SWITCH, 'sh', ready],
    cwd: directory,
    logPath: join(directory, 'network.log'),
  }, ready, signal);
  try {
    await connectMachine(realNetwork, bridge);
  } catch (error) {
    await bridge.component.kill();
    throw error;
  }
  return {
    process: bridge.component,
    connect: (node, pid) => connectNode(realNetwork, bridge, node, pid),
    close: async () => {
      await removeInterface(realNetwork.interface);
      await bridge.component.kill();
    },
  };
}

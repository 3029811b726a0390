// The pod plane as users run it: two clusters with real API servers, a broker and gateways (clusterset-world.ts), their nodes and pods as network
// namespaces (network-world.ts), and on each node the command `isthmus gateway node`. Nodes reach their API server over a Unix socket, so that nothing
// but the pod plane joins the clusters. What kube-proxy would do for Services is done by `syncServices`.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KubernetesObject, Lease, Node } from '../../api/core.ts';
import { GATEWAYS, LEASES, NODES, SERVICES } from '../../api/resource-types.ts';
import { ENDPOINT_SLICES, SERVICE_NAME_LABEL } from '../../api/service-discovery.ts';
import { readLeaseIdentity } from '../../gateway/plane-nodes.ts';
import { POD_PLANE_LEASE } from '../../gateway/pod-plane-controller.ts';
import { INSTALL_NAMESPACE, startClustersetWorld, untilEqual, type ClustersetWorld, type Member } from './clusterset-world.ts';
import type { PodAnswer, PodQuestion } from './namespace-pod.ts';
import { NetworkWorld, type ClusterWiring, type NamespaceProgram, type NetworkCluster, type NetworkNode } from './network-world.ts';

const COMMAND = new URL('../../cli/main.js', import.meta.url).pathname;
const RELAY = new URL('namespace-relay.js', import.meta.url);
const POD = new URL('namespace-pod.js', import.meta.url);

/** One cluster. */
export interface PlaneWorldCluster {
  readonly id: string;
  readonly member: Member;
  readonly network: NetworkCluster;
  readonly nodes: readonly NetworkNode[];
  /** By the name of the pod. */
  readonly pods: ReadonlyMap<string, { readonly node: NetworkNode; readonly namespace: string; readonly address: string; readonly program: NamespaceProgram }>;
}

/** The world. */
export class PodPlaneWorld {
  readonly dir: string;
  readonly network: NetworkWorld;
  readonly clusterset: ClustersetWorld;
  readonly clusters: readonly [PlaneWorldCluster, PlaneWorldCluster];
  readonly #program: string;
  readonly #bridges: readonly Server[];
  readonly #commands = new Map<string, ChildProcess>();

  constructor(parts: { readonly dir: string; readonly network: NetworkWorld; readonly clusterset: ClustersetWorld; readonly clusters: readonly [PlaneWorldCluster, PlaneWorldCluster]; readonly program: string; readonly bridges: readonly Server[] }) {
    this.dir = parts.dir;
    this.network = parts.network;
    this.clusterset = parts.clusterset;
    this.clusters = parts.clusters;
    this.#program = parts.program;
    this.#bridges = parts.bridges;
  }

  /** Starts `isthmus` with these arguments on a node, in a process id namespace of its own: a killed one then looks as on another machine, whose lease must run out. */
  startCommand(name: string, cluster: PlaneWorldCluster, node: NetworkNode, args: readonly string[]): void {
    const log = openSync(join(this.dir, `${name}.log`), 'a');
    const command = ['netns', 'exec', node.namespace, 'unshare', '--uts', '--pid', '--fork', '--kill-child', process.execPath, COMMAND, ...args, '--kubeconfig', cluster.member.kubeconfig];
    this.#commands.set(name, spawn('ip', command, { stdio: ['ignore', log, log] }));
  }

  startNode(cluster: PlaneWorldCluster, node: NetworkNode): void {
    const addresses = cluster.network.addresses.length === 0 ? ['--address', 'none'] : [];
    this.startCommand(node.name, cluster, node, ['gateway', 'node', '--node-name', node.name, '--wireguard', this.#program, ...addresses]);
  }

  /** Ends a command as a crash would, or as it is asked to. */
  async end(name: string, how: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#commands.get(name);
    if (child === undefined) return;
    this.#commands.delete(name);
    const ended = once(child, 'exit');
    if (how === 'SIGKILL') child.kill('SIGKILL');
    else process.kill(await innermost(child.pid ?? 0), how); // what unshare has started is process 1 of its namespace; unshare itself passes no signals on
    await ended;
  }

  async logOf(name: string): Promise<string> {
    return readFile(join(this.dir, `${name}.log`), 'utf8').catch(() => '');
  }

  /** Which node is the gateway, as the Lease says. */
  async gatewayOf({ member }: PlaneWorldCluster): Promise<string> {
    const lease: Lease = await member.client.get(LEASES, { namespace: INSTALL_NAMESPACE, name: POD_PLANE_LEASE });
    return readLeaseIdentity(lease.spec?.holderIdentity ?? '').node;
  }

  /** States of the cables of the pod plane of a cluster, as its Gateway objects show them. */
  async cablesOf({ member }: PlaneWorldCluster): Promise<readonly string[]> {
    const gateways = await member.client.list(GATEWAYS, { namespace: INSTALL_NAMESPACE });
    return gateways.filter(({ status }) => status?.backend === 'wireguard' && status.haStatus === 'active').flatMap(({ status }) => status?.connections.map((one) => `${one.endpoint.clusterID} ${one.status}`) ?? []);
  }

  /** Starts the command on all nodes, and waits until pods are reached; gives how long that took, in ms. */
  async start(): Promise<number> {
    const begin = performance.now();
    for (const cluster of this.clusters) for (const node of cluster.nodes) this.startNode(cluster, node);
    const [one, other] = this.clusters;
    await Promise.all([untilEqual('cables', () => this.cablesOf(one), [`${other.id} connected`], 60_000), untilEqual('cables', () => this.cablesOf(other), [`${one.id} connected`], 60_000)]);
    return Math.round(performance.now() - begin);
  }

  /** Rules for all Services with an address and ready endpoints, on all nodes, as kube-proxy makes them: spread at random, translated before routing. */
  async syncServices({ member: { client }, nodes }: PlaneWorldCluster): Promise<void> {
    const [services, slices] = await Promise.all([client.list(SERVICES), client.list(ENDPOINT_SLICES)]);
    const rules = services.flatMap(({ metadata, spec }) => {
      if (spec?.clusterIP === undefined || spec.clusterIP === 'None') return [];
      const own = slices.filter((slice) => slice.metadata.namespace === metadata.namespace && slice.metadata.labels?.[SERVICE_NAME_LABEL] === metadata.name);
      return (spec.ports ?? []).flatMap((port) => {
        const targets = own.flatMap((slice) => {
          const found = slice.ports?.find(({ name = '' }) => name === (port.name ?? ''))?.port;
          return found === undefined ? [] : (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false).map(({ addresses }) => `${addresses[0]} . ${found}`);
        });
        if (targets.length === 0) return [];
        const map = targets.map((target, index) => `${index} : ${target}`).join(', ');
        return [`ip daddr ${spec.clusterIP} tcp dport ${port.port} dnat ip to numgen random mod ${targets.length} map { ${map} }\n`];
      });
    });
    const ruleset = `table ip proxy\ndelete table ip proxy\ntable ip proxy { chain pre { type nat hook prerouting priority dstnat; ${rules.join(' ')} }\n }`;
    for (const { namespace } of nodes) await this.network.exec(namespace, 'nft', ruleset);
  }

  /** `curl` from a pod whose resolver is at this address; gives the answer's body. Throws with what curl said. */
  async curl(podNamespace: string, resolver: string, url: string): Promise<string> {
    const file = join(this.dir, `resolv-${resolver}.conf`);
    await writeFile(file, `nameserver ${resolver}\noptions timeout:2 attempts:2\n`);
    const script = `mount --bind ${file} /etc/resolv.conf && exec curl --silent --show-error --fail --max-time 5 ${url}`;
    return (await promisify(execFile)('ip', ['netns', 'exec', podNamespace, 'unshare', '--mount', 'sh', '-c', script])).stdout;
  }

  async stop(): Promise<void> {
    for (const name of this.#commands.keys()) await this.end(name, 'SIGKILL');
    await this.network.remove();
    for (const bridge of this.#bridges) bridge.close();
    await this.clusterset.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** The process at the end of a line of only children. */
async function innermost(pid: number): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').filter((text) => text !== '');
  return children[0] === undefined ? pid : innermost(Number(children[0])).catch(() => pid);
}

/** A pod's question and answer. */
export function ask(program: NamespaceProgram, question: PodQuestion): Promise<PodAnswer> {
  return program.ask<PodAnswer>(question);
}

/** Makes the world; no node runs anything of ours yet. Wirings are of `eu` and `us`. */
export async function startPodPlaneWorld(wirings: readonly [ClusterWiring, ClusterWiring], program: string): Promise<PodPlaneWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-plane-'));
  const clusterset = await startClustersetWorld({ ranges: wirings.map(({ pods }) => `${pods}.0.0/16`) });
  const network = await NetworkWorld.make(wirings);
  const bridges: Server[] = [];
  const clusters = await Promise.all(
    clusterset.members.map(async (member, index) => {
      const wired = network.clusters[index];
      if (wired === undefined) throw new Error('a cluster is not wired');
      bridges.push(await reachApiServer({ network, nodes: nodesOf(wired), kubeconfig: member.kubeconfig, socketPath: join(dir, `${member.id}.sock`) }));
      for (const node of nodesOf(wired)) await makeNode(member, node, node !== wired.worker);
      const pods = nodesOf(wired).flatMap((node) => node.pods.map((pod) => [pod.name, { ...pod, node, program: network.start(pod.namespace, POD, pod.name) }] as const));
      await Promise.all(pods.map(([, { program: pod }]) => pod.ask({ ask: 'ready' } satisfies PodQuestion)));
      return { id: member.id, member, network: wired, nodes: nodesOf(wired), pods: new Map(pods) };
    }),
  );
  return new PodPlaneWorld({ dir, network, clusterset, clusters: clusters as unknown as readonly [PlaneWorldCluster, PlaneWorldCluster], program, bridges });
}

function nodesOf({ gateway, standby, worker }: NetworkCluster): readonly NetworkNode[] {
  return [gateway, standby, worker];
}

/** The port of a kubeconfig's API server, on the loopback of each node. */
async function reachApiServer({ network, nodes, kubeconfig, socketPath }: { readonly network: NetworkWorld; readonly nodes: readonly NetworkNode[]; readonly kubeconfig: string; readonly socketPath: string }): Promise<Server> {
  const [, port = ''] = /server: "?https:\/\/127\.0\.0\.1:(\d+)/.exec(await readFile(kubeconfig, 'utf8')) ?? /"server":\s*"https:\/\/127\.0\.0\.1:(\d+)/.exec(await readFile(kubeconfig, 'utf8')) ?? [];
  if (port === '') throw new Error(`no API server on loopback in ${kubeconfig}`);
  const bridge = createServer((socket) => {
    const far = connect({ host: '127.0.0.1', port: Number(port) });
    for (const [from, to] of [[socket, far], [far, socket]] as const) from.on('error', () => undefined).on('close', () => to.destroy()).pipe(to);
  });
  await new Promise<void>((resolve) => bridge.listen(socketPath, resolve));
  await Promise.all(nodes.map(({ namespace }) => network.start(namespace, RELAY, port, socketPath).ask({ ask: 'ready' })));
  return bridge;
}

async function makeNode({ client }: Member, { name, address, podCIDR }: NetworkNode, isGateway: boolean): Promise<void> {
  const labels = isGateway ? { 'isthmus.dev/gateway': 'true' } : {};
  await client.create(NODES, { metadata: { name, labels }, spec: { podCIDR, taints: [] } } as KubernetesObject);
  const status: Node['status'] = { addresses: [{ type: 'InternalIP', address }] };
  await client.patch(NODES, { name, subresource: 'status' }, { patchType: 'merge', patch: { status } });
}

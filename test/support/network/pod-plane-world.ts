// The pod plane as users run it: two clusters with real API servers, a broker and gateways (clusterset-world.ts), their
// nodes and pods as network namespaces (network-world.ts), and on each node the command `isthmus gateway node`. Nodes
// reach their API server through a process beside them, so that nothing but the pod plane joins the clusters. What
// kube-proxy would do for Services is done by `syncServices`.
import { execFile, fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:net';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KubernetesObject, Lease, Node } from '../../../api/objects/core.ts';
import { CLUSTERSET_GATEWAYS, LEASES, NODES, SERVICES } from '../../../api/resource-types.ts';
import { SERVICE_NAME_LABEL } from '../../../api/kinds/service-discovery.ts';
import { ENDPOINT_SLICES } from '../../../api/objects/endpoint-slice.ts';
import { readLeaseIdentity } from '../../../pod-plane/plan/plane-nodes.ts';
import { POD_PLANE_LEASE } from '../../../pod-plane/nodes/pod-plane-state.ts';
import {
  INSTALL_NAMESPACE, startClustersetWorld, untilEqual, type ClustersetWorld, type Member,
} from '../worlds/clusterset-world.ts';
import type { PodAnswer, PodQuestion } from './namespace-pod.ts';
import {
  NetworkWorld, type ClusterWiring, type NamespaceProgram, type NetworkCluster, type NetworkNode,
} from './network-world.ts';

const COMMAND = new URL('../../../cli/main.js', import.meta.url).pathname;
const BRIDGE = new URL('api-server-bridge.js', import.meta.url);
const PORT = new URL('namespace-port.js', import.meta.url);
/** A wire does not wait for a processor: in a busy machine it would be the slowest part by far. */
const WIRE_PRIORITY = -15;
/** Six processes start at once, on whatever machine. */
const TIMEOUT_MS = 180_000;
const POD = new URL('namespace-pod.js', import.meta.url);

/** One cluster. */
export interface PlaneWorldCluster {
  readonly id: string;
  readonly member: Member;
  readonly network: NetworkCluster;
  readonly nodes: readonly NetworkNode[];
  /** By the name of the pod. */
  readonly pods: ReadonlyMap<
    string,
    {
      readonly node: NetworkNode; readonly namespace: string; readonly address: string;
      readonly program: NamespaceProgram
    }
  >;
}

/** The world. */
export class PodPlaneWorld {
  readonly dir: string;
  readonly network: NetworkWorld;
  readonly clusterset: ClustersetWorld;
  readonly clusters: readonly [PlaneWorldCluster, PlaneWorldCluster];
  readonly #program: string;
  readonly #bridges: readonly ChildProcess[];
  readonly #commands = new Map<string, ChildProcess>();
  /** By cluster, what its nodes have. */
  readonly #rulesets = new Map<string, string>();

  constructor(parts: {
    readonly dir: string; readonly network: NetworkWorld; readonly clusterset: ClustersetWorld;
    readonly clusters: readonly [PlaneWorldCluster, PlaneWorldCluster]; readonly program: string;
    readonly bridges: readonly ChildProcess[]
  }) {
    this.dir = parts.dir;
    this.network = parts.network;
    this.clusterset = parts.clusterset;
    this.clusters = parts.clusters;
    this.#program = parts.program;
    this.#bridges = parts.bridges;
  }

  /**
   * Starts `isthmus` with these arguments on a node, in a process id namespace of its own: a killed one then looks as
   * on another machine, whose lease must run out.
   */
  startCommand(name: string, cluster: PlaneWorldCluster, node: NetworkNode, args: readonly string[]): void {
    const log = openSync(join(this.dir, `${name}.log`), 'a');
    const command = [
      'netns', 'exec', node.namespace, 'unshare', '--uts', '--pid', '--fork', '--kill-child', process.execPath, COMMAND,
      ...args, '--kubeconfig', cluster.member.kubeconfig,
    ];
    this.#commands.set(name, spawn('ip', command, { stdio: ['ignore', log, log] }));
  }

  startNode(cluster: PlaneWorldCluster, node: NetworkNode): void {
    const addresses = cluster.network.addresses.length === 0 ? ['--address', 'none'] : [];
    this.startCommand(node.name, cluster, node, [
      'gateway', 'node', '--node-name', node.name, '--wireguard', this.#program, ...addresses,
    ]);
  }

  /** Ends a command as a crash would, or as it is asked to. */
  async end(name: string, how: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#commands.get(name);
    if (child === undefined) return;
    this.#commands.delete(name);
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(
      `${name} had ended by itself (${child.exitCode ?? child.signalCode}):\n${(await this.logOf(name)).slice(-2_000)}`,
    );
    const ended = once(child, 'exit');
    if (how === 'SIGKILL') child.kill('SIGKILL');
    // what unshare has started is process 1 of its namespace; unshare itself passes no signals on
    else process.kill(await commandBelow(child.pid ?? 0), how);
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

  /** States of the cables of the pod plane of a cluster, as its ClustersetGateway objects show them. */
  async cablesOf({ member }: PlaneWorldCluster): Promise<readonly string[]> {
    const gateways = await member.client.list(CLUSTERSET_GATEWAYS, { namespace: INSTALL_NAMESPACE });
    return gateways.filter(({ status }) => status?.backend === 'wireguard' && status.haStatus === 'active')
      .flatMap(({ status }) => status?.connections.map((one) => `${one.endpoint.clusterID} ${one.status}`) ?? []);
  }

  /** Starts the command on all nodes, and waits until pods are reached; gives how long that took, in ms. */
  async start(): Promise<number> {
    const begin = performance.now();
    for (const cluster of this.clusters) for (const node of cluster.nodes) this.startNode(cluster, node);
    const [one, other] = this.clusters;
    const connected = (from: PlaneWorldCluster, to: PlaneWorldCluster) =>
      untilEqual(`cables of ${from.id}`, () => this.cablesOf(from), [`${to.id} connected`], TIMEOUT_MS);
    await Promise.all([connected(one, other), connected(other, one)]).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await this.#account()}`);
    });
    return Math.round(performance.now() - begin);
  }

  /** What each node says of itself, for a failure's message. */
  async #account(): Promise<string> {
    const gateways = await Promise.all(
      this.clusters.map(({ member }) => member.client.list(CLUSTERSET_GATEWAYS, { namespace: INSTALL_NAMESPACE })),
    );
    const logs = await Promise.all(this.clusters.flatMap(({ nodes }) => nodes).map(
      async ({ name }) => `${name}: ${(await this.logOf(name)).slice(-2_000)}`,
    ));
    return [
      ...gateways.flat().map(({ metadata, status }) => `${metadata.name}: ${JSON.stringify(status)}`), ...logs,
    ].join('\n');
  }

  /**
   * Rules for all Services with an address and ready endpoints, on all nodes, as kube-proxy makes them: spread at
   * random, translated before routing.
   */
  async syncServices({ id, member: { client }, nodes }: PlaneWorldCluster): Promise<void> {
    const [services, slices] = await Promise.all([client.list(SERVICES), client.list(ENDPOINT_SLICES)]);
    const rules = services.flatMap(({ metadata, spec }) => {
      if (spec?.clusterIP === undefined || spec.clusterIP === 'None') return [];
      const own = slices.filter(
        (slice) =>
          slice.metadata.namespace === metadata.namespace
            && slice.metadata.labels?.[SERVICE_NAME_LABEL] === metadata.name,
      );
      return (spec.ports ?? []).flatMap((port) => {
        const targets = own.flatMap((slice) => {
          const found = slice.ports?.find(({ name = '' }) => name === (port.name ?? ''))?.port;
          return found === undefined ? [] : (slice.endpoints ?? [])
            .filter(({ conditions }) => conditions?.ready !== false)
            .map(({ addresses }) => `${addresses[0]} . ${found}`);
        });
        if (targets.length === 0) return [];
        const map = targets.map((target, index) => `${index} : ${target}`).join(', ');
        return [
          `ip daddr ${spec.clusterIP} tcp dport ${port.port} dnat ip to numgen random mod ${targets.length} map { ` +
            `${map} }\n`,
        ];
      });
    });
    const translate = `chain pre { type nat hook prerouting priority dstnat; ${rules.join(' ')} }\n`;
    if (this.#rulesets.get(id) === translate) return;
    for (const { namespace, podCIDR } of nodes) {
      // An answer of a pod on the same node, or of the asking pod itself, must come back this way.
      const comeBack =
        `chain post { type nat hook postrouting priority srcnat; ip saddr ${podCIDR} ip daddr ${podCIDR} ct status ` +
          'dnat masquerade\n }\n';
      await this.network.exec(
        namespace, 'nft', `table ip proxy\ndelete table ip proxy\ntable ip proxy { ${translate} ${comeBack} }`,
      );
    }
    this.#rulesets.set(id, translate);
  }

  /** `curl` from a pod whose resolver is at this address; gives the answer's body. Throws with what curl said. */
  async curl(podNamespace: string, resolver: string, url: string): Promise<string> {
    const file = join(this.dir, `resolv-${resolver}.conf`);
    await writeFile(file, `nameserver ${resolver}\noptions timeout:2 attempts:2\n`);
    const script =
      `mount --bind ${file} /etc/resolv.conf && exec curl --silent --show-error --fail --max-time 5 ${url}`;
    return (
      await promisify(execFile)('ip', ['netns', 'exec', podNamespace, 'unshare', '--mount', 'sh', '-c', script])
    ).stdout;
  }

  async stop(): Promise<void> {
    for (const child of this.#commands.values()) child.kill('SIGKILL'); // --kill-child
    await this.network.remove();
    for (const bridge of this.#bridges) bridge.kill('SIGKILL');
    await this.clusterset.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** The process of ours below this one: a gateway has children itself. */
async function commandBelow(pid: number): Promise<number> {
  if ((await readlink(`/proc/${pid}/exe`)) === process.execPath) return pid;
  const [child] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
  if (child === undefined || child === '') throw new Error(`process ${pid} has started nothing`);
  return commandBelow(Number(child));
}

/** A pod's question and answer. */
export function ask(program: NamespaceProgram, question: PodQuestion): Promise<PodAnswer> {
  return program.ask<PodAnswer>(question);
}

/** Makes the world; no node runs anything of ours yet. Wirings are of `eu` and `us`. */
export async function startPodPlaneWorld(
  wirings: readonly [ClusterWiring, ClusterWiring], program: string,
): Promise<PodPlaneWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-plane-'));
  const clusterset = await startClustersetWorld({ ranges: wirings.map(({ pods }) => `${pods}.0.0/16`) });
  const network = await NetworkWorld.make(wirings);
  const bridges: ChildProcess[] = [];
  const clusters = await Promise.all(
    clusterset.members.map(async (member, index) => {
      const wired = network.clusters[index];
      if (wired === undefined) throw new Error('a cluster is not wired');
      bridges.push(await reachApiServer(nodesOf(wired), member.kubeconfig));
      for (const node of nodesOf(wired)) await makeNode(member, node, node !== wired.worker);
      const pods = nodesOf(wired).flatMap((node) => node.pods.map(
        (pod) => [pod.name, { ...pod, node, program: network.start(pod.namespace, POD, pod.name) }] as const,
      ));
      await Promise.all(pods.map(([, { program: pod }]) => pod.ask({ ask: 'ready' } satisfies PodQuestion)));
      return { id: member.id, member, network: wired, nodes: nodesOf(wired), pods: new Map(pods) };
    }),
  );
  return new PodPlaneWorld({
    dir, network, clusterset, clusters: clusters as unknown as readonly [PlaneWorldCluster, PlaneWorldCluster], program,
    bridges,
  });
}

function nodesOf({ gateway, standby, worker }: NetworkCluster): readonly NetworkNode[] {
  return [gateway, standby, worker];
}

/** The port of a kubeconfig's API server, on the loopback of each node. */
async function reachApiServer(nodes: readonly NetworkNode[], kubeconfig: string): Promise<ChildProcess> {
  const [, port = ''] = /"?server"?:\s*"?https:\/\/127\.0\.0\.1:(\d+)/.exec(await readFile(kubeconfig, 'utf8')) ?? [];
  if (port === '') throw new Error(`no API server on loopback in ${kubeconfig}`);
  const bridge = fork(BRIDGE, [port]);
  setPriority(bridge.pid ?? 0, WIRE_PRIORITY);
  for (const { namespace } of nodes) {
    const opener = spawn('ip', ['netns', 'exec', namespace, process.execPath, PORT.pathname, port], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [, handle] = (await once(opener, 'message')) as unknown as readonly [string, Server];
    const taken = once(bridge, 'message');
    bridge.send('port', handle);
    await taken;
    handle.close();
    opener.kill('SIGKILL'); // it would take connections as well
  }
  return bridge;
}

async function makeNode(
  { client }: Member, { name, address, podCIDR }: NetworkNode, isGateway: boolean,
): Promise<void> {
  const labels = isGateway ? { 'isthmus.dev/gateway': 'true' } : {};
  await client.create(NODES, { metadata: { name, labels }, spec: { podCIDR, taints: [] } } as KubernetesObject);
  const status: Node['status'] = { addresses: [{ type: 'InternalIP', address }] };
  await client.patch(NODES, { name, subresource: 'status' }, { patchType: 'merge', patch: { status } });
}

// Two clusters of real nodes in a clusterset, set up as users do it: the broker by its command, gateway, pod plane and
// service discovery by the chart, CoreDNS with our stub. A cable between the switches joins the clusters: over it nodes
// reach nodes; no pod reaches the other cluster without the pod plane.
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import type { KubernetesObject, Lease, Pod } from '../../../api/objects/core.ts';
import { CLUSTERSET_GATEWAYS, LEASES, NAMESPACES, PODS, SERVICES } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { hostPort } from '../../../model/network/socket-address.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { POD_PLANE_LEASE } from '../../../pod-plane/nodes/pod-plane-state.ts';
import { readLeaseIdentity } from '../../../pod-plane/plan/plane-nodes.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import { runInNetwork } from '../../../sandbox/real-nodes/namespace-process.ts';
import type { RealNode } from '../../../sandbox/real-nodes/real-node.ts';
import type { Sandbox, SandboxOptions } from '../../../sandbox/sandbox.ts';
import { untilEqual, INSTALL_NAMESPACE } from '../worlds/clusterset-world.ts';
import { isthmus } from '../processes/command-line.ts';
import { eventually } from '../history/eventually.ts';
import { firstProcess } from './first-process.ts';
import type { PodQuestion } from '../network/namespace-pod.ts';
import { CHART, Packaging } from '../peers/packaging.ts';
import {
  addIsthmusImage, addPeerImage, addPodPlaneImage, ISTHMUS_IMAGE, PEER_IMAGE, PEER_PORT, POD_PLANE_IMAGE,
} from './real-images.ts';
import { KINDS, type AnyObject } from './real-world.ts';
import { startTestSandbox, stopWithProcess } from '../processes/stopped-with-process.ts';
import { BROKER_NAMESPACE } from '../worlds/test-broker.ts';

const GATEWAY_PORT = 30_443;
const BROKER_PORT = 30_444;
const TIMEOUT_MS = 240_000;
/** Where pods of tests are, in both clusters. */
export const PEERS = 'production';

/** One cluster of two nodes. */
export interface RealMember {
  readonly id: string;
  readonly cluster: Cluster;
  readonly client: ClusterClient;
  readonly nodes: readonly RealNode[];
  /** `10.130.0.0/16` */
  readonly podRange: string;
}

/** A pod that is asked by the test. */
export interface Peer {
  readonly name: string;
  readonly address: string;
}

async function typed(...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await isthmus(...words);
  if (code !== 0) throw new Error(`isthmus ${words.join(' ')}: ${stderr}`);
  return stdout.trim();
}

const isReady = ({ status }: Pod): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');
const addressOf = ({ nodes }: RealMember): string => nodes[0]?.plan.addresses[0] ?? '';
/** The range of a cluster's nodes. */
const nodesRange = (address: string): string =>
  address.includes(':') ? address.replace(/::\w+$/, '::/64') : address.replace(/\d+$/, '0/24');

/** What the clusters are to be. */
export interface RealClustersetShape {
  /** Adds images; by default those of pods that tests ask. */
  readonly add?: (sandbox: Sandbox) => Promise<void>;
  /** How Services of the other cluster are reached: its pods by the pod plane, or listeners of the gateway. */
  readonly reach?: 'pods' | 'listeners';
  /** Address families of both clusters. */
  readonly families?: SandboxOptions['families'];
}

/** Both clusters; call {@link RealClusterset.stop} in `after`. */
export class RealClusterset {
  readonly members: readonly [RealMember, RealMember];
  readonly #sandbox: Sandbox;
  readonly #tools: Packaging;
  readonly #reach: 'pods' | 'listeners';

  private constructor(sandbox: Sandbox, tools: Packaging, of: {
    readonly members: readonly [RealMember, RealMember]; readonly reach: 'pods' | 'listeners';
  }) {
    this.#sandbox = sandbox;
    this.#tools = tools;
    this.#reach = of.reach;
    this.members = of.members;
  }

  /** Starts all of it; the gateways are connected when it resolves. */
  static async start(
    signal: AbortSignal, { add = addPeerImage, reach = 'pods', families }: RealClustersetShape = {},
  ): Promise<RealClusterset> {
    const tools = await Packaging.open(signal);
    const dir = await mkdtemp(join(tmpdir(), 'isthmus-clusterset-'));
    const nodes = reach === 'pods' ? 2 : 1;
    const shape = {
      targets: 1, nodes, sourceNodes: nodes, real: true, gpus: 0, audit: false,
      ...(families !== undefined && { families }),
    };
    const sandbox = await startTestSandbox({ dir, ...shape }, signal);
    try {
      const world = new RealClusterset(sandbox, tools, { members: await openMembers(sandbox), reach });
      stopWithProcess(() => world.stop());
      await addIsthmusImage(sandbox);
      if (reach === 'pods') await addPodPlaneImage(sandbox, signal);
      await add(sandbox);
      await world.#connect();
      await world.#install();
      return world;
    } catch (error) {
      await sandbox.stop();
      await rmdir(dir);
      throw error;
    }
  }

  /** The process that is first in a node, or in the switch of a cluster, as this machine sees it. */
  pidOf(cluster: string, component: string): Promise<number> {
    return firstProcess(this.#sandbox, cluster, component);
  }

  /** A cable between the switches, and routes of nodes to nodes. */
  async #connect(): Promise<void> {
    const [one, other] = this.members;
    const left = await this.pidOf(one.cluster.name, 'network');
    const right = await this.pidOf(other.cluster.name, 'network');
    const peer = ['peer', 'name', 'cable', 'netns', String(right)];
    await runInNetwork(left, 'ip', 'link', 'add', 'cable', 'type', 'veth', ...peer);
    for (const pid of [left, right]) await runInNetwork(pid, 'ip', 'link', 'set', 'cable', 'master', 'bridge', 'up');
    for (const [from, to] of [[one, other], [other, one]] as const) {
      const range = nodesRange(addressOf(to));
      for (const { plan } of from.nodes) {
        const pid = await this.pidOf(from.cluster.name, `${plan.name}/init`);
        await runInNetwork(pid, 'ip', 'route', 'add', range, 'dev', 'eth0');
      }
    }
  }

  /** The chart comes first, so that helm owns the definitions. A gateway waits until its cluster is a member. */
  async #install(): Promise<void> {
    const [first] = this.members;
    for (const { client } of this.members) {
      const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
      await client.apply(NAMESPACES, { metadata: { name: INSTALL_NAMESPACE, labels } }, 'test');
      await client.apply(NAMESPACES, { metadata: { name: PEERS } }, 'test');
    }
    await Promise.all(this.members.map((member) => this.#installChart(member)));
    const kubeconfig = ({ cluster }: RealMember): readonly string[] => ['--kubeconfig', cluster.kubeconfigPath];
    const image = `${ISTHMUS_IMAGE.repository}:${ISTHMUS_IMAGE.tag}`;
    const url = `https://${hostPort(addressOf(first), BROKER_PORT)}`;
    await typed('broker', 'deploy', ...kubeconfig(first), '--image', image, '--url', url);
    await openPort(first.client, { namespace: BROKER_NAMESPACE, name: 'isthmus-broker', nodePort: BROKER_PORT });
    for (const member of this.members) {
      const token = await typed('broker', 'token', ...kubeconfig(first), '--cluster-id', member.id);
      await eventually(`${member.id} joins`, () => typed(
        'gateway', 'join', token, ...kubeconfig(member), '--cluster-id', member.id, '--cluster-cidr', member.podRange,
        '--address', hostPort(addressOf(member), GATEWAY_PORT),
      ), TIMEOUT_MS);
    }
    await Promise.all(this.members.map(async (member) => {
      const [other] = this.members.filter(({ id }) => id !== member.id);
      await untilEqual(`cables of ${member.id}`, () => this.cablesOf(member), [`${other?.id} connected`], TIMEOUT_MS);
    }));
  }

  async #installChart({ client, cluster }: RealMember): Promise<void> {
    const values = [
      'source.enabled=false', 'target.enabled=false', 'defaults.replicas=1', 'gateway.enabled=true',
      'gateway.service.type=NodePort', 'serviceDiscovery.enabled=true',
      this.#reach === 'pods' ? 'podPlane.enabled=true' : 'gateway.imports.enabled=true',
      `image.repository=${ISTHMUS_IMAGE.repository}`, `image.tag=${ISTHMUS_IMAGE.tag}`,
      `podPlane.image.repository=${POD_PLANE_IMAGE.repository}`, `podPlane.image.tag=${POD_PLANE_IMAGE.tag}`,
    ];
    const sets = values.flatMap((value) => ['--set', value]);
    const { code, stderr } = await this.#tools.helm(
      ['upgrade', '--install', 'isthmus', CHART, '--namespace', INSTALL_NAMESPACE, ...sets],
      { kubeconfig: cluster.kubeconfigPath },
    );
    if (code !== 0) throw new Error(`helm in ${cluster.name}: ${stderr}`);
    await openPort(client, { namespace: INSTALL_NAMESPACE, name: 'isthmus-gateway', nodePort: GATEWAY_PORT });
    const stub = await typed('service', 'stub', '--kubeconfig', cluster.kubeconfigPath);
    const at = { namespace: 'kube-system', name: 'coredns' };
    const { data } = await client.get(KINDS.configMaps, at);
    const corefile = `${(data as Readonly<Record<string, string>>)['Corefile']}${stub}\n`;
    await client.patch(KINDS.configMaps, at, { patchType: 'merge', patch: { data: { Corefile: corefile } } });
    for (const pod of await client.list(PODS, { namespace: 'kube-system', labelSelector: 'k8s-app=kube-dns' })) {
      await client.delete(PODS, { namespace: 'kube-system', name: pod.metadata.name ?? '' }, { gracePeriodSeconds: 1 });
    }
  }

  /** States of the cables that Services go through, `us connected`, as the gateway says them. */
  async cablesOf({ client }: RealMember): Promise<readonly string[]> {
    const backend = this.#reach === 'pods' ? 'wireguard' : 'mtls';
    const gateways = await client.list(CLUSTERSET_GATEWAYS, { namespace: INSTALL_NAMESPACE });
    return gateways.filter(({ status }) => status?.backend === backend && status.haStatus === 'active')
      .flatMap(({ status }) => status?.connections.map((one) => `${one.endpoint.clusterID} ${one.status}`) ?? []);
  }

  /** The node that is the gateway of the pod plane, as the Lease says, and another one. */
  async rolesIn({ client, nodes }: RealMember): Promise<{ readonly gateway: RealNode; readonly worker: RealNode }> {
    const lease: Lease = await client.get(LEASES, { namespace: INSTALL_NAMESPACE, name: POD_PLANE_LEASE });
    const { node } = readLeaseIdentity(lease.spec?.holderIdentity ?? '');
    const gateway = nodes.find(({ plan }) => plan.name === node);
    const worker = nodes.find(({ plan }) => plan.name !== node);
    if (gateway === undefined || worker === undefined) throw new Error(`${node} is no node here`);
    return { gateway, worker };
  }

  /** Starts a pod that is asked, on a node. */
  async startPeer({ client }: RealMember, name: string, node: RealNode): Promise<Peer> {
    await client.create(PODS, {
      metadata: { name, namespace: PEERS, labels: { app: 'payment-api' } },
      spec: {
        terminationGracePeriodSeconds: 1, nodeSelector: { 'kubernetes.io/hostname': node.plan.name },
        containers: [{ name: 'main', image: PEER_IMAGE, command: ['node', '/peer.mjs', name, String(PEER_PORT)] }],
      },
    } as unknown as Pod);
    const pod: Pod = await eventually(`${name} is Ready`, async () => {
      const found = await client.get(PODS, { namespace: PEERS, name });
      return isReady(found) && found;
    }, TIMEOUT_MS);
    return { name, address: pod.status?.podIP ?? '' };
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map(({ client }) => client.transport.close()));
    await this.#sandbox.stop();
    await rmdir(this.#sandbox.dir); // fails when the sandbox left something in it
  }
}

/** Asks a pod; rejects with what it says is wrong. This machine reaches the pods of all clusters. */
export async function ask<T>({ name, address }: Peer, question: PodQuestion): Promise<T> {
  const { body } = await request(`http://${hostPort(address, PEER_PORT)}/`, {
    method: 'POST', body: JSON.stringify(question), headersTimeout: 120_000,
  });
  const answer = await body.json() as T & { readonly error?: string };
  if (answer.error !== undefined) throw new Error(`${name}: ${answer.error}`);
  return answer;
}

async function openMembers(sandbox: Sandbox): Promise<readonly [RealMember, RealMember]> {
  const [eu, us] = await Promise.all(sandbox.clusters.map(async (cluster, index): Promise<RealMember> => {
    const { client } = await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-test' });
    const nodes = sandbox.nodes.get(cluster.name) ?? [];
    const [range = ''] = nodes[0]?.plan.podRanges ?? [];
    const podRange = range.replace(/\d+\.\d+\/24$/, '0.0/16').replace(/..::\/64$/, '00::/56');
    return { id: ['eu', 'us'][index] ?? '', cluster, client, nodes, podRange };
  }));
  if (eu === undefined || us === undefined) throw new Error('the sandbox lacks a cluster');
  return [eu, us];
}

/** Gives a Service a port on every node. */
async function openPort(
  client: ClusterClient, { namespace, name, nodePort }: {
    readonly namespace: string; readonly name: string; readonly nodePort: number;
  },
): Promise<void> {
  const at = { namespace, name };
  const service: KubernetesObject & { readonly spec?: { readonly ports?: readonly object[] } } =
    await client.get(SERVICES, at);
  const [port] = service.spec?.ports ?? [];
  const spec = { type: 'NodePort', ports: [{ ...port, nodePort }] };
  await client.patch(SERVICES, at, { patchType: 'merge', patch: { spec } });
}

/** The Service of all pods that tests ask, over TCP and UDP. */
export function paymentService(): AnyObject {
  const port = (name: string, protocol: string, number: number): object =>
    ({ name, protocol, port: number, targetPort: number });
  return {
    metadata: { namespace: PEERS, name: 'payment-api' },
    spec: { selector: { app: 'payment-api' }, ports: [port('http', 'TCP', 8_080), port('datagrams', 'UDP', 8_083)] },
  };
}

// `npm run soak -- real-nodes`: NetworkPolicies where they are enforced. Those of the chart let users' pods through
// webhook, kubelet API, gateway and DNS, and keep out what they promise to keep out; a policy of a target selects
// delegates, and one of the source isolates nothing there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import type { Pod } from '../../../api/objects/core.ts';
import { NAMESPACES, PODS } from '../../../api/resource-types.ts';
import { exportService } from '../../../cli/services/service.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { toDelegateLabels } from '../../../model/delegate/pod-chaperon.ts';
import { messageOf } from '../../../process/errors.ts';
import type { ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import { untilEqual } from '../../support/worlds/clusterset-world.ts';
import { eventually } from '../../support/history/eventually.ts';
import type { IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import type { PodAnswer } from '../../support/network/namespace-pod.ts';
import { enforcementProblem, enforcePolicies } from '../../support/real-nodes/network-policies.ts';
import { Packaging } from '../../support/peers/packaging.ts';
import { RealChart } from '../../support/real-nodes/real-chart.ts';
import { ask, paymentService, PEERS, RealClusterset, type Peer } from '../../support/real-nodes/real-clusterset.ts';
import { addPeerImage, PEER_IMAGE, PEER_PORT } from '../../support/real-nodes/real-images.ts';
import {
  ELECTED, KINDS, kindOf, makePod, NATIVE, startRealWorld, untilPod, type AnyObject,
} from '../../support/real-nodes/real-world.ts';
import { endWorld } from '../../support/history/world-invariants.ts';

const POLICIES = kindOf('networking.k8s.io', 'networkpolicies', 'NetworkPolicy');
const MONITORING = 'monitoring';
const skip = await enforcementProblem();

const isReady = ({ status }: Pod): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');
const peerSpec = (name: string, more: object = {}): object => ({
  terminationGracePeriodSeconds: 1,
  containers: [{ name: 'main', image: PEER_IMAGE, command: ['node', '/peer.mjs', name, String(PEER_PORT)] }],
  ...more,
});

/** What a pod sees at a port, `open` or the code of the error. */
function portSeenBy(from: Peer, host: string, port: number): Promise<string> {
  return ask<object>(from, { ask: 'connect', host, port }).then(
    () => 'open', (error: unknown) => /E[A-Z]{4,}/.exec(String(error))?.[0] ?? String(error),
  );
}

/** The same from the network of a node, by a process that is first in it. */
async function portSeenByNode(pid: number, host: string, port: number): Promise<string> {
  const script = 'require("net").connect(+process.argv[2], process.argv[1]).once("connect", () => process.exit())';
  const words = ['-t', String(pid), '-n', process.execPath, '-e', script, host, String(port)];
  return promisify(execFile)('nsenter', words, { timeout: 10_000 }).then(() => 'open', messageOf);
}

async function addressOfPod(client: ClusterClient, app: string): Promise<string> {
  const labelSelector = `app.kubernetes.io/name=${app}`;
  const [pod] = await client.list(PODS, { namespace: DEFAULT_INSTALL_NAMESPACE, labelSelector });
  return pod?.status?.podIP ?? assert.fail(app);
}

describe('a source and its targets where NetworkPolicies are enforced', { skip }, () => {
  let world: IsthmusWorld;
  let tools: Packaging;
  let enforcers: readonly ComponentProcess[] = [];

  before(async () => {
    tools = await Packaging.open(AbortSignal.timeout(600_000));
    world = await startRealWorld({}, async (sandbox, signal) => {
      enforcers = await enforcePolicies(sandbox, signal);
      await addPeerImage(sandbox);
      return RealChart.start(sandbox, signal);
    });
  });
  after(async () => {
    await Promise.all(enforcers.map((enforcer) => enforcer.stop()));
    await endWorld(world);
  });

  /** A pod on the source's own node. */
  async function nativePod(namespace: string, name: string): Promise<Peer> {
    await world.source.client.create(PODS, { metadata: { name, namespace }, spec: peerSpec(name) } as unknown as Pod);
    const { status } = await untilPod(world, namespace, name, isReady);
    return { name, address: status?.podIP ?? '' };
  }

  async function electedPod(name: string): Promise<Peer> {
    const nodeSelector = { 'topology.kubernetes.io/region': 'eu-west' };
    const metadata = { name, namespace: ELECTED, labels: { app: name }, annotations: { [ELECT_ANNOTATION]: '' } };
    await world.source.client.create(PODS, { metadata, spec: peerSpec(name, { nodeSelector }) } as unknown as Pod);
    const { status } = await untilPod(world, ELECTED, name, isReady);
    return { name, address: status?.podIP ?? '' };
  }

  it('elects pods, runs them and has their logs', async () => {
    const script = ['node', '-e', 'console.log("hello"); setInterval(() => {}, 1000)'];
    const containers = [{ name: 'main', image: PEER_IMAGE, command: script }];
    await makePod(world, ELECTED, { name: 'first', spec: { terminationGracePeriodSeconds: 1, containers } });
    await untilPod(world, ELECTED, 'first', isReady);
    const { stdout, stderr } = await tools.kubectl(
      ['-n', ELECTED, 'logs', 'first'], { kubeconfig: world.source.cluster.kubeconfigPath },
    );
    assert.equal(stdout, 'hello\n', stderr);
  });

  it('lets metrics be scraped by everybody, or by those alone that are named, and probes either way', async () => {
    const { client, cluster } = world.source;
    await client.apply(NAMESPACES, { metadata: { name: MONITORING } }, 'isthmus-test');
    const scraper = await nativePod(MONITORING, 'scraper');
    const stranger = await nativePod(NATIVE, 'stranger');
    const webhook = await addressOfPod(client, 'isthmus-webhook');
    await untilEqual( // an engine learns of a new pod's address after the pod has started
      'who scrapes', async () =>
        [await portSeenBy(scraper, webhook, 8_080), await portSeenBy(stranger, webhook, 8_080)],
      ['open', 'open'], 60_000,
    );
    const chart = world.isthmus as RealChart;
    const from = 'networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name';
    await chart.upgrade(cluster, `${from}=${MONITORING}`);
    const now = await addressOfPod(client, 'isthmus-webhook');
    await untilEqual(
      'who scrapes', async () => [await portSeenBy(scraper, now, 8_080), await portSeenBy(stranger, now, 8_080)],
      ['open', 'ECONNREFUSED'], 60_000,
    );
    assert.equal(await portSeenBy(stranger, now, 9_443), 'open', 'API servers may call from anywhere');
    const pods = await client.list(PODS, { namespace: DEFAULT_INSTALL_NAMESPACE });
    assert.ok(pods.every(isReady), 'probes come from the node');
  });

  it('isolates delegates by a policy of their target that selects their labels, not by one of the source', async () => {
    const [target] = world.targets;
    const server = await electedPod('server');
    const friend = await electedPod('friend');
    const stranger = await electedPod('foreigner');
    const call = (from: Peer): Promise<string> => portSeenBy(from, server.address, 8_081);
    const policy = (labelsOf: (app: string) => object): NonNullable<AnyObject['spec']> => ({
      podSelector: { matchLabels: labelsOf('server') }, policyTypes: ['Ingress'],
      ingress: [{ from: [{ podSelector: { matchLabels: labelsOf('friend') } }] }],
    });
    const apply = (client: ClusterClient, labelsOf: (app: string) => object): Promise<unknown> => {
      const object: AnyObject = { metadata: { namespace: ELECTED, name: 'friends' }, spec: policy(labelsOf) };
      return client.apply(POLICIES, object, 'isthmus-test');
    };
    const callers = async (): Promise<readonly string[]> => [await call(friend), await call(stranger)];
    await apply(world.source.client, (app) => ({ app }));
    // the engine of the target refuses for a new pod until it knows its address
    await untilEqual('who calls despite a policy of the source', callers, ['open', 'open'], 60_000);
    await apply(target.client, (app) => toDelegateLabels({ app }, {}));
    await untilEqual('who calls', callers, ['open', 'ECONNREFUSED'], 60_000);
    await target.client.delete(POLICIES, { namespace: ELECTED, name: 'friends' });
    await untilEqual('who calls again', callers, ['open', 'open'], 60_000);
  });
});

describe('gateways where NetworkPolicies are enforced', { skip }, () => {
  const signal = AbortSignal.timeout(1_500_000);
  let world: RealClusterset;
  let enforcers: readonly ComponentProcess[] = [];

  before(async () => {
    world = await RealClusterset.start(signal, {
      reach: 'listeners',
      add: async (sandbox) => {
        enforcers = await enforcePolicies(sandbox, signal);
        await addPeerImage(sandbox);
      },
    });
  });
  after(async () => {
    await Promise.all(enforcers.map((enforcer) => enforcer.stop()));
    await world?.stop();
  });

  it('lead to a Service of the other cluster by name, and keep their CONNECT endpoint to themselves', async () => {
    const [eu, us] = world.members;
    const [euNode, usNode] = [eu.nodes[0] ?? assert.fail('eu'), us.nodes[0] ?? assert.fail('us')];
    const caller = await world.startPeer(eu, 'caller', euNode);
    await world.startPeer(us, 'server', usNode);
    await us.client.apply(KINDS.services, paymentService(), 'test');
    await exportService(us.client, { namespace: PEERS, name: 'payment-api', waitSeconds: 120 }, signal);
    const url = `http://payment-api.${PEERS}.svc.clusterset.local:8080/`;
    const { pod } = await eventually(
      'an answer', () => ask<PodAnswer>(caller, { ask: 'get', url, timeoutMs: 10_000 }), 180_000,
    );
    assert.equal(pod, 'server');
    const gateway = await addressOfPod(eu.client, 'isthmus-gateway');
    assert.deepEqual(
      [await portSeenBy(caller, gateway, 8_443), await portSeenBy(caller, gateway, 8_132)], ['open', 'ECONNREFUSED'],
    );
    const init = await world.pidOf(eu.cluster.name, `${euNode.plan.name}/init`);
    assert.equal(await portSeenByNode(init, gateway, 8_132), 'open', 'it listens: the node itself is always let in');
  });
});

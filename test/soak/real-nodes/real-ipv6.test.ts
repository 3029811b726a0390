// `npm run soak -- real-nodes`: IPv6. The chart in a source of IPv6 alone, with a target of both families and one of
// IPv6 alone: what an elected pod shows, its logs, and a Service by its name. Then Services of another cluster through
// the listeners of gateways.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { MCS_SERVICE_NAME_LABEL, SERVICE_IMPORTS } from '../../../api/kinds/service-discovery.ts';
import { ENDPOINT_SLICES } from '../../../api/objects/endpoint-slice.ts';
import type { Pod } from '../../../api/objects/core.ts';
import { NODES, SERVICES } from '../../../api/resource-types.ts';
import { exportService } from '../../../cli/services/service.ts';
import { isProxyPod } from '../../../model/pod/pod.ts';
import { eventually } from '../../support/history/eventually.ts';
import { inNamespace, type IsthmusWorld, type WorldCluster } from '../../support/worlds/isthmus-world.ts';
import type { PodAnswer } from '../../support/network/namespace-pod.ts';
import { Packaging } from '../../support/peers/packaging.ts';
import { RealChart } from '../../support/real-nodes/real-chart.ts';
import {
  ask, paymentService, PEERS, RealClusterset, type Peer, type RealMember,
} from '../../support/real-nodes/real-clusterset.ts';
import { addPeerImage, PEER_IMAGE, PEER_PORT } from '../../support/real-nodes/real-images.ts';
import {
  ELECTED, KINDS, makePod, startRealWorld, TIMEOUT_MS, untilPod, type AnyObject,
} from '../../support/real-nodes/real-world.ts';
import { endWorld } from '../../support/history/world-invariants.ts';

const isReady = ({ status }: Pod): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');
const isIpv6 = (address: string | undefined): boolean => address?.includes(':') === true;
const familiesOf = (addresses: readonly { readonly ip: string }[] | undefined): readonly string[] =>
  (addresses ?? []).map(({ ip }) => (isIpv6(ip) ? 'IPv6' : 'IPv4'));
const get = (from: Peer, host: string): Promise<PodAnswer> =>
  ask(from, { ask: 'get', url: `http://${host}:8080/`, timeoutMs: 10_000 });
const SCRIPT = "console.log(`I am ${process.argv[1]}`); process.argv.splice(1, 0, '-'); await import('/peer.mjs')";
const peerSpec = (name: string): object => ({
  terminationGracePeriodSeconds: 1,
  containers: [{
    name: 'main', image: PEER_IMAGE,
    command: ['node', '--input-type=module', '-e', SCRIPT, name, String(PEER_PORT)],
  }],
});

describe('a source of IPv6 alone', () => {
  let world: IsthmusWorld;
  let tools: Packaging;
  const regions = [['both', 'eu-west', ['IPv6', 'IPv4']], ['one', 'us-east', ['IPv6']]] as const;

  before(async () => {
    tools = await Packaging.open(AbortSignal.timeout(600_000));
    world = await startRealWorld(
      { families: [['IPv6'], ['IPv6', 'IPv4'], ['IPv6']] },
      async (sandbox, signal) => {
        await addPeerImage(sandbox);
        return RealChart.start(sandbox, signal);
      },
    );
    for (const [name, region] of regions) {
      const nodeSelector = { 'topology.kubernetes.io/region': region };
      await makePod(world, ELECTED, { name, spec: { ...peerSpec(name), nodeSelector } });
    }
  });
  after(() => endWorld(world));

  function delegateOf(proxy: Pod): Pod {
    const found = world.targets.flatMap(({ pods }) => inNamespace(pods.objects, ELECTED)).find(
      ({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === proxy.metadata.uid,
    );
    return found ?? assert.fail(`no target runs ${proxy.metadata.name}`);
  }

  it('has its webhook behind a Service of IPv6, and virtual nodes with such addresses', async () => {
    const { client } = world.source;
    const webhook = await client.get(SERVICES, { namespace: DEFAULT_INSTALL_NAMESPACE, name: 'isthmus-webhook' });
    assert.ok(isIpv6(webhook.spec?.clusterIP), webhook.spec?.clusterIP);
    const nodes = await client.list(NODES, { labelSelector: 'virtual-kubelet.io/provider' });
    const addresses = nodes
      .flatMap(({ status }) => status?.addresses ?? [])
      .filter(({ type }) => type === 'InternalIP');
    assert.equal(addresses.length, 2);
    assert.ok(addresses.every(({ address }) => isIpv6(address)), JSON.stringify(addresses));
  });

  for (const [name, , families] of regions) {
    it(`shows ${families.join(' and ')} of a pod where its target has it, and of its host, as there`, async () => {
      const proxy = await untilPod(world, ELECTED, name, isReady);
      assert.ok(isProxyPod(proxy));
      const { podIP, podIPs, hostIP, hostIPs } = proxy.status ?? {};
      // the test's own watch of the target may be behind the proxy
      const native = await eventually('an address of the delegate', async () => {
        const { status } = delegateOf(proxy);
        return status?.podIP !== undefined && status;
      });
      assert.deepEqual({ podIP, podIPs, hostIP, hostIPs }, {
        podIP: native?.podIP, podIPs: native?.podIPs, hostIP: native?.hostIP, hostIPs: native?.hostIPs,
      });
      assert.deepEqual([familiesOf(podIPs), familiesOf(hostIPs)], [families, families]);
    });

    it(`has logs of a pod in a target of ${families.join(' and ')}, and runs commands in it`, async () => {
      await untilPod(world, ELECTED, name, isReady);
      const kubeconfig = world.source.cluster.kubeconfigPath;
      const logs = await tools.kubectl(['-n', ELECTED, 'logs', name], { kubeconfig });
      assert.equal(logs.stdout, `I am ${name}\n`, logs.stderr);
      const command = ['node', '-p', '6 * 7'];
      const { stdout, stderr } = await tools.kubectl(['-n', ELECTED, 'exec', name, '--', ...command], { kubeconfig });
      assert.equal(stdout, '42\n', stderr);
    });
  }

  it('has its Service called by name from an elected pod in a target of IPv6 alone', async () => {
    const labels = { app: 'web' };
    const nodeSelector = { 'topology.kubernetes.io/region': 'us-east' };
    const spec = {
      replicas: 2, selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { [ELECT_ANNOTATION]: '' } }, spec: { ...peerSpec('web'), nodeSelector },
      },
    };
    const metadata = { name: 'web', namespace: ELECTED };
    const service: AnyObject = { metadata, spec: { selector: labels, ports: [{ port: 8_080 }] } };
    const deployment: AnyObject = { metadata, spec };
    await world.source.client.apply(KINDS.services, service, 'isthmus-test');
    await world.source.client.apply(KINDS.deployments, deployment, 'isthmus-test');
    const caller = await untilPod(world, ELECTED, 'one', isReady);
    const from = { name: 'one', address: caller.status?.podIP ?? '' };
    const host = `web.${ELECTED}.svc.cluster.local`;
    const answer = await eventually('an answer by name', () => get(from, host), TIMEOUT_MS);
    assert.deepEqual(answer, { ...answer, pod: 'web', from: from.address });
    const [, target]: readonly WorldCluster[] = world.targets;
    const copied = await target?.client.get(SERVICES, metadata);
    assert.ok(isIpv6(copied?.spec?.clusterIP), copied?.spec?.clusterIP);
    await world.source.client.delete(KINDS.deployments, metadata, { propagation: 'Background' });
  });
});

describe('clusters of IPv6 whose gateways listen for each other', () => {
  const signal = AbortSignal.timeout(1_500_000);
  let world: RealClusterset;

  before(async () => {
    world = await RealClusterset.start(signal, { reach: 'listeners', families: [['IPv6'], ['IPv6', 'IPv4']] });
  });
  after(() => world?.stop());

  async function exported(member: RealMember, name: string): Promise<Peer> {
    const [node] = member.nodes;
    const peer = await world.startPeer(member, `${member.id}-pod`, node ?? assert.fail(member.id));
    const { metadata, spec } = paymentService();
    const service: AnyObject =
      { metadata: { ...metadata, name }, spec: { ...spec, ipFamilyPolicy: 'PreferDualStack' } };
    await member.client.apply(KINDS.services, service, 'test');
    await exportService(member.client, { namespace: PEERS, name, waitSeconds: 120 }, signal);
    return peer;
  }

  it('reach Services of each other by name', async () => {
    const [eu, us] = world.members;
    const euPod = await exported(eu, 'api-of-eu');
    const usPod = await exported(us, 'api-of-us');
    for (const [from, name, to] of [[euPod, 'api-of-us', usPod], [usPod, 'api-of-eu', euPod]] as const) {
      const host = `${name}.${PEERS}.svc.clusterset.local`;
      const { pod } = await eventually(`${from.name} calls ${host}`, () => get(from, host), 180_000);
      assert.equal(pod, to.name);
    }
  });

  it('have imports of the families that they have, with the gateway as their endpoint', async () => {
    for (const [member, name, families] of [
      [world.members[0], 'api-of-us', ['IPv6']], [world.members[1], 'api-of-eu', ['IPv6', 'IPv4']],
    ] as const) {
      const { spec } = await member.client.get(SERVICE_IMPORTS, { namespace: PEERS, name });
      assert.deepEqual([spec?.ipFamilies, familiesOf((spec?.ips ?? []).map((ip) => ({ ip })))], [families, families]);
      const labelSelector = `${MCS_SERVICE_NAME_LABEL}=${name}`;
      const slices = await member.client.list(ENDPOINT_SLICES, { namespace: PEERS, labelSelector });
      assert.deepEqual(slices.map(({ addressType }) => addressType), ['IPv6']);
    }
  });
});

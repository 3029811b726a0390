// An elected Deployment behind an ordinary Service of the source, between network namespaces, with real API
// servers, Isthmus in both clusters and the pod plane by its command: part of `npm run soak -- pod-plane`. Both
// clusters have the same pod range.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { KubernetesObject, Pod, Service } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../../api/objects/keys.ts';
import { CLUSTER_TARGETS, DEPLOYMENTS, NAMESPACES, PODS, SERVICES } from '../../../api/resource-types.ts';
import { SERVICE_NAME_LABEL } from '../../../api/kinds/service-discovery.ts';
import { ENDPOINT_SLICES } from '../../../api/objects/endpoint-slice.ts';
import { environment } from '../../../process/config.ts';
import { startIsthmus, type IsthmusInSandbox } from '../../../sandbox/isthmus-in-sandbox.ts';
import { ensureWireguard } from '../../../pod-plane/wireguard/wireguard-program.ts';
import { untilEqual } from '../../support/worlds/clusterset-world.ts';
import { NamespaceKubelets } from '../../support/network/namespace-kubelet.ts';
import { missingForNamespaces } from '../../support/network/network-world.ts';
import {
  startPodPlaneWorld, type PlaneWorldCluster, type PodPlaneWorld,
} from '../../support/network/pod-plane-world.ts';

const missing = missingForNamespaces([['curl', ['--version']], ['unshare', ['--version']]]);
if (missing !== undefined) throw new Error(`the pod plane cannot be tested here: ${missing}`);
const program =
  await ensureWireguard(environment(), (text) => void process.stdout.write(`${text}\n`), AbortSignal.timeout(300_000));
const NAMESPACE = 'shop';
const LABELS = { app: 'web' };
const REPLICAS = 3;

let world: PodPlaneWorld;
let isthmus: IsthmusInSandbox | undefined;
let eu: PlaneWorldCluster;
let us: PlaneWorldCluster;
const stopped = new AbortController();

before(async () => {
  world = await startPodPlaneWorld([{ id: 'eu', pods: '10.200' }, { id: 'us', pods: '10.200' }], program);
  [eu, us] = world.clusters;
  for (const { member, nodes } of world.clusters) void new NamespaceKubelets(member.client, nodes).run(stopped.signal);
  isthmus = await startIsthmus(world.clusterset.sandbox, stopped.signal);
  const [target] = await eu.member.client.list(CLUSTER_TARGETS);
  await eu.member.client.patch(CLUSTER_TARGETS, { name: target?.metadata.name ?? '' }, {
    patchType: 'merge', patch: { spec: { podPlane: { cluster: 'us' } } },
  });
  for (const { member } of world.clusters) await member.client.apply(
    NAMESPACES, { metadata: { name: NAMESPACE, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } } }, 'test',
  );
});
after(async () => {
  stopped.abort();
  await isthmus?.stop();
  await world?.stop();
});

const podsOf = ({ member }: PlaneWorldCluster) => member.client.list(PODS, { namespace: NAMESPACE });
const addressesOf = (pods: readonly Pod[]) => pods.map(({ status }) => status?.podIP ?? '').toSorted();
const serviceOf = ({ member }: PlaneWorldCluster): Promise<Service> =>
  member.client.get(SERVICES, { namespace: NAMESPACE, name: 'web' });
const electedOf = async () => (await podsOf(eu)).filter(({ metadata }) => metadata.name !== 'here');

async function endpointsOf({ member }: PlaneWorldCluster): Promise<readonly string[]> {
  const slices = (await member.client.list(ENDPOINT_SLICES, { namespace: NAMESPACE })).filter(
    ({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === 'web',
  );
  return slices.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(
    ({ addresses, conditions }) => (conditions?.ready === false ? [] : addresses),
  )).toSorted();
}

/**
 * Servers that answer at an address in every pod of a cluster, within so many tries; a takeover of the gateway, on a
 * machine that is too busy for its lease, costs a try.
 */
async function whoAnswers(cluster: PlaneWorldCluster, url: string, all: number): Promise<readonly string[]> {
  await world.syncServices(cluster);
  const seen = new Set<string>();
  const failures: string[] = [];
  for (const { namespace } of cluster.pods.values()) {
    const here = new Set<string>();
    const ask = async () => (JSON.parse(await world.curl(namespace, '127.0.0.1', url)) as { readonly pod: string }).pod;
    for (let tries = 0; tries < 60 && here.size < all; tries += 1) await ask().then(
      (pod) => here.add(pod), (error: { readonly stderr?: string }) => failures.push(`${namespace}: ${error.stderr}`),
    );
    assert.equal(
      here.size, all,
      `${namespace} reaches ${[...here].join()}; ${failures.join()}; endpoints ${(await endpointsOf(cluster)).join()}`,
    );
    for (const one of here) seen.add(one);
  }
  process.stdout.write(
    `pods of ${cluster.id} reach ${[...seen].toSorted().join()}; failed tries: ${failures.length}\n`,
  );
  return [...seen].toSorted();
}

describe('an elected Deployment behind an ordinary Service of the source, with the same pod range in both clusters',
  () => {
  it('runs in the target, before there is a pod plane, and its proxies show no address of the source', async () => {
    const { client } = eu.member;
    const container = { name: 'app', image: 'web', ports: [{ containerPort: 8_080 }] };
    await client.apply(
      SERVICES,
      {
        metadata: { namespace: NAMESPACE, name: 'web' },
        spec: { selector: LABELS, ports: [{ name: 'http', port: 80, targetPort: 8_080 }] },
      } as KubernetesObject,
      'test',
    );
    await client.create(
      PODS,
      {
        metadata: { namespace: NAMESPACE, name: 'here', labels: LABELS },
        spec: { nodeName: eu.network.worker.name, containers: [container] },
      } as KubernetesObject,
    );
    const template =
      { metadata: { labels: LABELS, annotations: { [ELECT_ANNOTATION]: '' } }, spec: { containers: [container] } };
    await client.create(
      DEPLOYMENTS,
      {
        metadata: { namespace: NAMESPACE, name: 'web' },
        spec: { replicas: REPLICAS, selector: { matchLabels: LABELS }, template },
      } as KubernetesObject,
    );
    const expected = [...us.pods.values()].map(({ address }) => address).toSorted();
    await untilEqual('delegates', async () => addressesOf(await podsOf(us)), expected, 60_000);
    // these addresses are pods of the source there
    const shown = async () => (await electedOf()).map(({ status }) => `${status?.phase} ${status?.podIP ?? 'nowhere'}`);
    await untilEqual('proxies', shown, Array(REPLICAS).fill('Running nowhere'), 60_000);
    await untilEqual(
      'the selector is that of delegates', async () => Object.keys((await serviceOf(eu)).spec?.selector ?? {}),
      ['multicluster.admiralty.io/app'],
    );
  });

  it('gets its selector back once the pod plane runs, and its proxies the addresses that lead to their delegates',
    { timeout: 300_000 }, async () => {
    await world.start();
    await untilEqual('the selector', async () => (await serviceOf(eu)).spec?.selector, LABELS, 60_000);
    const delegates = [...us.pods.values()].map(({ address }) => address.replace(/^10\.200\./, '242.1.'));
    await untilEqual('proxies', async () => addressesOf(await electedOf()), delegates.toSorted(), 60_000);
    const here = (await podsOf(eu)).find(({ metadata }) => metadata.name === 'here')?.status?.podIP ?? '';
    await untilEqual('endpoints', () => endpointsOf(eu), [here, ...delegates].toSorted(), 60_000);
  });

  it('answers through that Service with every replica, here and there, from every node of the source',
    { timeout: 300_000 }, async () => {
    const ip = (await serviceOf(eu)).spec?.clusterIP ?? '';
    const answered = await whoAnswers(eu, `http://${ip}:80/`, REPLICAS + 1);
    assert.deepEqual(answered.filter((name) => name.startsWith('us-')), [...us.pods.keys()].toSorted());
    assert.equal(answered.filter((name) => name.startsWith('eu-worker-')).length, 1);
  });

  it('answers through the copy of the Service in the target with the replicas there',
    { timeout: 300_000 }, async () => {
    await untilEqual(
      'endpoints', () => endpointsOf(us), [...us.pods.values()].map(({ address }) => address).toSorted(), 30_000,
    );
    const ip = (await serviceOf(us)).spec?.clusterIP ?? '';
    assert.deepEqual(await whoAnswers(us, `http://${ip}:80/`, REPLICAS), [...us.pods.keys()].toSorted());
  });
});

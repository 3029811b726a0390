// The pod plane and clusterset.local by the commands that users run, between network namespaces, with real API servers,
// broker, gateways, WireGuard and curl: part of `npm run soak -- pod-plane`. Both clusters have the same pod range.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { CILIUM_AFFINITY_ANNOTATION } from '../../../api/objects/keys.ts';
import { CLUSTERSET_ENDPOINTS, SERVICES } from '../../../api/resource-types.ts';
import { SERVICE_IMPORTS, SERVICE_NAME_LABEL } from '../../../api/kinds/service-discovery.ts';
import { ENDPOINT_SLICES, type EndpointSlice } from '../../../api/objects/endpoint-slice.ts';
import { rotateKey } from '../../../cli/gateway/gateway-rotate-key.ts';
import { exportService, unexportService } from '../../../cli/services/service.ts';
import { environment } from '../../../process/config.ts';
import { ensureWireguard } from '../../../pod-plane/wireguard/wireguard-program.ts';
import { conditionsOf, INSTALL_NAMESPACE, makeNamespaces, untilEqual } from '../../support/worlds/clusterset-world.ts';
import type { LoadReport, PodQuestion } from '../../support/network/namespace-pod.ts';
import { missingForNamespaces } from '../../support/network/network-world.ts';
import {
  startPodPlaneWorld, type PlaneWorldCluster, type PodPlaneWorld,
} from '../../support/network/pod-plane-world.ts';

const missing = missingForNamespaces([['curl', ['--version']], ['unshare', ['--version']]]);
if (missing !== undefined) throw new Error(`the pod plane cannot be tested here: ${missing}`);
const tell = (line: string): void => void process.stdout.write(`${line}\n`);
const program = await ensureWireguard(environment(), (text) => tell(text), AbortSignal.timeout(300_000));
const NEVER = new AbortController().signal;
const [NAMESPACE, NAME] = ['production', 'payment-api'];
const URL_OF_ALL = `http://${NAME}.${NAMESPACE}.svc.clusterset.local:8080/health`;
const MAX_GAP_MS = 8_000;
const MAX_DEAD_MS = 12_000;

let world: PodPlaneWorld;
let eu: PlaneWorldCluster;
let us: PlaneWorldCluster;
let untouched: ReadonlyMap<string, string>;

before(async () => {
  world = await startPodPlaneWorld([{ id: 'eu', pods: '10.200' }, { id: 'us', pods: '10.200' }], program);
  [eu, us] = world.clusters;
  untouched = await snapshot();
  tell(`the pod plane connects the clusters after ${await world.start()} ms`);
  for (const cluster of world.clusters) world.startCommand(
    `${cluster.id}-services`, cluster, cluster.network.worker, ['service', 'run', '--dns', '0.0.0.0:53'],
  );
  await makeNamespaces(world.clusters.map(({ member }) => member.client), NAMESPACE);
  for (const cluster of world.clusters) await makePaymentApi(cluster, true);
});
after(async (t) => {
  if (world === undefined) return;
  for (const node of world.clusters.flatMap(({ nodes }) => nodes)) {
    const log = await world.logOf(node.name);
    if (/"level":"?(50|error)/.test(log)) {
      (t as { diagnostic?: (text: string) => void }).diagnostic?.(`${node.name}: ${log.slice(-1_500)}`);
    }
  }
  await world.stop();
});

/**
 * All that a node's network consists of, as its tools print it; the rules that stand for kube-proxy are the test's own.
 */
async function snapshot(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const { name, namespace } of world.clusters.flatMap(({ nodes }) => nodes)) {
    const tables = [['link', ['ip', '-j', 'link']], ['route', ['ip', '-j', 'route', 'show', 'table', 'all']], [
      'rule', ['ip', '-j', 'rule'],
    ]] as const;
    for (const [what, command] of tables) found.set(`${name} ${what}`, await world.network.exec(namespace, ...command));
    found.set(
      `${name} tables`,
      (await world.network.exec(namespace, 'nft', 'list', 'tables')).split('\n').filter(
        (line) => !line.includes('proxy'),
      ).join(),
    );
  }
  return found;
}

/** The Service and its endpoints: all pods of the cluster, as its own controllers would have it. */
async function makePaymentApi({ member: { client }, pods }: PlaneWorldCluster, ready: boolean): Promise<void> {
  await client.apply(
    SERVICES,
    {
      metadata: { namespace: NAMESPACE, name: NAME },
      spec: { ports: [{ name: 'http', protocol: 'TCP', port: 8080, targetPort: 8080 }] },
    } as KubernetesObject,
    'test',
  );
  const endpoints = [...pods.values()].map(({ address }) => ({ addresses: [address], conditions: { ready } }));
  const slice: EndpointSlice = {
    metadata: { namespace: NAMESPACE, name: `${NAME}-1`, labels: { [SERVICE_NAME_LABEL]: NAME } }, addressType: 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }], endpoints,
  };
  await client.apply(ENDPOINT_SLICES, slice, 'test');
}

/** The resolver of a cluster's pods: service discovery on its worker node, as the pods there see that node. */
const resolverOf = ({ network }: PlaneWorldCluster): string => network.worker.podCIDR.replace('.0/24', '.1');
const podOf = (cluster: PlaneWorldCluster, suffix = 'worker-pod0') =>
  [...cluster.pods].find(([name]) => name.endsWith(suffix))?.[1] ?? assert.fail();

/** Which endpoints are behind the import in a cluster; the local ones when null. */
const prefer = ({ member }: PlaneWorldCluster, affinity: 'none' | null) => member.client.patch(
  SERVICES, { namespace: NAMESPACE, name: NAME },
  { patchType: 'merge', patch: { metadata: { annotations: { [CILIUM_AFFINITY_ANNOTATION]: affinity } } } },
);

/** Which pod answers to curl in a pod of a cluster. */
async function curl(cluster: PlaneWorldCluster, url = URL_OF_ALL): Promise<string> {
  await world.syncServices(cluster);
  return (JSON.parse(await world.curl(podOf(cluster).namespace, resolverOf(cluster), url)) as {
    readonly pod: string
  }).pod;
}

/** All pods that answer within so many tries, by the cluster that they are in. */
async function clustersThatAnswer(
  cluster: PlaneWorldCluster, url = URL_OF_ALL, tries = 16,
): Promise<readonly string[]> {
  const seen = new Set<string>();
  for (let count = 0; count < tries; count += 1) seen.add((await curl(cluster, url)).slice(0, 2));
  return [...seen].toSorted();
}

const nobodyAnswers = (cluster: PlaneWorldCluster) => curl(cluster).then(
  () => 'somebody',
  (error: { readonly stderr?: string }) =>
    /Could not resolve host/.test(error.stderr ?? '') ? 'no such host' : String(error.stderr),
);
const doExport = ({ member }: PlaneWorldCluster) =>
  exportService(member.client, { namespace: NAMESPACE, name: NAME, waitSeconds: 20 }, NEVER);
const ready = async ({ member }: PlaneWorldCluster) => (
  await member.client.list(SERVICE_IMPORTS, { namespace: NAMESPACE })
).find(({ metadata }) => metadata.name === NAME)?.status?.clusters?.map(({ cluster }) => cluster);

describe('a Service of another cluster, asked for with curl by its name from a pod', () => {
  it('does not resolve before it is exported', async () => assert.equal(await nobodyAnswers(eu), 'no such host'));

  it('is answered by the pods that export it, all of them', async () => {
    await doExport(us);
    await untilEqual('the import', () => ready(eu), ['us']);
    await untilEqual('an answer', () => clustersThatAnswer(eu, URL_OF_ALL, 1).catch(() => []), ['us']);
    const seen = new Set<string>();
    for (let tries = 0; tries < 60 && seen.size < us.pods.size; tries += 1) seen.add(await curl(eu));
    assert.deepEqual([...seen].toSorted(), [...us.pods.keys()].toSorted());
  });

  it('is answered here first when this cluster exports it too, and by both without a preference', async () => {
    await doExport(eu);
    await untilEqual('the import', () => ready(eu), ['eu', 'us']);
    await untilEqual('answers', () => clustersThatAnswer(eu), ['eu']);
    await untilEqual('answers there', () => clustersThatAnswer(us), ['us']);
    const [ip = ''] = (await eu.member.client.get(SERVICE_IMPORTS, { namespace: NAMESPACE, name: NAME })).spec?.ips
      ?? [];
    const ofAll = `http://${ip}:8080/health`;
    assert.deepEqual(await clustersThatAnswer(eu, ofAll, 8), ['eu']);
    await prefer(eu, 'none');
    await untilEqual('answers without a preference', () => clustersThatAnswer(eu, ofAll, 40), ['eu', 'us']);
    await prefer(eu, null);
    await untilEqual('answers here again', () => clustersThatAnswer(eu, ofAll, 8), ['eu']);
    assert.deepEqual(await clustersThatAnswer(eu, URL_OF_ALL.replace('//', '//us.'), 4), ['us']);
  });

  it('is answered as before while the exports contradict each other, which both say', async () => {
    const affinity = (sessionAffinity: string) => eu.member.client.patch(
      SERVICES, { namespace: NAMESPACE, name: NAME }, { patchType: 'merge', patch: { spec: { sessionAffinity } } },
    );
    const conflicts = async () => Promise.all(world.clusters.map(
      async ({ member }) => (await conditionsOf(member, NAMESPACE, NAME)).filter((text) => text.startsWith('Conflict='))
        .map((text) => text.split('/')[0]),
    ));
    await affinity('ClientIP');
    await untilEqual('conflicts', conflicts, [['Conflict=True'], ['Conflict=True']]);
    assert.deepEqual(
      [await clustersThatAnswer(eu, URL_OF_ALL, 4), await clustersThatAnswer(us, URL_OF_ALL, 4)], [['eu'], ['us']],
    );
    await affinity('None');
    await untilEqual('conflicts', conflicts, [['Conflict=False'], ['Conflict=False']]);
  });

  it('is answered by the other cluster while nothing is ready here', async () => {
    await makePaymentApi(eu, false);
    await untilEqual('answers', () => clustersThatAnswer(eu, URL_OF_ALL, 4).catch(() => []), ['us']);
    await makePaymentApi(eu, true);
    await untilEqual('answers', () => clustersThatAnswer(eu, URL_OF_ALL, 4).catch(() => []), ['eu']);
  });
});

describe('under a stream and 100 requests a second', () => {
  before(async () => {
    await prefer(eu, 'none');
    const hasThoseOfUs = async () => (await eu.member.client.list(ENDPOINT_SLICES, { namespace: NAMESPACE }))
      .some(({ endpoints }) => endpoints?.some(({ addresses: [address = ''] }) => address.startsWith('242.')));
    await untilEqual('the endpoints of us', hasThoseOfUs, true);
  });
  after(() => prefer(eu, null));

  const begin = async () => {
    const client = podOf(eu);
    const server = (await us.member.client.list(ENDPOINT_SLICES, { namespace: NAMESPACE }))[0];
    assert.ok(server !== undefined);
    const target = podOf(us);
    const imported = (await eu.member.client.list(ENDPOINT_SLICES, { namespace: NAMESPACE }))
      .flatMap(({ endpoints }) => endpoints ?? [])
      .map(({ addresses }) => addresses[0] ?? '');
    const seen = imported.find(
      (address) => address.startsWith('242.') && address.endsWith(target.address.split('.').slice(2).join('.')),
    ) ?? assert.fail(imported.join());
    await client.program.ask({ ask: 'stream-begin', host: seen, port: 8_081 } satisfies PodQuestion);
    await client.program.ask(
      { ask: 'rate-begin', url: `http://${seen}:8080/`, everyMs: 10, timeoutMs: 20_000 } satisfies PodQuestion,
    );
    await delay(2_000);
    return { end: () => client.program.ask<LoadReport>({ ask: 'end' } satisfies PodQuestion) };
  };

  it('a key that is changed by the command costs no request and no stream', { timeout: 150_000 }, async () => {
    const load = await begin();
    const keysOf = async () => (
      await us.member.client.get(CLUSTERSET_ENDPOINTS, { namespace: INSTALL_NAMESPACE, name: 'us-wireguard' })
    ).spec.publicKeys ?? [];
    const [old] = await keysOf();
    await rotateKey(us.member.client, INSTALL_NAMESPACE, NEVER);
    await untilEqual('both keys are told', async () => (await keysOf()).length, 2);
    await untilEqual('one key is told', async () => (await keysOf()).length, 1, 90_000);
    assert.notEqual((await keysOf())[0], old);
    const report = await load.end();
    tell(`changed key: ${JSON.stringify(report)}`);
    assert.deepEqual([report.streamAlive, report.failed], [true, 0]);
    assert.ok(report.longestGapMs < 1_000, `${report.longestGapMs} ms`);
  });

  for (const round of [1, 2, 3]) {
    it(`a gateway that is killed is replaced within 8 s, and the stream goes on (${round})`,
      { timeout: 60_000 }, async () => {
      const load = await begin();
      const killed = await world.gatewayOf(us);
      const node = us.nodes.find(({ name }) => name === killed) ?? assert.fail(killed);
      await world.end(killed, 'SIGKILL');
      const runs = (await world.logOf(killed)).split('"running"').length;
      await untilEqual('another gateway', async () => (await world.gatewayOf(us)) === killed, false);
      await delay(4_000);
      const report = await load.end();
      world.startNode(us, node); // whatever is found: the next round needs a standby
      await untilEqual('its return', async () => (await world.logOf(killed)).split('"running"').length > runs, true);
      tell(`killed gateway, the real lease: ${JSON.stringify(report)}`);
      assert.ok(report.streamAlive, 'the stream has survived');
      assert.ok(report.longestGapMs <= MAX_GAP_MS, `${report.longestGapMs} ms`);
    });
  }
});

describe('a cluster that cannot be reached any more', () => {
  it('is out of the answers within 12 s, and back when it can be', { timeout: 90_000 }, async () => {
    await unexportService(eu.member.client, { namespace: NAMESPACE, name: NAME }, NEVER);
    await untilEqual('answers', () => clustersThatAnswer(eu, URL_OF_ALL, 1).catch(() => []), ['us']);
    await world.network.exec(
      world.network.router, 'nft', 'table ip cut { chain f { type filter hook forward priority 0; drop\n }\n }',
    );
    const took = await untilEqual('the name', () => nobodyAnswers(eu), 'no such host', MAX_DEAD_MS);
    tell(`a cluster behind a cut is out of the answers after ${Math.round(took)} ms`);
    await world.network.exec(world.network.router, 'nft', 'delete table ip cut');
    const back =
      await untilEqual('answers', () => clustersThatAnswer(eu, URL_OF_ALL, 1).catch(() => []), ['us'], 30_000);
    tell(`and back after ${Math.round(back)} ms`);
  });

  it('does not resolve any more once nobody exports it', async () => {
    await unexportService(us.member.client, { namespace: NAMESPACE, name: NAME }, NEVER);
    await untilEqual('the name', () => nobodyAnswers(eu), 'no such host');
  });
});

describe('what the command leaves behind', () => {
  it('is nothing when it has ended: links, routes, rules and tables equal those before',
    { timeout: 60_000 }, async () => {
    for (const { name } of world.clusters.flatMap(({ nodes }) => nodes)) await world.end(name, 'SIGTERM');
    const left = await snapshot();
    assert.deepEqual([...left].filter(([key, text]) => untouched.get(key) !== text).map(([key]) => key), []);
  });
});

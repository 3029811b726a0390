// A source that an Admiralty serves is migrated and given back, against real API servers: its double has Admiralty's names, roles, finalizers, bindings,
// Leases and webhook. Its targets are of Isthmus, so that each stage is also a mixed pair.
import assert from 'node:assert/strict';
import { mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { CONFIG_MAPS, DEPLOYMENTS, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { openCluster, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { freePorts } from '../../sandbox/processes/free-ports.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { writeAdmiraltyChart } from '../support/admiralty-chart.ts';
import { AdmiraltyDouble } from '../support/admiralty-double.ts';
import { admiraltyChaperon, admiraltyProxy } from '../support/admiralty-pods.ts';
import { connectAdmiralty } from '../support/admiralty-release.ts';
import { isthmus } from '../support/command-line.ts';
import { eventually } from '../support/eventually.ts';
import { KeptCommand } from '../support/kept-command.ts';
import { Packaging } from '../support/packaging.ts';
import { startTestSandbox } from '../support/stopped-with-process.ts';

const P = 'multicluster.admiralty.io/';
const FINALIZER = `${P}team-own`;
const deadline = AbortSignal.timeout(230_000);
const elected = (namespace: string, name: string) => ({ metadata: { namespace, name, annotations: { [`${P}elect`]: '' } }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } });

let sandbox: Sandbox;
let opened: readonly [OpenCluster, OpenCluster, OpenCluster];
let double: AdmiraltyDouble;
let chart: string;
let webhookPort: number;
const kept: KeptCommand[] = [];

const here = () => opened[0].client;
/** Where Admiralty's pods of a namespace go. */
const there = (namespace: string) => (namespace === 'team' ? opened[2] : opened[1]).client;

/** All objects of a kind in both targets; pods are delegates. */
async function inTargets<T extends KubernetesObject>(type: ResourceType<T>, namespace?: string): Promise<readonly T[]> {
  const selection = { namespace, ...(type.plural === 'pods' && { labelSelector: `${P}parent-uid` }) };
  return (await Promise.all(opened.slice(1).map(({ client }) => client.list(type, selection)))).flat();
}

/** Delegates by the UID of their proxy; each must be one. */
async function delegates(): Promise<ReadonlyMap<string, string>> {
  const pods = await inTargets(PODS);
  const all = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(({ metadata, status }) => [metadata.labels?.[`${P}parent-uid`] ?? '', `${metadata.uid} ${status?.phase}`] as const);
  assert.equal(new Map(all).size, all.length, 'a proxy has two delegates');
  return new Map(all);
}

const isRunning = async (namespace: string, name: string): Promise<boolean> => {
  const { metadata } = await here().get<Pod>(PODS, { namespace, name });
  return (await delegates()).get(metadata.uid ?? '')?.endsWith('Running') === true;
};

async function typed(...words: readonly string[]): Promise<string> {
  const [source = '', far = '', own = ''] = sandbox.clusters.map(({ kubeconfigPath }) => kubeconfigPath);
  const { stdout, stderr, code } = await isthmus('migrate', ...words, '--kubeconfig', source, '--target', `far=${far}`, `team/own=${own}`);
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

const takeOver = () => typed('admiralty', '--webhook-url', `https://127.0.0.1:${webhookPort}`);

before(async () => {
  const tools = await Packaging.open(deadline);
  sandbox = await startTestSandbox({ dir: await mkdtemp(join(tmpdir(), 'isthmus-admiralty-source-')), targets: 2, nodes: 2, gpus: 0, audit: false, controllerQps: 1_000 }, deadline);
  const [source, far, own] = sandbox.clusters;
  opened = (await Promise.all(sandbox.clusters.map(({ kubeconfigPath }) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })))) as unknown as typeof opened;
  chart = await mkdtemp(join(tmpdir(), 'isthmus-admiralty-chart-'));
  await writeAdmiraltyChart(chart);
  const { code, stderr } = await tools.helm(['install', 'admiralty', chart, '--namespace', 'admiralty', '--create-namespace'], { kubeconfig: source!.kubeconfigPath });
  assert.equal(code, 0, stderr);
  for (const { kubeconfigPath } of [far!, own!]) {
    assert.equal((await isthmus('install', '--kubeconfig', kubeconfigPath)).code, 0);
    kept.push(new KeptCommand('run', '--kubeconfig', kubeconfigPath, '--components', 'delegate-controller,peering', '--no-source'));
  }
  for (const name of ['apps', 'team']) {
    await here().apply(NAMESPACES, { metadata: { name, labels: { 'multicluster-scheduler': 'enabled' } } }, 'isthmus-test');
    for (const { client } of opened.slice(1)) await client.apply(NAMESPACES, { metadata: { name } }, 'isthmus-test');
  }
  await connectAdmiralty(source!, far!, 'far');
  await connectAdmiralty(source!, own!, 'own', 'team');
  const release = { namespace: 'admiralty', name: 'admiralty' };
  const placeOf = (namespace: string) => (namespace === 'team' ? { target: there('team'), nodeName: 'admiralty-team-own', finalizers: [FINALIZER] } : { target: there('apps'), nodeName: 'admiralty-far', finalizers: [] });
  double = await AdmiraltyDouble.start({ source: here(), release, placeOf, namespaces: ['apps', 'team'] });
  [webhookPort = 0] = await freePorts(1);
});
after(async () => {
  await Promise.all(kept.map((command) => command.stop()));
  await double?.stop();
  await Promise.all((opened ?? []).map(({ client }) => client.transport.close()));
  await sandbox?.stop();
  if (sandbox !== undefined) await rmdir(sandbox.dir);
  if (chart !== undefined) await rm(chart, { recursive: true });
});

describe('a source that an Admiralty serves', () => {
  const followed = { namespace: 'team', name: 'settings' };
  let before: ReadonlyMap<string, string>;

  it('has its pods run in a target of Isthmus, which answers its candidates', async () => {
    for (const [namespace, name] of [['apps', 'a'], ['apps', 'b'], ['team', 'c']] as const) {
      await here().create(PODS, elected(namespace, name));
      await eventually(`${namespace}/${name} runs`, () => isRunning(namespace, name));
    }
    await here().delete(PODS, { namespace: 'apps', name: 'b' });
    await eventually('its delegate is gone', async () => (await delegates()).size === 2);
    before = await delegates();
  });

  it('is taken over: delegates stay, what waits runs, and nothing is left of what went meanwhile', async () => {
    const clusterName = { [`${P}parent-cluster-name`]: '' };
    await here().create(CONFIG_MAPS, { metadata: { ...followed, finalizers: [FINALIZER], labels: { [`${P}has-finalizer`]: 'true' } } } as KubernetesObject);
    const { metadata: { uid = '' } } = await here().get(CONFIG_MAPS, followed);
    await there('team').create(CONFIG_MAPS, { metadata: { ...followed, labels: { ...clusterName, [`${P}parent-uid`]: uid }, annotations: { [`${P}parent-name`]: 'settings', [`${P}parent-namespace`]: 'team' } } } as KubernetesObject);
    const started = typed('admiralty', '--webhook-url', `https://127.0.0.1:${webhookPort}`);
    kept.push(new KeptCommand('run', '--kubeconfig', sandbox.clusters[0]!.kubeconfigPath, '--components', 'webhook,scheduler,delegate-controller,virtual-node,peering', '--no-target', '--webhook-host', '127.0.0.1', '--webhook-port', String(webhookPort), '--target-allow-ranges', '127.0.0.0/8'));
    await eventually("Admiralty's scheduler is stopped", async () => (await here().get(DEPLOYMENTS, { namespace: 'admiralty', name: 'admiralty-proxy-scheduler' }) as { readonly spec?: { readonly replicas?: number } }).spec?.replicas === 0, 110_000);
    await here().create(PODS, elected('apps', 'waits'));
    const gone = admiraltyProxy({ namespace: 'apps', name: 'gone' });
    const orphan = admiraltyChaperon({ ...gone, metadata: { ...gone.metadata, uid: '5f0f7b0e-0000-4000-8000-000000000001' } }, '');
    await there('apps').create(POD_CHAPERONS, orphan); // its proxy went while nobody of Admiralty's looked
    assert.doesNotMatch(await started, /not Ready/, 'the kubeconfigs are where Admiralty had them');
    const now = await delegates();
    for (const [proxy, delegate] of before) assert.equal(now.get(proxy), delegate);
    await eventually('the pod that waited runs', () => isRunning('apps', 'waits'));
    await eventually('nothing is left of the pod that went', async () => (await inTargets(POD_CHAPERONS, 'apps')).every(({ metadata }) => metadata.name !== orphan.metadata.name));
    assert.deepEqual((await here().get(CONFIG_MAPS, followed)).metadata.finalizers ?? [], []);
  });

  it('takes pods, and ends them, as a source of Isthmus', async () => {
    await here().create(PODS, elected('team', 'ours'));
    await eventually('team/ours runs', () => isRunning('team', 'ours'));
    await here().delete(PODS, { namespace: 'apps', name: 'waits' });
    await eventually('its delegate is gone', async () => (await inTargets(PODS, 'apps')).length === 1);
    before = await delegates();
  });

  it('is given back: delegates stay, and Admiralty places pods and ends them', async () => {
    await typed('rollback');
    const now = await delegates();
    for (const [proxy, delegate] of before) assert.equal(now.get(proxy), delegate);
    const [webhook] = (await here().get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'admiralty' })).webhooks ?? [];
    assert.notEqual(new URL(webhook?.clientConfig.url ?? '').port, String(webhookPort));
    await here().create(PODS, elected('team', 'again'));
    await eventually('team/again runs', () => isRunning('team', 'again'));
    await here().delete(PODS, { namespace: 'team', name: 'ours' });
    await eventually('its delegate and its proxy are gone', async () => (await here().list(PODS, { namespace: 'team' })).length === 2 && (await inTargets(PODS, 'team')).length === 2);
    before = await delegates();
  });

  it('is taken over for good, and leaves nothing after deletion', async () => {
    await takeOver();
    const now = await delegates();
    for (const [proxy, delegate] of before) assert.equal(now.get(proxy), delegate);
    for (const namespace of ['apps', 'team']) for (const { metadata: { name = '' } } of await here().list(PODS, { namespace })) await here().delete(PODS, { namespace, name });
    await here().delete(CONFIG_MAPS, followed);
    await eventually('nothing is left', async () => {
      const lists = await Promise.all(['apps', 'team'].flatMap((namespace) => [PODS, POD_CHAPERONS, CONFIG_MAPS].flatMap((type) => [inTargets<KubernetesObject>(type, namespace), type === POD_CHAPERONS ? [] : here().list<KubernetesObject>(type, { namespace })])));
      return lists.flat().filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt').length === 0;
    });
  });
});

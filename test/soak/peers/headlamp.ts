// `npm run soak -- headlamp -- SERVER FRONTEND`: a real Headlamp, built elsewhere, with the plugin as a release has it,
// in Debian's chromium, for an administrator and for a member of one namespace. SERVER is Headlamp's program, FRONTEND
// the folder of its built pages. Prints its figures as JSON; fails when something is missing, when a member sees
// something of another namespace, or when the plugin asks for what Headlamp would not.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { DELEGATE_NAME_ANNOTATION, ELECT_ANNOTATION, PLACEMENT_ANNOTATION } from '../../../api/objects/keys.ts';
import { DEPLOYMENTS, NODES, PODS } from '../../../api/resource-types.ts';
import { targetOfPod } from '../../../dashboard/headlamp/pod-facts.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { startChromium } from '../../support/page/chromium.ts';
import { eventually } from '../../support/history/eventually.ts';
import {
  inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld,
} from '../../support/worlds/isthmus-world.ts';
import { bindRole, makeUser } from '../../support/page/page-viewers.ts';
import { mergedKubeconfig, startHeadlamp, type RunningHeadlamp } from '../../support/peers/real-headlamp.ts';

const [server, frontend] = process.argv.slice(2);
if (server === undefined || frontend === undefined) {
  process.stderr.write(
    'This needs a real Headlamp, which is not in this repository: give its server, and the folder of its built ' +
      'pages.\n',
  );
  process.exit(1);
}

const [OURS, OTHERS] = ['shop', 'bank'];
const CANARY = 'canary-93d0';
const MEMBER = { namespace: OURS, name: 'member' };
const HOSTILE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>';
/** Headlamp shows a page after several requests, and its map after a layout. */
const TIMEOUT_MS = 60_000;
const WORKLOADS: readonly (readonly [namespace: string, name: string, replicas: number])[] =
  [[OURS, 'web', 3], [OTHERS, CANARY, 2]];
const REPLICAS = WORKLOADS.reduce((sum, [, , replicas]) => sum + replicas, 0);

const folder = await mkdtemp(join(tmpdir(), 'isthmus-headlamp-'));
const world = await startWorld({ targets: 2, nodes: 2 });
const browser = await startChromium();
const running: RunningHeadlamp[] = [];
try {
  await fill(world);
  const kubeconfig = await kubeconfigFor(world);
  for (const hasPlugin of [true, false]) {
    const its = { folder: join(folder, hasPlugin ? 'with' : 'without'), hasPlugin };
    running.push(await startHeadlamp({ server, frontend }, kubeconfig, its));
  }
  const [headlamp, plain] = running.map(({ origin }) => origin);
  const administrator = await tabOf(browser, headlamp ?? '');
  const figures = {
    ...await seeMaps(administrator), ...await seePods(administrator), ...await seeTargets(administrator),
  };
  const member = await seeAsMember(await tabOf(browser, headlamp ?? ''));
  const requests = await compareRequests(headlamp ?? '', plain ?? '');
  process.stdout.write(`${JSON.stringify({ ...figures, member, requests }, undefined, 2)}\n`);
} finally {
  await browser.close();
  for (const one of running) await one.stop();
  await world.stop();
  await rm(folder, { recursive: true, force: true });
}

/** Two workloads that run, in two namespaces, and a pod that no target can run. */
async function fill({ source: { client, pods } }: IsthmusWorld): Promise<void> {
  await Promise.all([OURS, OTHERS].map((namespace) => makeNamespace(world, namespace)));
  const containers = (cpu: string) => [{ name: 'main', image: 'example/main:1', resources: { requests: { cpu } } }];
  const annotations = { [ELECT_ANNOTATION]: '' };
  for (const [namespace, name, replicas] of WORKLOADS) {
    const labels = { app: name };
    const template = { metadata: { labels, annotations }, spec: { containers: containers('100m') } };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    await client.create(DEPLOYMENTS, { metadata: { namespace, name }, spec } as KubernetesObject);
  }
  await client.create<Pod>(PODS, {
    metadata: { namespace: OURS, name: 'too-large', annotations }, spec: { containers: containers('500') },
  } as Pod);
  await pods.until('all run', (all) => all.filter(isRunning).length === REPLICAS, 120_000);
}

/** Contexts of all clusters for an administrator, and of the source for a member of one namespace. */
async function kubeconfigFor({ source, targets, signal }: IsthmusWorld): Promise<string> {
  const admin = source.cluster.kubeconfigPath;
  const member = await makeUser(source.client, MEMBER, { admin, dir: folder }, signal);
  await bindRole(source.client, MEMBER, 'view');
  return mergedKubeconfig(folder, {
    source: admin, member, ...Object.fromEntries(
      targets.map(({ cluster }, index) => [`target-${index + 1}`, cluster.kubeconfigPath]),
    ),
  });
}

/** A tab with what it asked for; a page that breaks, or asks another server, ends the run. */
interface Tab {
  readonly page: Page;
  readonly asked: string[];
  readonly open: (address: string) => Promise<void>;
}

async function tabOf(in_: Browser, origin: string): Promise<Tab> {
  const context = await in_.newContext({ viewport: { width: 1_700, height: 1_200 } });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const [asked, broken]: [string[], string[]] = [[], []];
  page.on('request', (request) => {
    const url = request.url();
    if (url.startsWith(`${origin}/`)) asked.push(`${request.method()} ${new URL(url).pathname}`);
    else if (!/^(?:data|blob):/.test(url)) broken.push(`asked for ${url}`);
  });
  page.on('pageerror', ({ message }) => broken.push(message));
  page.on('console', (line) => {
    if (line.type() === 'error' && /isthmus|plugin/i.test(line.text())) broken.push(line.text());
  });
  const open = async (address: string) => {
    assert.deepEqual(broken, []);
    await page.goto(origin + address);
  };
  return { page, asked, open };
}

/** Waits until the map has so many lines, and gives the texts of its boxes. */
async function mapOf({ page, open }: Tab, address: string, lines: number): Promise<readonly string[]> {
  await open(address);
  await page.getByText('Expand All').click();
  await eventually(`the map has ${lines} lines`, async () =>
    (await page.locator('.react-flow__edge').count()) === lines, TIMEOUT_MS);
  return page.locator('.react-flow__node').allInnerTexts();
}

/** Workload, ReplicaSet, pods and targets; with all clusters also a delegate for each pod. */
async function seeMaps(tab: Tab): Promise<object> {
  const own = WORKLOADS.length + 2 * REPLICAS;
  const boxes = await mapOf(tab, '/c/source/map', own);
  const bound = world.source.pods.objects.filter(isRunning);
  for (const name of [...bound.map(({ metadata }) => metadata.name ?? ''), 'too-large', 'target-1', 'target-2']) {
    assert.ok(boxes.some((text) => text.includes(name)), `${name} is not among ${boxes.join(' ')}`);
  }
  const all = await mapOf(tab, '/c/source+target-1+target-2/map', own + REPLICAS);
  for (const { metadata } of bound) {
    assert.ok(all.some((text) => text.includes(metadata.annotations?.[DELEGATE_NAME_ANNOTATION] ?? '?')));
  }
  return { map: { boxes: boxes.length, lines: own }, mapOfAllClusters: { boxes: all.length, lines: own + REPLICAS } };
}

/** The column; the section of a bound pod with its delegate, of a delegate, of a pod that waits; a hostile record. */
async function seePods(tab: Tab): Promise<object> {
  const { page, open } = tab;
  const bound = inNamespace(world.source.pods.objects, OURS).filter(isRunning);
  await open('/c/source/pods');
  for (const pod of bound) {
    const row = page.getByRole('row').filter({ hasText: pod.metadata.name ?? '' });
    await row.getByText(targetOfPod(pod) ?? '', { exact: true }).waitFor();
  }
  const [pod] = bound;
  assert.ok(pod !== undefined);
  const [name, delegate] = [pod.metadata.name ?? '', pod.metadata.annotations?.[DELEGATE_NAME_ANNOTATION] ?? ''];
  const record = JSON.stringify({ target: 'ClusterTarget/x', score: 1, not: { 'ClusterTarget/y': HOSTILE } });
  await world.source.client.patch(PODS, { namespace: OURS, name }, {
    patchType: 'merge', patch: { metadata: { annotations: { [PLACEMENT_ANNOTATION]: record } } },
  });
  await open(`/c/source+target-1+target-2/pods/${OURS}/${name}?cluster=source`);
  await page.getByText(HOSTILE, { exact: true }).waitFor();
  assert.equal(await page.evaluate('window.broken'), undefined);
  await page.getByRole('row').filter({ hasText: 'Scheduled to a node' }).getByText(/^target-\d-node-\d$/).waitFor();
  await page.getByRole('link', { name: `${delegate} in cluster ${targetOfPod(pod)}` }).click();
  await page.getByText(`${OURS}/${name}, in its source`).waitFor();
  await open(`/c/source/pods/${OURS}/too-large`);
  await page.getByRole('row').filter({ hasText: 'Target chosen' }).getByText('stuck').waitFor();
  return { pods: { inTable: bound.length, sections: 3 } };
}

/** The page of targets, which follows a cordon, and the section of a virtual node. */
async function seeTargets({ page, open }: Tab): Promise<object> {
  const name = virtualNodeName({ kind: 'ClusterTarget', name: 'target-1' });
  const cordon = (unschedulable: boolean) => world.source.client.patch(NODES, { name }, {
    patchType: 'merge', patch: { spec: { unschedulable } },
  });
  await open('/c/source/isthmus/targets');
  const row = page.getByRole('row').filter({ hasText: 'target-1' });
  await row.getByText('Ready', { exact: true }).waitFor();
  await cordon(true);
  await row.getByText('Ready, cordoned', { exact: true }).waitFor();
  await row.getByRole('link', { name }).click();
  await page.getByText('It gets no new pods until it is uncordoned.').waitFor();
  await page.getByRole('row').filter({ hasText: 'ephemeral-storage' }).first().waitFor();
  await cordon(false);
  await page.getByText('It gets no new pods until it is uncordoned.').waitFor({ state: 'detached' });
  return { targets: 2 };
}

/** Sees its own namespace, where its pods run, what it may not read, and nothing of another namespace. */
async function seeAsMember(tab: Tab): Promise<object> {
  const { page, open } = tab;
  const nothingElse = async () => {
    const text = await page.locator('body').innerText();
    assert.ok(!text.includes(CANARY) && !text.includes(OTHERS), text);
  };
  const boxes = await mapOf(tab, `/c/member/map?namespace=${OURS}`, 1 + 3 + 3);
  assert.ok(boxes.some((text) => text.includes('Target, not readable')), boxes.join(' '));
  await nothingElse();
  await open(`/c/member/pods?namespace=${OURS}`);
  await page.getByRole('row').filter({ hasText: 'web-' }).first().getByText(/^target-\d$/).waitFor();
  await nothingElse();
  await open('/c/member/isthmus/targets');
  await page.getByText(/^Cannot show clustertargets of cluster member: .*Ask an administrator/).waitFor();
  await nothingElse();
  return { boxes: boxes.length };
}

/** For the map, Headlamp with the plugin asks for nothing else than Headlamp without it. */
async function compareRequests(headlamp: string, plain: string): Promise<object> {
  const [withPlugin, without] = await Promise.all([headlamp, plain].map(async (origin) => {
    const tab = await tabOf(browser, origin);
    await tab.open('/c/source/map');
    await tab.page.getByText('Expand All').click();
    await tab.page.locator('.react-flow__node').getByText(CANARY, { exact: true }).waitFor();
    await tab.page.waitForLoadState('networkidle');
    return new Set(tab.asked.filter((line) => line.includes(' /clusters/')));
  }));
  const more = [...withPlugin ?? []].filter((line) => without?.has(line) !== true);
  assert.deepEqual(more, []);
  return { map: withPlugin?.size, mapWithoutPlugin: without?.size };
}

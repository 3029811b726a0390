// `npm run soak -- page-scale [-- MINUTES]`: the page in Debian's chromium with 10,000 pods and 100 targets on a real
// API server. Prints how soon a screen is there, how soon a change is on it, and both heaps while pods change for so
// many minutes; the exit code is 1 where a goal of docs/results/dashboard.md is missed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import type { PlacementPolicy, PlacementPolicySpec } from '../../../api/kinds/placement-policy.ts';
import type { Node, ObjectMeta, Pod } from '../../../api/objects/core.ts';
import {
  ADMISSION_RECORD_ANNOTATION, DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, MOVE_LABEL, PLACEMENT_ANNOTATION,
  PROVIDER_KEY, PROVIDER_VALUE, PROXY_SCHEDULER, TARGET_ANNOTATION, TRUE,
} from '../../../api/objects/keys.ts';
import {
  CLUSTER_PLACEMENT_POLICIES, CLUSTER_TARGETS, NAMESPACES, NODES, PLACEMENT_POLICIES, PODS, SERVICE_ACCOUNTS,
} from '../../../api/resource-types.ts';
import { installInto } from '../../../cli/install/install.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { untilStopped } from '../../../process/lifecycle.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import { startChromium } from '../../support/page/chromium.ts';
import { servePageFor, shownTo, type Viewer } from '../../support/page/page-viewers.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';
import { copyPod } from '../../support/worlds/stored-copies.ts';

const [TARGETS, NAMESPACE] = [100, 'page-scale'];
/** Pods of each target by revision: half of a rollout. */
const REVISIONS = { old: 60, new: 40 } as const;
const PODS_IN_ALL = TARGETS * Object.values(REVISIONS).reduce((sum, pods) => sum + pods, 0);
/** Of the namespace, and as many of the cluster. */
const POLICIES = 20;
const POD = 'web-target-000-old-00000000';
const SUPPOSED = `?policy=PlacementPolicy%2Fpolicy-1&spec=${encodeURIComponent('require: {matchLabels: {zone: b}}')}`;
/** What takes as long as it takes: the screen is there before. */
const SIMULATED = 'Where more pods would go';
/** With what has to be seen of each; what comes first of a screen when missing. */
const SCREENS: readonly (readonly [address: string, shown?: string])[] = [
  ['/targets'], ['/workloads'], ['/pods'], ['/pending'], ['/policies'], ['/decisions'], ['/moves'],
  [`/pods/${NAMESPACE}/${POD}`, 'Evaluation of targets'], [`/decisions/${NAMESPACE}/${POD}`, 'Targets then and now'],
  [`/pods/${NAMESPACE}/${POD}?without=target-001`, 'Evaluation of targets'],
  [`/pods/${NAMESPACE}/${POD}${SUPPOSED}`, 'Evaluation of targets'],
  [`/pods/${NAMESPACE}/${POD}?replicas=100`, SIMULATED], [`/pods/${NAMESPACE}/${POD}?replicas=99`],
];
/** Looked at for half an hour, each in a tab. */
const TABS = ['/pods', '/decisions', '/moves', `/pods/${NAMESPACE}/${POD}?replicas=100`];
const OPENINGS = 5;
const CHANGES = 40;
const TIMEOUT_MS = 30_000;
/** Changes of pods per second while heaps are looked at. */
const CHURN_MS = 100;
const GOALS = { screenMs: 1_000, updateMs: 100, growth: 1.1 } as const;

const minutes = Number(process.argv[2] ?? 30);
const signal = untilStopped();
const failures: string[] = [];

/** When what a test looks for was on the screen, and the screen's first row, by the clock of this machine. */
const WATCHER = `sessionStorage.setItem('isthmus-session', 'TOKEN');
globalThis.seen = {};
globalThis.seen.part = sessionStorage.getItem('part') || 'main tbody tr, main .content section';
new MutationObserver(() => {
  const shown = globalThis.seen.row === undefined && document.querySelector(globalThis.seen.part);
  if (shown) {
    requestAnimationFrame(() => setTimeout(() => (globalThis.seen.row ??= performance.now()), 0));
  }
  const { wanted } = globalThis.seen;
  if (wanted !== undefined && document.querySelector('main')?.textContent.includes(wanted)) {
    requestAnimationFrame(() => setTimeout(() => (globalThis.seen.at ??= Date.now()), 0));
  }
}).observe(document, { subtree: true, childList: true, characterData: true });`;

function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

function judge(what: string, value: number, most: number, unit: string): void {
  const isKept = value <= most;
  const measured = value.toFixed(unit === '×' ? 2 : 0);
  process.stdout.write(`| ${what} | ${measured} ${unit} | ≤ ${most} ${unit} | ${isKept ? 'yes' : 'no'} |\n`);
  if (!isKept) failures.push(what);
}

/** 100 ClusterTargets, and 100 pods for each of them; nothing of Isthmus runs, so that all stays as it is written. */
async function fill(cluster: Cluster, client: ClusterClient): Promise<void> {
  await cluster.stopComponent('kube-controller-manager'); // it would delete pods of nodes that are not there
  await client.apply(NAMESPACES, { metadata: { name: NAMESPACE } }, 'isthmus-soak');
  // that manager would make it
  await client.apply(SERVICE_ACCOUNTS, { metadata: { namespace: NAMESPACE, name: 'default' } }, 'isthmus-soak');
  for (let index = 0; index < TARGETS; index += 1) {
    const name = `target-${String(index).padStart(3, '0')}`;
    await makeTarget(client, name, index === 0);
    for (const [hash, pods] of Object.entries(REVISIONS)) {
      await copyPod(cluster, await seed(client, name, hash), pods - 1);
    }
  }
  for (let index = 0; index < POLICIES; index += 1) {
    const spec = { podSelector: { matchLabels: { app: `web-${index}` } }, forbid: { matchLabels: { zone: 'b' } } };
    await client.create(PLACEMENT_POLICIES, policy({ namespace: NAMESPACE, name: `policy-${index}` }, spec));
    await client.create(CLUSTER_PLACEMENT_POLICIES, policy({ name: `policy-${index}` }, spec));
  }
  const toFirst = { require: { matchLabels: { 'kubernetes.io/hostname': 'target-000' } } };
  await client.create(PLACEMENT_POLICIES, policy({ ...MOVE, labels: { [MOVE_LABEL]: TRUE } }, toFirst));
}

const MOVE = { namespace: NAMESPACE, name: 'isthmus-move-1' };
const policy = (metadata: ObjectMeta, spec: PlacementPolicySpec): PlacementPolicy => ({ metadata, spec });

async function makeTarget(client: ClusterClient, name: string, isCordoned: boolean): Promise<void> {
  await client.create(CLUSTER_TARGETS, { metadata: { name }, spec: { kubeconfigSecret: { name } } } as never);
  const lastTransitionTime = new Date().toISOString();
  const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime };
  await client.patch(CLUSTER_TARGETS, { name, subresource: 'status' }, { patchType: 'merge', patch: { status: {
    conditions: [ready], free: { cpu: '42', memory: '180Gi', pods: '310' }, rtt: '12ms', virtualNode: nodeOf(name),
  } } });
  const labels = { [PROVIDER_KEY]: PROVIDER_VALUE, 'kubernetes.io/hostname': name };
  const spec = { unschedulable: isCordoned };
  await client.create(NODES, { metadata: { name: nodeOf(name), labels }, spec } as Node);
}

const nodeOf = (target: string): string => `admiralty-${target}`;

async function seed(client: ClusterClient, target: string, hash: string): Promise<Pod> {
  const owner =
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `web-${target}-${hash}`, uid: target, controller: true };
  const at = { namespace: NAMESPACE, name: `web-${target}-${hash}-00000000` };
  const not = { 'ClusterTarget/target-001': 'InsufficientRoom', 'ClusterTarget/target-002': 'PolicyForbids' };
  await client.create<Pod>(PODS, {
    metadata: {
      ...at, ownerReferences: [owner], labels: { app: 'web', 'pod-template-hash': hash },
      annotations: {
        [TARGET_ANNOTATION]: `ClusterTarget/${target}`, [ELECT_ANNOTATION]: '',
        [ADMISSION_RECORD_ANNOTATION]: '{"spec":{}}',
        [PLACEMENT_ANNOTATION]: JSON.stringify({ target: `ClusterTarget/${target}`, score: 0.5, not }),
      },
    },
    spec: {
      containers: [{ name: 'web', image: 'example/web:1' }], schedulerName: PROXY_SCHEDULER, nodeName: nodeOf(target),
    },
  } as unknown as Pod);
  const since = { status: 'True', lastTransitionTime: new Date().toISOString() };
  return client.patch<Pod>(PODS, { ...at, subresource: 'status' }, { patchType: 'merge', patch: { status: {
    phase: 'Running', conditions: [{ type: 'PodScheduled', ...since }, { type: 'Ready', ...since }],
    containerStatuses: [{
      name: 'web', image: 'example/web:1', imageID: '', ready: true, restartCount: 0,
      state: { running: { startedAt: new Date().toISOString() } },
    }],
  } } });
}

async function restart(client: ClusterClient, name: string, restartCount: number): Promise<void> {
  await client.patch(PODS, { namespace: NAMESPACE, name, subresource: 'status' }, {
    patchType: 'strategic', patch: { status: { containerStatuses: [{
      name: 'web', image: 'example/web:1', imageID: '', ready: true, restartCount,
      state: { running: { startedAt: new Date().toISOString() } },
    }] } },
  });
}

/** What the watcher has noted, once it has. Playwright's own wait evaluates a text, which the page's policy forbids. */
async function seen(page: Page, what: 'row' | 'at'): Promise<number> {
  for (const until = performance.now() + TIMEOUT_MS; performance.now() < until; await sleep(10)) {
    const noted: unknown = await page.evaluate(`globalThis.seen.${what} ?? null`);
    if (noted !== null) return Number(noted);
  }
  throw new Error(`not seen within ${TIMEOUT_MS} ms at ${page.url()}: ${what}`);
}

async function openings(page: Page, { origin }: Viewer): Promise<void> {
  for (const [address, part] of SCREENS) {
    const selector = part === undefined ? '' : `main [aria-label="${part}"] tbody tr`;
    const times: number[] = [];
    for (let opening = 0; opening < OPENINGS; opening += 1) {
      await page.goto(`${origin}/assets/none`); // of the page's own origin, for its storage
      await page.evaluate(`sessionStorage.setItem('part', ${JSON.stringify(selector)})`);
      await page.goto(origin + address);
      times.push(await seen(page, 'row'));
    }
    const shown = part === undefined ? 'its data' : `"${part}"`;
    const what = `\`${address}\` with ${shown}, median of ${OPENINGS}`;
    if (part !== SIMULATED) judge(what, medianOf(times), GOALS.screenMs, 'ms');
    else process.stdout.write(`| ${what} | ${medianOf(times).toFixed(0)} ms | | |\n`);
  }
}

/** Writes something that a screen shows with this number. */
type Change = (client: ClusterClient, number: number) => Promise<unknown>;

const restarts: Change = (client, number) => restart(client, POD, number);
const decides: Change = (client, number) => client.patch(PODS, { namespace: NAMESPACE, name: POD }, {
  patchType: 'merge', patch: { metadata: { annotations: {
    [PLACEMENT_ANNOTATION]: JSON.stringify({ target: 'ClusterTarget/target-000', score: number, not: {} }),
  } } },
});
const moves: Change = (client, number) => client.patch(PLACEMENT_POLICIES, MOVE, {
  patchType: 'merge', patch: { spec: { podSelector: { matchLabels: { app: `web-${number}` } } } },
});
const UPDATED: readonly (readonly [address: string, change: Change])[] = [
  [`/pods?text=${POD}`, restarts], ['/pods', restarts], [`/decisions?text=${POD}`, decides], ['/moves', moves],
  [`/pods/${NAMESPACE}/${POD}`, restarts], [`/pods/${NAMESPACE}/${POD}${SUPPOSED}`, restarts],
];

/** From the API server's answer to a write until the change is on the screen. */
async function updates(page: Page, client: ClusterClient, { origin }: Viewer): Promise<void> {
  await page.evaluate("sessionStorage.removeItem('part')");
  for (const [index, [address, change]] of UPDATED.entries()) {
    await page.goto(origin + address);
    await seen(page, 'row');
    const times: number[] = [];
    for (let round = 0; round < CHANGES; round += 1) {
      const wanted = 1_000_000 + index * CHANGES + round;
      await page.evaluate(`globalThis.seen.at = undefined; globalThis.seen.wanted = '${wanted}'`);
      await change(client, wanted);
      const written = Date.now();
      times.push((await seen(page, 'at')) - written);
      await sleep(500); // the last change must not be one snapshot with the next
    }
    judge(`a change on \`${address}\`, median of ${CHANGES}`, medianOf(times), GOALS.updateMs, 'ms');
    const slow = times.toSorted((one, other) => one - other)[Math.floor(0.95 * CHANGES)] ?? Number.NaN;
    process.stdout.write(`| a change on \`${address}\`, 95 of 100 | ${slow.toFixed(0)} ms | | |\n`);
  }
}

interface Heaps {
  readonly server: number;
  readonly browser: number;
}

async function heapsOf(sessions: readonly CDPSession[]): Promise<Heaps> {
  let browser = 0;
  for (const session of sessions) {
    await session.send('HeapProfiler.collectGarbage');
    browser += (await session.send('Runtime.getHeapUsage')).usedSize / 2 ** 20;
  }
  globalThis.gc?.();
  return { server: process.memoryUsage().heapUsed / 2 ** 20, browser };
}

/** Pods change all the time; the first tenth of it warms up. */
async function heaps(context: BrowserContext, client: ClusterClient, { origin }: Viewer): Promise<void> {
  const sessions: CDPSession[] = [];
  for (const address of TABS) {
    const page = await context.newPage();
    await page.goto(origin + address);
    await seen(page, 'row');
    sessions.push(await context.newCDPSession(page));
  }
  const [taken, until] = [[] as Heaps[], performance.now() + minutes * 60_000];
  const every = (minutes * 60_000) / 30;
  let next = performance.now() + every;
  for (let change = 0; performance.now() < until && !signal.aborted; change += 1) {
    const target = String(change % TARGETS).padStart(3, '0');
    await restart(client, `web-target-${target}-new-00000000`, change + 1);
    await sleep(CHURN_MS);
    if (performance.now() < next) continue;
    taken.push(await heapsOf(sessions));
    next += every;
  }
  const third = Math.floor(taken.length / 3);
  for (const side of ['server', 'browser'] as const) {
    const [first, last] = [taken.slice(3, 3 + third), taken.slice(-third)].map((part) => (
      medianOf(part.map((one) => one[side]))
    ));
    const what = `heap of the ${side} after ${minutes} minutes (${last?.toFixed(1)} MiB) to that at the beginning`;
    judge(what, (last ?? Number.NaN) / (first ?? Number.NaN), GOALS.growth, '×');
  }
}

const dir = await mkdtemp(join(tmpdir(), 'isthmus-scale-'));
const sandbox = await startTestSandbox(
  { dir: join(dir, 'sandbox'), targets: 1, nodes: 0, gpus: 0, audit: false, controllerQps: 1_000 }, signal,
);
const browser = await startChromium();
try {
  const [cluster] = sandbox.clusters;
  if (cluster === undefined) throw new Error('the sandbox lacks a cluster');
  const { client } = await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-soak' });
  await installInto(
    // a source would refuse pods that only look elected
    client, { installNamespace: DEFAULT_INSTALL_NAMESPACE, webhookUrl: undefined, role: 'target' },
    { tell: () => undefined, signal },
  );
  await fill(cluster, client);
  const viewer = await servePageFor(cluster.kubeconfigPath, { signal, reviewMs: 25_000 });
  process.stdout.write('| | measured | goal | kept |\n|---|---|---|---|\n');
  const from = performance.now();
  await shownTo(viewer, '/pods', (screen) => screen.screen === 'pods' && screen.total === PODS_IN_ALL);
  const read = (performance.now() - from).toFixed(0);
  process.stdout.write(`| the first screen of a new process, which reads 10,000 pods | ${read} ms | | |\n`);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.addInitScript({ content: WATCHER.replace('TOKEN', viewer.token) });
  const page = await context.newPage();
  await openings(page, viewer);
  await updates(page, client, viewer);
  await page.close();
  await heaps(context, client, viewer);
  await viewer.stop();
  await client.transport.close();
} finally {
  await browser.close();
  await sandbox.stop();
  await rm(dir, { recursive: true, force: true });
}
for (const failure of failures) process.stderr.write(`missed: ${failure}\n`);
if (failures.length > 0) process.exitCode = 1;

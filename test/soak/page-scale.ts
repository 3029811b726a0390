// `npm run soak -- page-scale [-- MINUTES]`: the page in Debian's chromium with 10,000 pods and 100 targets on a real
// API server. Prints how soon a screen is there, how soon a change is on it, and both heaps while pods change for so
// many minutes; the exit code is 1 where a goal of docs/results/dashboard.md is missed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession, Page } from 'playwright-core';
import type { Pod } from '../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE, PROXY_SCHEDULER, TARGET_ANNOTATION } from '../../api/objects/keys.ts';
import { CLUSTER_TARGETS, NAMESPACES, PODS, SERVICE_ACCOUNTS } from '../../api/resource-types.ts';
import { installInto } from '../../cli/install/install.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import { untilStopped } from '../../process/lifecycle.ts';
import type { Cluster } from '../../sandbox/control-plane/control-plane.ts';
import { startChromium } from '../support/chromium.ts';
import { servePageFor, shownTo, type Viewer } from '../support/page-viewers.ts';
import { startTestSandbox } from '../support/stopped-with-process.ts';
import { copyPod } from '../support/stored-copies.ts';

const [TARGETS, COPIES, NAMESPACE] = [100, 99, 'page-scale'];
const SCREENS = ['/targets', '/workloads', '/pods', '/pending'];
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
new MutationObserver(() => {
  const shown = globalThis.seen.row === undefined && document.querySelector('main tbody tr, main .content section');
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
    await client.create(CLUSTER_TARGETS, { metadata: { name }, spec: { kubeconfigSecret: { name } } } as never);
    const lastTransitionTime = new Date().toISOString();
    await client.patch(CLUSTER_TARGETS, { name, subresource: 'status' }, { patchType: 'merge', patch: { status: {
      conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime }],
      free: { cpu: '42', memory: '180Gi', pods: '310' }, rtt: '12ms', virtualNode: `admiralty-${name}`,
    } } });
    const pod = await seed(client, name);
    await copyPod(cluster, pod, COPIES);
  }
}

async function seed(client: ClusterClient, target: string): Promise<Pod> {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `web-${target}`, uid: target, controller: true };
  const at = { namespace: NAMESPACE, name: `web-${target}-00000000` };
  await client.create<Pod>(PODS, {
    metadata: {
      ...at, ownerReferences: [owner], annotations: { [TARGET_ANNOTATION]: `ClusterTarget/${target}` },
    },
    spec: {
      containers: [{ name: 'web', image: 'example/web:1' }], schedulerName: PROXY_SCHEDULER,
      nodeName: `admiralty-${target}`,
    },
  } as unknown as Pod);
  return client.patch<Pod>(PODS, { ...at, subresource: 'status' }, { patchType: 'merge', patch: { status: {
    phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }],
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
  for (const address of SCREENS) {
    const times: number[] = [];
    for (let opening = 0; opening < OPENINGS; opening += 1) {
      await page.goto(origin + address);
      times.push(await seen(page, 'row'));
    }
    judge(`\`${address}\` with its data, median of ${OPENINGS}`, medianOf(times), GOALS.screenMs, 'ms');
  }
}

/** From the API server's answer to a write until the change is on the screen. */
async function updates(page: Page, client: ClusterClient, { origin }: Viewer): Promise<void> {
  await page.goto(`${origin}/pods`);
  await seen(page, 'row');
  const times: number[] = [];
  for (let change = 0; change < CHANGES; change += 1) {
    const wanted = 1_000_000 + change;
    await page.evaluate(`globalThis.seen.at = undefined; globalThis.seen.wanted = '${wanted}'`);
    await restart(client, 'web-target-000-00000000', wanted);
    const written = Date.now();
    times.push((await seen(page, 'at')) - written);
    await sleep(500); // the last change must not be one snapshot with the next
  }
  judge(`a change on \`/pods\`, median of ${CHANGES}`, medianOf(times), GOALS.updateMs, 'ms');
  const slow = times.toSorted((one, other) => one - other)[Math.floor(0.95 * CHANGES)] ?? Number.NaN;
  process.stdout.write(`| a change on \`/pods\`, 95 of 100 | ${slow.toFixed(0)} ms | | |\n`);
}

interface Heaps {
  readonly server: number;
  readonly browser: number;
}

async function heapsOf(session: CDPSession): Promise<Heaps> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  globalThis.gc?.();
  return { server: process.memoryUsage().heapUsed / 2 ** 20, browser: usedSize / 2 ** 20 };
}

/** Pods change all the time; the first tenth of it warms up. */
async function heaps(page: Page, client: ClusterClient): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const [taken, until] = [[] as Heaps[], performance.now() + minutes * 60_000];
  const every = (minutes * 60_000) / 30;
  let next = performance.now() + every;
  for (let change = 0; performance.now() < until && !signal.aborted; change += 1) {
    const target = String(change % TARGETS).padStart(3, '0');
    await restart(client, `web-target-${target}-00000000`, change + 1);
    await sleep(CHURN_MS);
    if (performance.now() < next) continue;
    taken.push(await heapsOf(session));
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
  await shownTo(viewer, '/pods', (screen) => screen.screen === 'pods' && screen.total === TARGETS * (COPIES + 1));
  const read = (performance.now() - from).toFixed(0);
  process.stdout.write(`| the first screen of a new process, which reads 10,000 pods | ${read} ms | | |\n`);
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  await page.addInitScript({ content: WATCHER.replace('TOKEN', viewer.token) });
  await openings(page, viewer);
  await updates(page, client, viewer);
  await heaps(page, client);
  await viewer.stop();
  await client.transport.close();
} finally {
  await browser.close();
  await sandbox.stop();
  await rm(dir, { recursive: true, force: true });
}
for (const failure of failures) process.stderr.write(`missed: ${failure}\n`);
if (failures.length > 0) process.exitCode = 1;

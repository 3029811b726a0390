// What pages cost the API server of the source: nothing while nobody looks, and with ten viewers, each with a page of
// their own, less than one request per second. A proxy counts; seconds follow from the number of reviews of
// permissions.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import { REVIEW_MS } from '../../../dashboard/permissions/viewer-permissions.ts';
import type { AnyScreen } from '../../../dashboard/wire/screens.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { eventually } from '../../support/history/eventually.ts';
import { FaultProxy, type SeenRequest } from '../../support/faults/fault-proxy.ts';
import { isRunning, makeNamespace, startWorld, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { servePageFor, type Viewer } from '../../support/page/page-viewers.ts';
import { openScreen, type FollowedScreen } from '../../support/page/scripted-screens.ts';

const NAMESPACE = 'page-load';
const VIEWERS = 10;
/** Rounds of reviews that are counted; in one of ten, everything is read again. */
const ROUNDS = 20;
/** Pace of reviews here, in ms. */
const REVIEW_TEST_MS = 1_000;
/** A watch ends after 300 to 600 s, and is opened again. */
const MEAN_WATCH_SECONDS = 450;
/** What the ten look at. */
const ADDRESSES = [
  '/targets', '/workloads', '/pods', '/pending', `/pods/${NAMESPACE}/web?without=target-1&replicas=10`, '/policies',
  '/decisions', `/decisions/${NAMESPACE}/web`, '/moves', `/pods/${NAMESPACE}/too-large?spec=require:+%7B%7D`,
];

let world: IsthmusWorld;
let proxy: FaultProxy;
let dir: string;
let viewers: readonly Viewer[];
const isReview = ({ url }: SeenRequest): boolean => url.pathname.endsWith('/selfsubjectrulesreviews');
const isWatch = ({ url }: SeenRequest): boolean => url.searchParams.get('watch') === 'true';

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'isthmus-load-'));
  world = await startWorld({ targets: 2, nodes: 2 });
  await makeNamespace(world, NAMESPACE);
  await Promise.all([make('web', '100m'), make('too-large', '500')]);
  const isRefused = ({ status }: Pod): boolean => findCondition(status?.conditions, 'PodScheduled')?.status === 'False';
  await world.source.pods.until('both are decided', (pods) => (
    pods.some(isRunning) && pods.some(isRefused)
  ), 90_000);
  proxy = await FaultProxy.start(await readFile(world.source.cluster.kubeconfigPath, 'utf8'));
  const kubeconfig = await kubeconfigOfProxy();
  viewers = await Promise.all(Array.from(
    { length: VIEWERS }, () => servePageFor(kubeconfig, { signal: world.signal, reviewMs: REVIEW_TEST_MS }),
  ));
}, { timeout: 300_000 });
after(async () => {
  await Promise.all((viewers ?? []).map((viewer) => viewer.stop()));
  await proxy?.stop();
  await world?.stop();
  await rm(dir, { recursive: true, force: true });
});

async function kubeconfigOfProxy(): Promise<string> {
  const { server, certificateAuthority = '' } = proxy.connection;
  const name = 'source';
  const path = join(dir, 'proxy.yaml');
  await writeFile(path, JSON.stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': name, users: [{ name, user: {} }],
    clusters: [{ name, cluster: {
      server: server.href, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64'),
    } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  }));
  return path;
}

async function make(name: string, cpu: string): Promise<void> {
  await world.source.client.create<Pod>(PODS, {
    metadata: { namespace: NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [{ name: 'main', image: 'example/main:1', resources: { requests: { cpu } } }] },
  } as Pod);
}

/** A pod comes, runs, and goes once it has been seen. */
async function somethingHappens(name: string, seen?: Promise<unknown>): Promise<void> {
  await make(name, '100m');
  const named = ({ metadata }: Pod): boolean => metadata.name === name;
  await world.source.pods.until('it runs', (pods) => pods.some((pod) => named(pod) && isRunning(pod)), 90_000);
  await seen;
  await world.source.client.delete(PODS, { namespace: NAMESPACE, name });
  await world.source.pods.until('it is gone', (pods) => !pods.some(named), 90_000);
}

/** Resolves once so many more reviews have come. */
function reviews(number: number): Promise<void> {
  let left = number;
  return new Promise((resolve) => {
    proxy.fate = (request) => {
      if (isReview(request)) left -= 1;
      if (left <= 0) resolve();
      return undefined;
    };
  });
}

/** Whether nothing of it is still being gathered. */
function isComplete(screen: AnyScreen): boolean {
  if (screen.unreadable.length > 0) return false;
  if (screen.screen === 'pod') return screen.evaluation !== undefined;
  if (screen.screen === 'decision') return screen.outcome !== undefined;
  return screen.screen !== 'pending' || screen.groups.some(({ change }) => change !== undefined);
}

describe('pages of ten viewers', () => {
  let streams: readonly FollowedScreen[];

  it('ask the API server nothing before somebody looks', async () => {
    for (const { origin } of viewers) await (await fetch(`${origin}/targets`)).text();
    await somethingHappens('unseen');
    assert.deepEqual(proxy.requests, []);
  });

  it('ask for less than one request per second while all of them look', async (test) => {
    streams = await Promise.all(viewers.map(
      (viewer, index) => openScreen(viewer, viewer.token, ADDRESSES[index] ?? '/targets'),
    ));
    await Promise.all(streams.map((stream) => stream.until(isComplete)));
    const ofPods = ADDRESSES.filter((address) => /^\/(?:pods|decisions)\/./.test(address));
    const loops = VIEWERS + ofPods.length; // two for each of a pod
    await reviews(2 * loops);
    const before = proxy.requests.length;
    await reviews(ROUNDS * loops);
    const counted = proxy.requests.slice(before);
    const watches = proxy.requests.filter(isWatch).length;
    const perSecond = counted.length / ROUNDS / (REVIEW_MS / 1_000) + watches / MEAN_WATCH_SECONDS;
    const others = counted.filter((request) => !isReview(request));
    test.diagnostic(
      `${perSecond.toFixed(2)} requests per second: in ${ROUNDS} rounds ${counted.length - others.length} reviews ` +
        `and ${others.length} others, and ${watches} watches`,
    );
    assert.ok(perSecond <= 1, `${perSecond} requests per second`);
  });

  it('see what happens by their watches, for a handful of requests', async () => {
    const before = proxy.requests.length;
    const seen = streams[2]?.until((screen) => screen.screen === 'pods' && screen.rows.some(
      ({ name, status }) => name === 'seen' && status === 'Running',
    ));
    await somethingHappens('seen', seen);
    const asked = proxy.requests.slice(before).filter((request) => !isReview(request));
    const lists = asked.filter(({ url }) => url.searchParams.get('limit') !== '1');
    assert.ok(lists.length <= 2 * VIEWERS, `${lists.length}: ${lists.map(({ url }) => url.href).join(' ')}`);
  });

  it('ask nothing any more once nobody looks', async () => {
    for (const stream of streams) stream.end();
    await eventually('all watches and reviews end', async () => {
      const before = proxy.requests.length;
      await sleep(2 * REVIEW_TEST_MS);
      return proxy.openWatches === 0 && proxy.requests.length === before;
    }, 120_000);
    const before = proxy.requests.length;
    await somethingHappens('unseen-again');
    assert.deepEqual(proxy.requests.slice(before).map(({ url }) => url.href), []);
  });
});

// `npm run soak -- real-nodes`: the chart, installed by helm into real nodes: image, permissions, Pod Security
// Standard, probes and Services that users get, and upgrades of them under a stream of pods. `npm run soak --
// real-upgrades` makes ten of them.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DEFAULT_INSTALL_NAMESPACE, PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import type { Pod } from '../../../api/objects/core.ts';
import { isProxyPod } from '../../../model/pod/pod.ts';
import { messageOf } from '../../../process/errors.ts';
import type { IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { Packaging } from '../../support/peers/packaging.ts';
import { RealChart } from '../../support/real-nodes/real-chart.ts';
import { BUSYBOX } from '../../support/real-nodes/real-node-cases.ts';
import { ELECTED, makePod, startRealWorld, untilPod } from '../../support/real-nodes/real-world.ts';
import { endWorld } from '../../support/history/world-invariants.ts';

/** Upgrades, each followed by its rollback: as many as the command line says, `npm run soak -- real-upgrades -- 10`. */
const UPGRADES = Number(process.argv[2] ?? 1);
/** For an upgrade of three clusters and its rollback, on a machine with much else to do. */
const PER_UPGRADE_MS = 900_000;
/** Pods that are under way at once. */
const STREAMS = 3;
/** A pod that is not Ready by then counts as lost, in ms. */
const LOST_AFTER_MS = 300_000;
/** Pods that run through all upgrades. */
const STANDING = Array.from({ length: 6 }, (_, index) => `standing-${index}`);

let world: IsthmusWorld;
let chart: RealChart;
let tools: Packaging;

const tell = (line: string): void => void process.stdout.write(`${line}\n`);
const isReady = (pod: Pod): boolean =>
  (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
const restartsOf = ({ status }: Pod): number => ((status?.containerStatuses ?? []) as readonly {
  readonly restartCount?: number;
}[]).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
const spec = {
  terminationGracePeriodSeconds: 1,
  containers: [{
    name: 'main', image: BUSYBOX, command: ['sh', '-c', 'echo hello; trap "exit 0" TERM; sleep 3600 & wait'],
  }],
};

before(async () => {
  tools = await Packaging.open(AbortSignal.timeout(600_000));
  world = await startRealWorld({}, async (sandbox, signal) => (chart = await RealChart.start(sandbox, signal)));
  await makePod(world, ELECTED, { name: 'by-chart', spec });
  await untilPod(world, ELECTED, 'by-chart', isReady);
  const until = (moment: number): string => `${((moment - chart.installedAt) / 1_000).toFixed(1)} s`;
  tell(
    `from the first helm install to the first elected pod, Ready: ${until(performance.now())} (60 s asked); rolled ` +
      `out in all clusters after ${until(chart.rolledOutAt)}, targets Ready after ${until(chart.peeredAt)}`,
  );
});
after(() => endWorld(world));

/** What became of a pod that was created. */
type Created =
  | { readonly kind: 'ran'; readonly seconds: number }
  | { readonly kind: 'refused' | 'lost'; readonly name: string; readonly why: string };

/** Creates a pod, waits until it is Ready in a target, and deletes it. */
async function createOne(name: string): Promise<Created> {
  const begin = performance.now();
  const failure = await makePod(world, ELECTED, { name, spec }).then(() => undefined, messageOf);
  if (failure !== undefined) return { kind: 'refused', name, why: failure };
  const key = `${ELECTED}/${name}`;
  const found = (): Pod | undefined => world.source.pods.get(key);
  const why = await world.source.pods.until(
    `${key} Ready, but it is ${JSON.stringify(found()?.status)}`,
    () => { const pod = found(); return pod !== undefined && isProxyPod(pod) && isReady(pod); }, LOST_AFTER_MS,
  ).then(() => undefined, messageOf);
  const seconds = (performance.now() - begin) / 1_000;
  await world.source.client.delete(PODS, { namespace: ELECTED, name });
  return why === undefined ? { kind: 'ran', seconds } : { kind: 'lost', name, why };
}

/** One pod after the other until the end is asked for. */
async function createOneByOne(stream: number, ended: AbortSignal): Promise<readonly Created[]> {
  const created: Created[] = [];
  while (!ended.aborted) created.push(await createOne(`streamed-${stream}-${created.length}`));
  return created;
}

/** What must stay of the pods that run through all upgrades: the pod and its delegate, which run as before. */
function standing(): readonly object[] {
  return STANDING.map((name) => {
    const proxy = world.source.pods.get(`${ELECTED}/${name}`);
    const delegates = world.targets.flatMap(({ pods }) => pods.objects).filter(
      ({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === (proxy?.metadata.uid ?? 'none'),
    );
    return {
      name, uid: proxy?.metadata.uid, restarts: proxy === undefined ? undefined : restartsOf(proxy),
      phase: proxy?.status?.phase, delegates: delegates.map(({ metadata: { uid } }) => uid),
    };
  });
}

describe('the chart in real nodes', () => {
  it('runs in pods that hold to `restricted`, without a restart', async () => {
    for (const { cluster, client } of [world.source, ...world.targets]) {
      const pods = await client.list(PODS, { namespace: DEFAULT_INSTALL_NAMESPACE });
      assert.ok(pods.length >= 2 && pods.every(isReady), cluster.name);
      assert.deepEqual([...new Set(pods.map(restartsOf))], [0], cluster.name);
    }
  });

  it('brings an elected pod into a target, and its logs back', async () => {
    assert.ok(isProxyPod(await untilPod(world, ELECTED, 'by-chart', isReady)));
    const { stdout, stderr } = await tools.kubectl(
      ['-n', ELECTED, 'logs', 'by-chart'], { kubeconfig: world.source.cluster.kubeconfigPath },
    );
    assert.equal(stdout, 'hello\n', stderr);
  });

  it('is upgraded and rolled back under a stream of pods, none of which is refused or lost', {
    timeout: UPGRADES * PER_UPGRADE_MS,
  }, async () => {
    await Promise.all(STANDING.map((name) => makePod(world, ELECTED, { name, spec })));
    for (const name of STANDING) assert.ok(isProxyPod(await untilPod(world, ELECTED, name, isReady)), name);
    const before = standing();
    const ending = new AbortController();
    const streams = Promise.all(Array.from({ length: STREAMS }, (_, index) => createOneByOne(index, ending.signal)));
    streams.catch(() => undefined); // its end is awaited below
    try {
      for (let upgrade = 1; upgrade <= UPGRADES; upgrade += 1) {
        const from = performance.now();
        await Promise.all(world.sandbox.clusters.map((cluster) => chart.upgrade(cluster, 'logLevel=debug')));
        const upgraded = performance.now();
        await Promise.all(world.sandbox.clusters.map((cluster) => chart.rollback(cluster)));
        const seconds = [upgraded - from, performance.now() - upgraded].map((ms) => Math.round(ms / 1_000));
        tell(`upgrade ${upgrade} of ${UPGRADES}: ${seconds[0]} s, its rollback ${seconds[1]} s`);
      }
    } finally {
      ending.abort();
    }
    const created = (await streams).flat();
    const refused = created.filter(({ kind }) => kind === 'refused');
    const lost = created.filter(({ kind }) => kind === 'lost');
    const seconds = created.flatMap((one) => (one.kind === 'ran' ? [one.seconds] : [])).toSorted((a, b) => a - b);
    tell(
      `${UPGRADES} upgrades and rollbacks: ${created.length} pods created, ${refused.length} refused, ` +
        `${lost.length} lost; Ready after ${seconds[Math.floor(seconds.length / 2)]?.toFixed(1)} s in the median, ` +
        `${seconds.at(-1)?.toFixed(1)} s at most`,
    );
    assert.ok(seconds.length > 0);
    assert.deepEqual({ refused, lost }, { refused: [], lost: [] });
    assert.deepEqual(standing(), before);
  });
});

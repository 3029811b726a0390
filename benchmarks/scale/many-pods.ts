// PB: a source with 100,000 elected pods that run in 100 targets. API servers are simulated, the source processes are
// real ones: how much memory each needs, how soon a fresh one works, and how soon a standby does when the leader is
// lost. A process works when a new pod that waits for it runs.
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { allocatorWords, imageAllocator } from '../simulation/image-allocator.ts';
import { longRunningPod, type Place } from '../simulation/simulated-pods.ts';
import { SimulatedWorld } from '../simulation/simulated-world.ts';
import { spreadOf } from '../results/statistics.ts';

const TARGETS = 100;
const PODS_PER_TARGET = 1_000;
/** The start is over and its garbage collected by then, in ms. */
const REST_MS = 20_000;
const IDLE_MS = 60_000;

/** PB. */
export const MANY_PODS: Benchmark = {
  id: 'PB',
  title: `a source with ${TARGETS * PODS_PER_TARGET} elected pods in ${TARGETS} simulated targets`,
  async run(context, signal): Promise<readonly Measurement[]> {
    const targets = Math.max(...(context.targets ?? [TARGETS]));
    const world = await SimulatedWorld.start({ healthy: targets }, signal);
    try {
      await fill(world, signal);
      return await measure(world, context, signal);
    } finally {
      await world.stop();
    }
  },
};

/** Stores the pods in the source, and their chaperons and delegates in the targets. */
async function fill(world: SimulatedWorld, signal: AbortSignal): Promise<void> {
  const clusterId = world.store.get({ collection: 'namespaces', name: 'kube-system' })?.metadata.uid ?? '';
  const pods = world.targets.map(({ name }, index) => ({
    from: index * PODS_PER_TARGET, count: PODS_PER_TARGET, place: { clusterId, target: name } satisfies Place,
  }));
  let at = 0;
  for (const targets of world.processesOf('healthy')) {
    await targets.fill(pods.slice(at, at + targets.urls.length));
    at += targets.urls.length;
  }
  for (const { from, count, place } of pods) {
    signal.throwIfAborted();
    for (let index = from; index < from + count; index += 1) {
      world.store.create('pods', longRunningPod(index, place).proxy);
    }
  }
}

async function measure(
  world: SimulatedWorld, { onProgress, profileFolder }: BenchmarkContext, signal: AbortSignal,
): Promise<readonly Measurement[]> {
  const count = [...world.store.list('pods')].length;
  const tell = (text: string): void => onProgress(`PB, ${count} pods: ${text}`);
  const rewritten = countWrites(world);
  const first = await world.startSource('first', { profileFolder });
  const firstS = await untilOneRuns(world, 'first', signal);
  tell(`a new pod runs ${firstS.toFixed(1)} s after the first start, and ${rewritten()} old ones were rewritten`);
  await delay(REST_MS, signal);
  const [cpu, own] = [await first.cpuMs(), world.source.requests];
  await delay(IDLE_MS, signal);
  const idleCpuPercent = ((await first.cpuMs()) - cpu) / (IDLE_MS / 100);
  const sourceRequests = (world.source.requests - own) / (IDLE_MS / 1_000);
  const leaderMiB = await first.residentMiB();
  tell(`${leaderMiB.toFixed(0)} MiB, ${idleCpuPercent.toFixed(1)} % CPU, ${sourceRequests.toFixed(1)} requests/s`);
  const second = await world.startSource('second', { profileFolder });
  await delay(firstS * 1_000 + REST_MS, signal);
  const standbyMiB = await second.residentMiB();
  await first.stop('SIGKILL');
  const failoverS = await untilOneRuns(world, 'failover', signal);
  tell(`standby ${standbyMiB.toFixed(0)} MiB; a new pod runs ${failoverS.toFixed(1)} s after the leader's end`);
  await second.stop();
  await world.startSource('third', { profileFolder });
  const coldS = await untilOneRuns(world, 'cold', signal);
  tell(`a new pod runs ${coldS.toFixed(1)} s after a cold start; ${rewritten()} old ones were rewritten`);
  const on = allocatorWords(await imageAllocator());
  return [
    row('leader-memory', `resident memory of the leader at rest, ${on}`, leaderMiB, { unit: 'MiB', atMost: 400 }),
    row('standby-memory', `resident memory of a standby, ${on}`, standbyMiB, { unit: 'MiB', atMost: 400 }),
    row('idle-cpu', 'CPU of the leader at rest, of a core', idleCpuPercent, { unit: '%', atMost: 5 }),
    row('idle-requests', 'requests a second of the leader to the source', sourceRequests, { unit: 'requests/s' }),
    row('cold-start', 'from the start of a process until a new pod runs', coldS, { unit: 's', atMost: 30 }),
    row('failover', "from the leader's end (SIGKILL) until a new pod runs", failoverS, { unit: 's', atMost: 8 }),
    row('rewritten', 'pods that were written although nothing had changed', rewritten(), { unit: 'pods', atMost: 0 }),
  ];
}

/** Seconds from now until a pod that is created now runs. */
async function untilOneRuns(world: SimulatedWorld, name: string, signal: AbortSignal): Promise<number> {
  return 1 / (await world.burst(1, name, signal));
}

/** Counts writes of pods that have run for long. */
function countWrites(world: SimulatedWorld): () => number {
  let writes = 0;
  world.store.listen('pods', ({ type, object }) => {
    if (type === 'MODIFIED' && object.metadata.name?.startsWith('long-')) writes += 1;
  });
  return () => writes;
}

function row(
  variant: string, title: string, figure: number, { unit, atMost }: { readonly unit: string; readonly atMost?: number },
): Measurement {
  return {
    variant, title, unit, ours: spreadOf([figure]), ...(atMost !== undefined && { goal: { figure: 'ours', atMost } }),
  };
}

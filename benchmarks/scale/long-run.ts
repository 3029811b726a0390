// PH: one source process with a thousand simulated targets for an hour. Each round brings a burst, targets that are
// lost and come back, black holes, a new token for each target, and the end of all pods; then everything rests. What
// the process still keeps after that is its growth.
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { LOAD_NAMESPACE } from '../simulation/simulated-pods.ts';
import { SimulatedWorld } from '../simulation/simulated-world.ts';
import type { SourceProcess } from '../simulation/source-process.ts';
import { slopeOf, spreadOf } from '../results/statistics.ts';

const TARGETS = 1_000;
const MINUTES = 60;
const ROUND_MS = 300_000;
/** Idle connections are closed by then, and what is remembered for a minute is forgotten; in ms. */
const REST_MS = 100_000;
const PODS = 1_000;
/** Lost targets are noticed within it, and return within the second; in ms. */
const LOST_MS = 25_000;
const ROTATION = { batch: 20, pauseMs: 500 };
/**
 * Rounds before the first sample, one right after the other. V8 compiles code, and remembers what it has compiled it
 * for, until some 20,000 pods have run: 4 MiB of heap, and none of it ours by snapshots. What runs once in a round for
 * a lost target or a new token is compiled as late, so bursts alone do not suffice.
 */
const ROUNDS_BEFORE = 16;
const TIMEOUT_MS = 1_200_000;
const HOUR_MS = 3_600_000;

/** What the process keeps, so long after the start. */
interface Sample {
  readonly ms: number;
  readonly heapMiB: number;
  readonly residentMiB: number;
}

/** PH. It takes an hour, so it runs only when it is named. */
export const LONG_RUN: Benchmark = {
  id: 'PH',
  title: `an hour of a source with ${TARGETS} simulated targets`,
  async run(context, signal): Promise<readonly Measurement[]> {
    const most = Math.max(...(context.targets ?? [TARGETS]));
    const [blackHoles, flapping] = [Math.ceil(most / 100), Math.ceil(most / 10)];
    const counts = { healthy: most - blackHoles - flapping, flapping, 'black-hole': blackHoles };
    const world = await SimulatedWorld.start(counts, signal);
    world.timeoutMs = TIMEOUT_MS;
    try {
      const source = await world.startSource('long', { isInspected: true, memoryLimit: '2Gi' });
      await world.untilAllReady(signal);
      return rowsOf(await samplesOf(world, source, context, signal), most);
    } finally {
      await world.stop();
    }
  },
};

/** Samples begin after rounds that compile code and fill caches. */
async function samplesOf(
  world: SimulatedWorld, source: SourceProcess, { minutes = MINUTES, onProgress }: BenchmarkContext,
  signal: AbortSignal,
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (let round = 0; round < ROUNDS_BEFORE; round += 1) {
    onProgress(`PH, round ${round + 1} of ${ROUNDS_BEFORE} before the first sample`);
    await oneRound(world, `before-${round}`, signal);
  }
  const began = performance.now();
  const rounds = Math.ceil(minutes * 60_000 / ROUND_MS) + 1;
  for (let round = 0; round < rounds; round += 1) {
    await oneRound(world, String(round), signal);
    const roundMs = (round + 1) * ROUND_MS;
    await delay(Math.max(REST_MS, began + roundMs - performance.now()), signal);
    const heapMiB = (await source.liveHeapBytes()) / 2 ** 20;
    const sample = { ms: performance.now() - began, heapMiB, residentMiB: await source.residentMiB() };
    samples.push(sample);
    onProgress(`PH, round ${round}: ${heapMiB.toFixed(2)} MiB live, ${sample.residentMiB.toFixed(0)} MiB resident`);
  }
  return samples;
}

async function oneRound(world: SimulatedWorld, round: string, signal: AbortSignal): Promise<void> {
  await world.burst(PODS, `round-${round}`, signal);
  for (const health of ['flapping', 'black-hole'] as const) world.freeze(health);
  await delay(LOST_MS, signal);
  await world.burst(PODS / 5, `beside-${round}`, signal, 'healthy');
  for (const health of ['flapping', 'black-hole'] as const) world.thaw(health);
  await world.untilAllReady(signal);
  await world.rotate(`token-${round}`, ROTATION, signal);
  await world.untilAllReady(signal);
  await endAllPods(world, signal);
}

async function endAllPods(world: SimulatedWorld, signal: AbortSignal): Promise<void> {
  for (const { metadata: { name = '' } } of world.store.list('pods')) {
    world.store.delete({ collection: 'pods', namespace: LOAD_NAMESPACE, name });
  }
  await world.until('no pod is left', () => [...world.store.list('pods')].length === 0, signal);
}

function rowsOf(samples: readonly Sample[], targets: number): readonly Measurement[] {
  const slope = slopeOf(samples.map(({ ms, heapMiB }) => [ms / HOUR_MS, heapMiB]));
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return [];
  const title = `${samples.length} rounds with ${targets} targets`;
  return [
    {
      variant: 'heap-slope', title: `growth of the live heap, ${title}`, unit: 'MiB/h', ours: spreadOf([slope]),
      goal: { figure: 'ours', atMost: 1 }, details: { samples },
    },
    {
      variant: 'heap', title: 'live heap after the last round, against the first', unit: 'MiB',
      ours: spreadOf([last.heapMiB]), reference: spreadOf([first.heapMiB]),
    },
    {
      variant: 'memory', title: 'resident memory after the last round, against the first', unit: 'MiB',
      ours: spreadOf([last.residentMiB]), reference: spreadOf([first.residentMiB]),
    },
  ];
}

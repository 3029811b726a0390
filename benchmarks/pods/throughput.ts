// P1: elected pods per second until Running, against plain pods on one of the same API servers, and against the bare
// chain of requests, alternating. Our process of that target watches the plain pods too, since it must know free
// capacity; that is part of the reference.
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { burstRows, type BurstsOf, type Limits, type Measured } from './burst-rows.ts';
import { withIsthmusUnderLoad, type IsthmusUnderLoad } from '../load/isthmus-under-load.ts';
import { warmLoads } from './latency.ts';
import { cpuMsPer, readCpuMs } from '../readings/process-cpu.ts';
import { parseEventUs } from '../readings/processor-speed.ts';

/** Events that are parsed to tell the speed of the processor. */
const EVENTS = 20_000;

const TARGETS = 2;
/** Control planes' own clients hide nothing. */
export const RAISED: Limits = {
  name: 'raised', words: 'client limits raised to 2,000/s', clientQps: 2_000,
  atLeast: { PodChaperon: 0.4, Pod: 0.5 },
};
const LIMITS: readonly Limits[] = [
  RAISED,
  { name: 'stock', words: 'stock client limits', atLeast: { PodChaperon: 0.6, Pod: 0.75 } },
];
/** A burst of 1,000 takes long: it is measured this often at most, and in one mode. */
const MOST_RUNS: Readonly<Record<DelegationMode, ReadonlyMap<number, number>>> = {
  PodChaperon: new Map([[200, Number.POSITIVE_INFINITY], [1_000, 2]]),
  Pod: new Map([[200, Number.POSITIVE_INFINITY]]),
};

/** P1. */
export const THROUGHPUT: Benchmark = {
  id: 'P1',
  title: 'elected pods per second in bursts, POST to proxy Running, two targets, in both modes',
  async run(context, signal) {
    const measurements: Measurement[] = [];
    for (const mode of ['PodChaperon', 'Pod'] as const) {
      for (const limits of LIMITS) {
        const { clientQps } = limits;
        const shape = { targets: TARGETS, audit: false, mode, ...(clientQps !== undefined && { clientQps }) };
        measurements.push(...(await withIsthmusUnderLoad(
          shape, context, (under, stop) => measureSizes(under, { limits, mode }, context, stop), signal,
        )));
      }
    }
    return measurements;
  },
};

/** The first burst of a process that has just started, then bursts of each size with compiled code. */
async function measureSizes(
  under: IsthmusUnderLoad, how: Pick<Series, 'limits' | 'mode'>, { runs, onProgress }: BenchmarkContext,
  signal: AbortSignal,
): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  const [[size] = [200]] = MOST_RUNS[how.mode];
  measurements.push(...(await measureBursts(under, { ...how, size, runs: 1, onProgress, isFirst: true }, signal)));
  onProgress('Warming up further.');
  await warmLoads(under, signal);
  for (const [pods, mostRuns] of MOST_RUNS[how.mode]) {
    const series = { ...how, size: pods, runs: Math.min(runs, mostRuns), onProgress };
    measurements.push(...(await measureBursts(under, series, signal)));
  }
  return measurements;
}

/** Bursts of one size, and how often. */
interface Series extends BurstsOf {
  readonly runs: number;
  readonly onProgress: (text: string) => void;
}

/** Measures bursts in turns: elected, plain, and by the bare chain of requests. */
export async function measureBursts(
  under: IsthmusUnderLoad, series: Series, signal: AbortSignal,
): Promise<readonly Measurement[]> {
  const { limits, size, runs, onProgress } = series;
  const bursts: Record<'elected' | 'plain' | 'bare', Measured[]> = { elected: [], plain: [], bare: [] };
  for (let run = 1; run <= runs; run += 1) {
    for (const sort of ['elected', 'plain', 'bare'] as const) {
      const load = under[sort];
      bursts[sort].push(await measured(under, size, () => load.burst(size, signal), () => load.clear(signal)));
      await under.settle();
    }
    const [ours, reference, floor] =
      [bursts.elected, bursts.plain, bursts.bare].map((all) => all.at(-1)?.podsPerSecond.toFixed(1));
    const rates = `${ours} elected, ${reference} plain, ${floor} pods/s by the bare chain`;
    onProgress(`P1, ${series.mode} mode, ${limits.words}, ${size} pods, run ${run} of ${runs}: ${rates}`);
  }
  return burstRows(series, bursts, parseEventUs(EVENTS));
}

/** One burst with the processor time that it took, then its clean-up. */
async function measured(
  { processes }: IsthmusUnderLoad, size: number, burst: () => Promise<Pick<Measured, 'podsPerSecond' | 'podMs'>>,
  clear: () => Promise<void>,
): Promise<Measured> {
  const before = await readCpuMs(processes);
  const { podsPerSecond, podMs } = await burst();
  const after = await readCpuMs(processes);
  const began = performance.now();
  await clear();
  const clearedPerSecond = (size * 1_000) / (performance.now() - began);
  return { podsPerSecond, clearedPerSecond, ...(podMs && { podMs }), cpu: cpuMsPer(size, before, after) };
}

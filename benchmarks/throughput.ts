// P1: elected pods per second until Running, against plain pods on one of the same API servers, alternating. Our
// process of that target watches the plain pods too, since it must know free capacity; that is part of the reference.
import type { Benchmark, BenchmarkContext, Goal, Measurement } from './benchmark.ts';
import { withIsthmusUnderLoad, type IsthmusUnderLoad } from './isthmus-under-load.ts';
import type { Burst } from './pod-load.ts';
import { cpuMsPer, readCpuMs } from './process-cpu.ts';
import { percentile, spreadOf } from './statistics.ts';

/** Client limits of kube-schedulers and kube-controller-managers. */
export interface Limits {
  readonly name: 'raised' | 'stock';
  readonly words: string;
  readonly clientQps?: number;
  readonly goal: Goal;
}

const TARGETS = 2;
/** Control planes' own clients hide nothing. */
export const RAISED: Limits = {
  name: 'raised', words: 'client limits raised to 2,000/s', clientQps: 2_000, goal: { figure: 'ratio', atLeast: 0.45 },
};
const LIMITS: readonly Limits[] = [
  RAISED,
  { name: 'stock', words: 'stock client limits', goal: { figure: 'ratio', atLeast: 0.9 } },
];
/** A burst of 1,000 takes long: it is measured this often at most. */
const MOST_RUNS: ReadonlyMap<number, number> = new Map([[200, Number.POSITIVE_INFINITY], [1_000, 2]]);

/** P1. */
export const THROUGHPUT: Benchmark = {
  id: 'P1',
  title: 'elected pods per second in bursts, POST to proxy Running, two targets, PodChaperon mode',
  async run(context, signal) {
    const measurements: Measurement[] = [];
    for (const limits of LIMITS) {
      const { clientQps } = limits;
      const shape = { targets: TARGETS, audit: false, ...(clientQps !== undefined && { clientQps }) };
      measurements.push(
        ...(await withIsthmusUnderLoad(
          shape, context, (under, either) => measureSizes(under, limits, context, either), signal,
        )),
      );
    }
    return measurements;
  },
};

async function measureSizes(
  under: IsthmusUnderLoad, limits: Limits, context: BenchmarkContext, signal: AbortSignal,
): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (const [size, mostRuns] of MOST_RUNS) {
    const runs = Math.min(context.runs, mostRuns);
    measurements.push(await measureBursts(under, { limits, size, runs, onProgress: context.onProgress }, signal));
  }
  return measurements;
}

/** Bursts of one size. */
export interface Series {
  readonly limits: Limits;
  readonly size: number;
  readonly runs: number;
  readonly onProgress: (text: string) => void;
}

/** Measures bursts, elected and plain in turns. */
export async function measureBursts(
  under: IsthmusUnderLoad, { limits, size, runs, onProgress }: Series, signal: AbortSignal,
): Promise<Measurement> {
  const elected: Burst[] = [];
  const plain: Burst[] = [];
  const cpu: Readonly<Record<string, number>>[] = [];
  for (let run = 1; run <= runs; run += 1) {
    const before = await readCpuMs(under.processes);
    const ours = await under.elected.burst(size, signal);
    cpu.push(cpuMsPer(size, before, await readCpuMs(under.processes)));
    await under.elected.clear(signal);
    await under.settle();
    const reference = await under.plain.burst(size, signal);
    await under.plain.clear(signal);
    await under.settle();
    elected.push(ours);
    plain.push(reference);
    const rates = `${ours.podsPerSecond.toFixed(1)} elected, ${reference.podsPerSecond.toFixed(1)} plain pods/s`;
    onProgress(`P1, ${limits.words}, ${size} pods, run ${run} of ${runs}: ${rates}`);
  }
  return {
    variant: `${limits.name}-${size}`,
    title: `pods to Running, burst of ${size}, 2 targets, ${limits.words}`,
    unit: 'pods/s',
    ours: spreadOf(elected.map((burst) => burst.podsPerSecond)),
    reference: spreadOf(plain.map((burst) => burst.podsPerSecond)),
    goal: limits.goal,
    details: {
      ratioOfPairs:
        spreadOf(elected.map((burst, index) => burst.podsPerSecond / (plain[index]?.podsPerSecond ?? Number.NaN))),
      podMs: { elected: podMs(elected), plain: podMs(plain) },
      cpuMsPerElectedPod: cpu,
    },
  };
}

/** From each pod's POST to its Running, over all bursts, in ms. */
function podMs(bursts: readonly Burst[]): { readonly p50: number; readonly p99: number } {
  const all = bursts.flatMap((burst) => burst.podMs);
  return { p50: Math.round(percentile(all, 0.5)), p99: Math.round(percentile(all, 0.99)) };
}

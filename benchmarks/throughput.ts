// P1: elected pods per second until Running, against plain pods on one of the same API servers, and against the bare
// chain of requests, alternating. Our process of that target watches the plain pods too, since it must know free
// capacity; that is part of the reference.
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
    const series = { limits, size, runs, onProgress: context.onProgress };
    measurements.push(...(await measureBursts(under, series, signal)));
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

/**
 * Measures bursts in turns: elected, plain, and by the bare chain of requests. Three figures: the rate against plain
 * pods and against the bare chain, and what a pod costs the API servers in processor time against a plain one.
 */
export async function measureBursts(
  under: IsthmusUnderLoad, { limits, size, runs, onProgress }: Series, signal: AbortSignal,
): Promise<readonly Measurement[]> {
  const elected: Measured[] = [];
  const plain: Measured[] = [];
  const bare: Measured[] = [];
  for (let run = 1; run <= runs; run += 1) {
    elected.push(await measured(under, size, () => under.elected.burst(size, signal)));
    await under.elected.clear(signal);
    await under.settle();
    plain.push(await measured(under, size, () => under.plain.burst(size, signal)));
    await under.plain.clear(signal);
    await under.settle();
    bare.push(await measured(under, size, () => under.bare.burst(size)));
    await under.bare.clear();
    await under.settle();
    const [ours, reference, floor] = [elected, plain, bare].map((all) => all.at(-1)?.podsPerSecond.toFixed(1));
    const rates = `${ours} elected, ${reference} plain, ${floor} pods/s by the bare chain`;
    onProgress(`P1, ${limits.words}, ${size} pods, run ${run} of ${runs}: ${rates}`);
  }
  const variant = `${limits.name}-${size}`;
  const what = `burst of ${size}, 2 targets, ${limits.words}`;
  return [
    {
      ...against(elected, plain), variant, title: `pods to Running, ${what}`, goal: limits.goal,
      details: {
        ratioOfPairs: spreadOf(
          elected.map(({ podsPerSecond }, index) => podsPerSecond / (plain[index]?.podsPerSecond ?? Number.NaN)),
        ),
        podMs: { elected: podMs(elected), plain: podMs(plain) },
        cpuMsPerElectedPod: elected.map(({ cpu }) => cpu),
      },
    },
    {
      ...against(elected, bare), variant: `${variant}-chain`, goal: { figure: 'ratio', atLeast: 0.85 },
      title: `the same against the bare chain of its requests, ${what}`,
    },
    {
      variant: `${variant}-api-servers`, title: `processor time of all API servers for a pod, ${what}`, unit: 'ms',
      ours: spreadOf(elected.map(apiServerMs)), reference: spreadOf(plain.map(apiServerMs)),
      goal: { figure: 'ratio', atMost: 2.4 }, details: { bareChain: spreadOf(bare.map(apiServerMs)) },
    },
  ];
}

/** A burst, and the processor time that each process used for one of its pods until the last was Running, in ms. */
interface Measured extends Pick<Burst, 'podsPerSecond'> {
  readonly podMs?: readonly number[];
  readonly cpu: Readonly<Record<string, number>>;
}

async function measured(
  { processes }: IsthmusUnderLoad, size: number, burst: () => Promise<Omit<Measured, 'cpu'>>,
): Promise<Measured> {
  const before = await readCpuMs(processes);
  const { podsPerSecond, podMs: times } = await burst();
  return { podsPerSecond, ...(times && { podMs: times }), cpu: cpuMsPer(size, before, await readCpuMs(processes)) };
}

function against(ours: readonly Measured[], reference: readonly Measured[]): Pick<
  Measurement, 'unit' | 'ours' | 'reference'
> {
  const rates = (all: readonly Measured[]) => spreadOf(all.map(({ podsPerSecond }) => podsPerSecond));
  return { unit: 'pods/s', ours: rates(ours), reference: rates(reference) };
}

function apiServerMs({ cpu }: Measured): number {
  const servers = Object.entries(cpu).filter(([name]) => name.endsWith('/kube-apiserver'));
  return servers.reduce((sum, [, ms]) => sum + ms, 0);
}

/** From each pod's POST to its Running, over all bursts, in ms. */
function podMs(bursts: readonly Measured[]): { readonly p50: number; readonly p99: number } {
  const all = bursts.flatMap(({ podMs: times = [] }) => times);
  return { p50: Math.round(percentile(all, 0.5)), p99: Math.round(percentile(all, 0.99)) };
}

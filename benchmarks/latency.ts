// P13: how long one elected pod takes when nothing else happens, against a plain pod of a target, in turns.
import type { Benchmark, BenchmarkContext, Measurement } from './benchmark.ts';
import { withIsthmusUnderLoad, type IsthmusUnderLoad } from './isthmus-under-load.ts';
import { percentile, spreadOf } from './statistics.ts';

const PODS = 30;
/** Pods that run before, in bursts, of each sort: a controller that has just started runs code that is not compiled yet. */
const BEFORE = { bursts: 4, pods: 50 };

/** P13. */
export const LATENCY: Benchmark = {
  id: 'P13',
  title: 'one elected pod alone, POST to proxy Running, two targets, PodChaperon mode',
  async run(context, signal) {
    const measure = (under: IsthmusUnderLoad, either: AbortSignal): Promise<Measurement> => measureAlone(under, context, either);
    return [await withIsthmusUnderLoad({ targets: 2, audit: false }, context, measure, signal)];
  },
};

/** Runs pods of each sort, so that what follows finds compiled code. */
export async function warmLoads({ elected, plain }: Pick<IsthmusUnderLoad, 'elected' | 'plain'>, signal: AbortSignal): Promise<void> {
  for (let burst = 0; burst < BEFORE.bursts; burst += 1) {
    for (const load of [elected, plain]) {
      await load.burst(BEFORE.pods, signal);
      await load.clear(signal);
    }
  }
}

/** Measures single pods, elected and plain in turns. */
export async function measureAlone(under: IsthmusUnderLoad, { onProgress }: BenchmarkContext, signal: AbortSignal): Promise<Measurement> {
  const { elected, plain } = under;
  const ours: number[] = [];
  const reference: number[] = [];
  await warmLoads(under, signal);
  for (let pod = 1; pod <= PODS; pod += 1) {
    for (const [load, times] of [[elected, ours], [plain, reference]] as const) {
      times.push((await load.burst(1, signal)).ms);
      await load.clear(signal);
    }
    if (pod % 10 === 0) onProgress(`P13, ${pod} of ${PODS} pods: the last took ${ours.at(-1)?.toFixed(0)} ms elected, ${reference.at(-1)?.toFixed(0)} ms plain`);
  }
  return {
    variant: 'p50',
    title: `one pod alone to Running, p50 of ${PODS}, stock client limits`,
    unit: 'ms',
    ours: spreadOf(ours),
    reference: spreadOf(reference),
    goal: { figure: 'ratio', atMost: 2.5 },
    details: { p90: { elected: percentile(ours, 0.9), plain: percentile(reference, 0.9) } },
  };
}

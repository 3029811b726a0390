// P13: latency of one elected pod on idle clusters, against a plain pod of a target and against the bare chain of
// requests that any system of this kind needs (ADR 0038), alternating.
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { withIsthmusUnderLoad, type IsthmusUnderLoad } from '../load/isthmus-under-load.ts';
import type { PodLoad } from '../load/pod-load.ts';
import { percentile, spreadOf } from '../results/statistics.ts';

const PODS = 30;
/**
 * Pods that run before, in bursts, of each sort: a controller that has just started runs code that is not compiled yet,
 * and its CPU for a pod falls until some 1,500 have run.
 */
const BEFORE = { bursts: 8, pods: 200 };
const CHAINS_BEFORE = 50;

/** P13. */
export const LATENCY: Benchmark = {
  id: 'P13',
  title: 'one elected pod alone, POST to proxy Running, two targets, in both modes',
  async run(context, signal) {
    const measurements: Measurement[] = [];
    for (const mode of ['PodChaperon', 'Pod'] as const) {
      const measured = await withIsthmusUnderLoad(
        { targets: 2, audit: false, mode }, context, (under, stop) => measureAlone(under, context, stop), signal,
      );
      measurements.push(...measured.map(
        (measurement) =>
          ({ ...measurement, variant: `${mode}-${measurement.variant}`, title: `${mode} mode: ${measurement.title}` }),
      ));
    }
    return measurements;
  },
};

/** Runs pods of each sort, so that what follows finds compiled code. */
export async function warmLoads(
  { elected, plain }: Pick<IsthmusUnderLoad, 'elected' | 'plain'>, signal: AbortSignal,
): Promise<void> {
  for (let burst = 0; burst < BEFORE.bursts; burst += 1) {
    for (const load of [elected, plain]) {
      await load.burst(BEFORE.pods, signal);
      await load.clear(signal);
    }
  }
}

/** Measures single pods, elected, plain and by the bare chain in turns. */
export async function measureAlone(
  under: IsthmusUnderLoad, { onProgress }: BenchmarkContext, signal: AbortSignal,
): Promise<readonly Measurement[]> {
  const [ours, plain, chain]: [number[], number[], number[]] = [[], [], []];
  await warmLoads(under, signal);
  for (let pod = 0; pod < CHAINS_BEFORE; pod += 1) await under.bare.pod();
  for (let pod = 1; pod <= PODS; pod += 1) {
    ours.push(await alone(under.elected, signal));
    plain.push(await alone(under.plain, signal));
    chain.push(await under.bare.pod());
    if (pod % 10 === 0) onProgress(
      `P13, ${pod} of ${PODS} pods: the last took ${ours.at(-1)?.toFixed(0)} ms elected, ${plain.at(-1)?.toFixed(0)} ` +
        `ms plain, ${chain.at(-1)?.toFixed(0)} ms by the bare chain`,
    );
  }
  const details =
    { p90: { elected: percentile(ours, 0.9), plain: percentile(plain, 0.9), chain: percentile(chain, 0.9) } };
  const common = { unit: 'ms', ours: spreadOf(ours), details };
  return [
    {
      ...common, variant: 'p50', title: `one pod alone to Running, p50 of ${PODS}, against a plain pod`,
      reference: spreadOf(plain), goal: { figure: 'ratio', atMost: 2.5 },
    },
    {
      ...common, variant: 'chain',
      title: `one pod alone to Running, p50 of ${PODS}, against the bare chain of its requests`,
      reference: spreadOf(chain), goal: { figure: 'ratio', atMost: 1.25 },
    },
  ];
}

async function alone(load: PodLoad, signal: AbortSignal): Promise<number> {
  const { ms } = await load.burst(1, signal);
  await load.clear(signal);
  return ms;
}

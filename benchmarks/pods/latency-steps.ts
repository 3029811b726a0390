// P13S: where the time of P13 goes, step by step. Has no goal; it shows where to optimize.
import { readFile } from 'node:fs/promises';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { Benchmark, Measurement } from '../benchmark.ts';
import { withIsthmusUnderLoad, type IsthmusUnderLoad } from '../load/isthmus-under-load.ts';
import { warmLoads } from './latency.ts';
import type { PodLoad } from '../load/pod-load.ts';
import {
  ELECTED_STEPS, PLAIN_STEPS, requestSpans, stepTimes, type RequestSpan, type Step, type StepTime,
} from '../load/pod-steps.ts';
import { median, spreadOf } from '../results/statistics.ts';

const PODS = 30;
/** What the other sort of pods has left behind is over after this, in ms. */
const APART_MS = 50;
/** API servers write their audit logs in batches, every 100 ms. */
const AUDIT_DELAY_MS = 1_000;

/** A pod, from its POST to its Running as the user sees both, in ms since the epoch. */
interface Period {
  readonly from: number;
  readonly to: number;
}

/** P13S. */
export const LATENCY_STEPS: Benchmark = {
  id: 'P13S',
  title: 'P13 by its steps: the requests of one pod, as audit logs time them, and the time between them',
  async run(context, signal) {
    return withIsthmusUnderLoad(
      { targets: context.targets?.[0] ?? 2, audit: true }, context, (under, stop) => measureSteps(under, stop),
      signal,
    );
  },
};

async function measureSteps(under: IsthmusUnderLoad, signal: AbortSignal): Promise<readonly Measurement[]> {
  const { elected, plain, sandbox } = under;
  await warmLoads(under, signal);
  const [ours, reference]: [Period[], Period[]] = [[], []];
  for (let pod = 0; pod < PODS; pod += 1) {
    ours.push(await onePod(elected, signal));
    reference.push(await onePod(plain, signal));
  }
  await delay(AUDIT_DELAY_MS, signal);
  const logs = await Promise.all(sandbox.clusters.map(
    async ({ auditLog = '' }, index) =>
      ({ server: index === 0 ? ('source' as const) : ('target' as const), log: await readFile(auditLog, 'utf8') }),
  ));
  const spansOf = (namespace: string) => logs.flatMap(({ server, log }) => requestSpans(log, server, namespace));
  return [...toMeasurements('elected', ELECTED_STEPS, spansOf('elected'), ours), ...toMeasurements(
    'plain', PLAIN_STEPS, spansOf('plain'), reference,
  )];
}

async function onePod(load: PodLoad, signal: AbortSignal): Promise<Period> {
  await delay(APART_MS, signal);
  const from = performance.timeOrigin + performance.now();
  const { ms } = await load.burst(1, signal);
  await load.clear(signal);
  return { from, to: from + ms };
}

/** A row for each step, and one for the whole. */
function toMeasurements(
  sort: string, steps: readonly Step[], spans: readonly RequestSpan[], pods: readonly Period[],
): readonly Measurement[] {
  const times = pods.flatMap((pod) => {
    const found = stepTimes(steps, spans, pod);
    return found === undefined ? [] : [found];
  });
  const whole: Measurement = {
    variant: `${sort}-whole`, title: `${sort}: POST to Running`, unit: 'ms',
    ours: spreadOf(pods.map(({ from, to }) => to - from)), details: { pods: times.length },
  };
  return [whole, ...(times[0] ?? []).map(
    (_first, index) => toMeasurement(sort, times.flatMap((ofPod) => ofPod[index] ?? [])),
  )];
}

function toMeasurement(sort: string, times: readonly StepTime[]): Measurement {
  const [waited, took] = [median(times.map((time) => time.waited)), median(times.map((time) => time.took))];
  const { name = '' } = times[0] ?? {};
  const title = `${sort}: ${name} (waited ${waited.toFixed(1)}, request ${took.toFixed(1)})`;
  return {
    variant: `${sort}-${name.replaceAll(/\W+/g, '-')}`, title, unit: 'ms',
    ours: spreadOf(times.map((time) => time.waited + time.took)), details: { waited, took },
  };
}

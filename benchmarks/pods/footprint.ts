// PM: the cost of all components of a source in one process (`isthmus run`): resident memory at rest, after a burst of
// 1,000 pods and after their clean-up, and CPU time of all our processes per pod. Admiralty's own figures are shown
// beside them.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../process/errors.ts';
import type { Benchmark, BenchmarkContext, Goal, Measurement } from '../benchmark.ts';
import { withIsthmusUnderLoad, type IsthmusUnderLoad } from '../load/isthmus-under-load.ts';
import { readCpuMs } from '../readings/process-cpu.ts';
import { atUsualSpeed, parseEventUs, USUAL_PARSE_US } from '../readings/processor-speed.ts';
import { readResidentMiB } from '../readings/process-memory.ts';
import { spreadOf } from '../results/statistics.ts';

const PODS = 1_000;
/** Parsed to know the speed: half a second. */
const EVENTS = 20_000;
/** Connections of the start are closed and garbage of the start is collected by then, in ms. */
const REST_MS = 20_000;
/**
 * Admiralty 0.17 on the same machine: its three processes of a source in MiB, and all seven of two targets in ms of CPU
 * a pod.
 */
const ADMIRALTY = { idle: 175, after: 333, cpu: 95 };
/** A run takes two minutes: it is measured this often at most. */
const MOST_RUNS = 3;

/** PM. */
export const FOOTPRINT: Benchmark = {
  id: 'PM',
  title:
    `memory of all components of a source in one process, and CPU per pod, burst of ${PODS}; the reference is ` +
      'Admiralty, measured by itself',
  async run(context, signal) {
    const runs: Footprint[] = [];
    for (let run = 1; run <= Math.min(context.runs, MOST_RUNS); run += 1) {
      runs.push(await withIsthmusUnderLoad(
        { targets: 2, audit: false }, context, (under, stop) => measure(under, context, stop), signal,
      ));
    }
    return toMeasurements(runs);
  },
};

/** Memory in MiB, CPU in ms a pod. */
interface Footprint {
  readonly idle: number;
  readonly after: number;
  readonly cleared: number;
  readonly cpu: number;
  /** At the speed at which the goal was set. */
  readonly usualCpu: number;
  /** µs, see {@link parseEventUs}. */
  readonly parse: number;
  readonly sourceCpu: number;
  readonly idleCpu: number;
}

async function measure(
  under: IsthmusUnderLoad, { onProgress }: BenchmarkContext, signal: AbortSignal,
): Promise<Footprint> {
  const ours = new Map([...under.processes].filter(([name]) => name.startsWith('isthmus/')));
  const source = ours.get('isthmus/source');
  if (source === undefined) throw new AppError('NotFound', 'Isthmus does not run in the source.');
  const resting = await readCpuMs(ours);
  await sleep(REST_MS, undefined, { signal });
  const idle = await readResidentMiB(source);
  const parse = parseEventUs(EVENTS); // at rest: what else runs during the burst would only make it slower
  const before = await readCpuMs(ours);
  await under.elected.burst(PODS, signal);
  const done = await readCpuMs(ours);
  const after = await readResidentMiB(source);
  await under.elected.clear(signal);
  await sleep(REST_MS, undefined, { signal });
  const cleared = await readResidentMiB(source);
  const spent = (from: ReadonlyMap<string, number>, to: ReadonlyMap<string, number>, name: string): number =>
    (to.get(name) ?? 0) - (from.get(name) ?? 0);
  const all = [...ours.keys()];
  const cpu = all.reduce((sum, name) => sum + spent(before, done, name), 0) / PODS;
  const footprint = {
    idle, after, cleared, cpu, parse,
    usualCpu: atUsualSpeed(cpu, parse),
    sourceCpu: spent(before, done, 'isthmus/source') / PODS,
    idleCpu: spent(resting, before, 'isthmus/source') / (REST_MS / 1_000),
  };
  onProgress(`PM: ${JSON.stringify(footprint)}`);
  return footprint;
}

function toMeasurements(runs: readonly Footprint[]): readonly Measurement[] {
  const row = (
    variant: keyof Footprint, title: string, unit: string,
    more: { readonly reference?: number; readonly atMost?: number } = {},
  ): Measurement => {
    const { reference, atMost } = more;
    const goal: Goal | undefined = atMost === undefined ? undefined : { figure: 'ours', atMost };
    const ours = spreadOf(runs.map((run) => run[variant]));
    return {
      variant, title, unit, ours, ...(reference !== undefined && { reference: spreadOf([reference]) }),
      ...(goal && { goal }),
    };
  };
  return [
    row('idle', 'resident memory of the source\'s process, at rest', 'MiB', { reference: ADMIRALTY.idle, atMost: 150 }),
    row('after', `the same while ${PODS} pods run`, 'MiB', { reference: ADMIRALTY.after, atMost: 200 }),
    row('cleared', `the same ${REST_MS / 1_000} s after all of them are gone`, 'MiB'),
    row(
      'usualCpu',
      'CPU of all our processes (source and two targets) per pod to Running, at the usual speed of the processor', 'ms',
      { reference: ADMIRALTY.cpu, atMost: 15 },
    ),
    row('cpu', 'the same as it was', 'ms'),
    row('parse', `CPU of parsing one event at rest (usual: ${USUAL_PARSE_US})`, 'µs'),
    row('sourceCpu', 'CPU of the source\'s process of these', 'ms'),
    row('idleCpu', 'CPU of the source\'s process at rest, per second', 'ms'),
  ];
}

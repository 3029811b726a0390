// `npm run bench`: runs the benchmarks, prints figures on standard output and progress on standard error. A failing
// benchmark does not stop the others; the exit code reports it.
import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { AppError, messageOf } from '../process/errors.ts';
import { exitWith, interruptedExitCode, untilStopped } from '../process/lifecycle.ts';
import type { Benchmark, BenchmarkContext } from './benchmark.ts';
import { BLACK_HOLE } from './pods/black-hole.ts';
import { BY_TARGETS } from './pods/by-targets.ts';
import { COLD_SYNC } from './scale/cold-sync.ts';
import { DECISION } from './scale/decision.ts';
import { FIRST_CHOICE } from './scale/first-choice.ts';
import { FOOTPRINT } from './pods/footprint.ts';
import { GATEWAY } from './gateway/gateway.ts';
import { IDLE } from './pods/idle.ts';
import { LATENCY } from './pods/latency.ts';
import { LATENCY_STEPS } from './pods/latency-steps.ts';
import { LONG_RUN } from './scale/long-run.ts';
import { MANY_PODS } from './scale/many-pods.ts';
import { MANY_TARGETS } from './scale/many-targets.ts';
import { CHECKOUT, describeCommit, describeMachine } from './readings/machine.ts';
import { formatReport, toResult, type Report, type Result } from './results/report.ts';
import { MIRROR } from './pods/mirror.ts';
import { POD_PLANE } from './gateway/pod-plane.ts';
import { REQUESTS } from './pods/requests.ts';
import { saveResults } from './results/saved-results.ts';
import { THROUGHPUT } from './pods/throughput.ts';
import { WEBHOOK } from './webhook/webhook.ts';
import { BAD_BODIES } from './webhook/webhook-bad-bodies.ts';

/** In the order of `docs/benchmarks.md`. */
const BENCHMARKS: readonly Benchmark[] = [
  THROUGHPUT, REQUESTS, WEBHOOK, BAD_BODIES, DECISION, FIRST_CHOICE, COLD_SYNC, BLACK_HOLE, MIRROR, IDLE, GATEWAY,
  POD_PLANE, LATENCY, LATENCY_STEPS, FOOTPRINT, BY_TARGETS, MANY_TARGETS, MANY_PODS,
];
/** Those as well that run only when they are named. */
const ALL_BENCHMARKS: readonly Benchmark[] = [...BENCHMARKS, LONG_RUN];

interface BenchOptions {
  readonly only?: readonly Benchmark[];
  readonly json?: string;
  readonly save?: boolean;
  readonly runs: number;
  readonly targets?: readonly number[];
  readonly minutes?: number;
  readonly profile?: string;
}

function parseOnly(text: string): readonly Benchmark[] {
  const ids = text.split(',').map((id) => id.trim().toUpperCase());
  return ids.map((id) => {
    const found = ALL_BENCHMARKS.find((benchmark) => benchmark.id === id);
    if (found === undefined) throw new AppError(
      'BadInput', `--only has no "${id}"; choose from ${ALL_BENCHMARKS.map((known) => known.id).join(', ')}.`,
    );
    return found;
  });
}

function parseRuns(text: string): number {
  const runs = Number(text);
  if (Number.isInteger(runs) && runs >= 1 && runs <= 1_000) return runs;
  throw new AppError('BadInput', `--runs takes a whole number from 1 to 1000, not "${text}".`);
}

function parseTargets(text: string): readonly number[] {
  const counts = text.split(',').map(Number);
  if (counts.every((count) => Number.isInteger(count) && count >= 1 && count <= 1_000)) return counts;
  throw new AppError('BadInput', `--targets takes whole numbers from 1 to 1000, not "${text}".`);
}

function parseMinutes(text: string): number {
  const minutes = Number(text);
  if (minutes > 0 && minutes <= 10_000) return minutes;
  throw new AppError('BadInput', `--minutes takes a number from 1 to 10000, not "${text}".`);
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function bench(
  { only = BENCHMARKS, json, save = false, runs, targets, minutes, profile }: BenchOptions, signal: AbortSignal,
): Promise<void> {
  const context: BenchmarkContext = {
    runs, onProgress: tell, ...(targets !== undefined && { targets }),
    ...(minutes !== undefined && { minutes }), ...(profile !== undefined && { profileFolder: profile }),
  };
  const [machine, commit] = [describeMachine(), await describeCommit()];
  const measuredOn = new Date().toISOString().slice(0, 10);
  const results: Result[] = [];
  for (const benchmark of only) {
    const own = await runOne(benchmark, context, signal);
    results.push(...own);
    const report: Report = { machine, commit, measuredOn, results };
    // after each, so that none is lost
    if (json !== undefined) await writeFile(json, `${JSON.stringify(report, undefined, 2)}\n`);
    if (save) await saveResults({ ...report, results: own }, CHECKOUT);
  }
  process.stdout.write(`${formatReport({ machine, commit, results })}\n`);
}

async function runOne(
  benchmark: Benchmark, context: BenchmarkContext, signal: AbortSignal,
): Promise<readonly Result[]> {
  tell(`${benchmark.id}: ${benchmark.title}`);
  try {
    return (await benchmark.run(context, signal)).map((measurement) => toResult(benchmark, measurement));
  } catch (error) {
    signal.throwIfAborted();
    tell(`${benchmark.id} could not be measured: ${messageOf(error)}`);
    exitWith(1);
    return [];
  }
}

const signal = untilStopped();
const command = new Command('bench')
  .description(
    'measure what docs/benchmarks.md lists; figures are ratios to a reference that is measured in the same run',
  )
  .option('--only <list>', 'run these alone, comma separated', parseOnly)
  .option('--json <file>', 'write the results to this file, too')
  .option('--save', 'keep the results in docs/results/benchmarks, and rewrite the page of them')
  .option('--runs <count>', 'how often to measure each figure', parseRuns, 5)
  .option(
    '--targets <list>',
    'numbers of targets for PN, 1,3,10 when missing; the first for P13S, the most for PS, PB and PH', parseTargets,
  )
  .option('--minutes <count>', 'how long PH takes', parseMinutes, 60)
  .option('--profile <folder>', 'write CPU profiles of our processes there, for the tools of any browser')
  .action((options: BenchOptions) => bench(options, signal));
try {
  await command.parseAsync();
} catch (error) {
  tell(signal.aborted ? `bench: stopped by ${String(signal.reason)}` : `bench: ${messageOf(error)}`);
  exitWith(signal.aborted ? interruptedExitCode : 1);
}

// Measurements as a table for people and as JSON for programs. Pure.
import type { Benchmark, Goal, Measurement } from '../benchmark.ts';
import type { Machine } from '../readings/machine.ts';
import { significant, type Spread } from './statistics.ts';

/**
 * One line of the report. `ours` and `reference` are medians; null where there is nothing to compare with or to reach.
 */
export interface Result {
  readonly id: string;
  readonly variant: string;
  readonly title: string;
  readonly ours: number;
  readonly reference: number | null;
  readonly unit: string;
  /** ours ÷ reference. */
  readonly ratio: number | null;
  readonly goal: Goal | null;
  readonly holds: boolean | null;
  readonly oursSpread: Spread;
  readonly referenceSpread: Spread | null;
  readonly details?: object;
}

/** Everything a run of the benchmarks gives. */
export interface Report {
  readonly machine: Machine;
  /** Git commit of the checkout, with `-dirty` when it was changed; `unknown` outside git. */
  readonly commit: string;
  /** The day, as in 2026-11-29. */
  readonly measuredOn: string;
  readonly results: readonly Result[];
}

/** Whether figures reach a goal. A goal for a ratio that does not exist is not reached. */
export function reaches(goal: Goal, figures: { readonly ours: number; readonly ratio: number | null }): boolean {
  const figure = figures[goal.figure];
  if (figure === null || Number.isNaN(figure)) return false;
  return 'atLeast' in goal ? figure >= goal.atLeast : figure <= goal.atMost;
}

/** A measurement as a line of the report. */
export function toResult({ id }: Pick<Benchmark, 'id'>, measurement: Measurement): Result {
  const { variant, title, unit, ours, reference, goal, details } = measurement;
  const ratio = reference === undefined ? null : ours.median / reference.median;
  return {
    id, variant, title,
    ours: ours.median,
    reference: reference?.median ?? null,
    unit, ratio,
    goal: goal ?? null,
    holds: goal === undefined ? null : reaches(goal, { ours: ours.median, ratio }),
    oursSpread: ours,
    referenceSpread: reference ?? null,
    ...(details !== undefined && { details }),
  };
}

function spreadText(spread: Spread | null): string {
  if (spread === null) return '';
  const middle = String(significant(spread.median, 3));
  return spread.count === 1
    ? middle
    : `${middle} (${significant(spread.min, 3)}–${significant(spread.max, 3)}, n=${spread.count})`;
}

function goalText(goal: Goal | null): string {
  if (goal === null) return '';
  return `${goal.figure} ${'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`}`;
}

function verdict(holds: boolean | null): string {
  if (holds === null) return '';
  return holds ? 'yes' : 'NO';
}

const COLUMNS = ['id', 'what', 'ours', 'reference', 'unit', 'ratio', 'goal', 'holds'] as const;

function cells(result: Result): readonly string[] {
  return [
    result.id,
    result.title,
    spreadText(result.oursSpread),
    spreadText(result.referenceSpread),
    result.unit,
    result.ratio === null ? '' : String(significant(result.ratio, 3)),
    goalText(result.goal),
    verdict(result.holds),
  ];
}

/** The results as an aligned table; medians with least, greatest and number of measurements. */
export function formatTable(results: readonly Result[]): string {
  const rows = [COLUMNS, ...results.map(cells)];
  const widths = COLUMNS.map((_column, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ').trimEnd();
  const [head = '', ...body] = rows.map(line);
  return [head, widths.map((width) => '-'.repeat(width)).join('  '), ...body].join('\n');
}

/** The report for people: table, machine, commit. */
export function formatReport({ machine, commit, results }: Omit<Report, 'measuredOn'>): string {
  const { cpu, cores, memoryBytes, loadAverage, platform, node } = machine;
  const memory = `${significant(memoryBytes / 1024 ** 3, 3)} GiB`;
  const load = loadAverage.map((value) => value.toFixed(2)).join(' ');
  return `${formatTable(results)}\n\nmachine: ${cores} cores (${cpu}), ${memory}, ${platform}, Node.js ${node}, load ` +
    `average at the start ${load}\ncommit: ${commit}`;
}

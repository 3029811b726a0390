// The benchmark interface. A benchmark measures and never asserts: whether a goal is met is computed from its figures,
// and missing one is not an error.
import type { Spread } from './results/statistics.ts';

/** How a benchmark is to run. */
export interface BenchmarkContext {
  /**
   * How often a figure is measured on each side; a benchmark may do the expensive ones less often, and then says so.
   */
  readonly runs: number;
  /** Numbers of targets for the benchmark that takes them, one after the other; its own when missing. */
  readonly targets?: readonly number[];
  /** How long the benchmark of an hour takes, in minutes; an hour when missing. */
  readonly minutes?: number;
  /** Folder for CPU profiles of our processes; none are taken when missing. Profiled figures are slower ones. */
  readonly profileFolder?: string;
  /** Told what is going on, one line at a time. */
  readonly onProgress: (text: string) => void;
}

/** What is asked of a figure: of the ratio ours ÷ reference, or of ours alone. */
export type Goal = { readonly figure: 'ratio' | 'ours' } & ({ readonly atLeast: number } | { readonly atMost: number });

/** One figure and what it is compared with, both measured in the same run. */
export interface Measurement {
  /** What was measured and how, for the reader of the table. */
  readonly title: string;
  /** Short name that is unique within the benchmark. */
  readonly variant: string;
  readonly unit: string;
  readonly ours: Spread;
  /** Missing where only our own figure counts. */
  readonly reference?: Spread;
  /** Missing where none is set. */
  readonly goal?: Goal;
  /** More that was observed, for the JSON only. */
  readonly details?: object;
}

/** One row of `docs/benchmarks.md`. */
export interface Benchmark {
  /** `P1`, `P2`, … */
  readonly id: string;
  readonly title: string;
  /** Measures. Throws when it could not, or the signal's reason. */
  run(context: BenchmarkContext, signal: AbortSignal): Promise<readonly Measurement[]>;
}

// The decision log: each decision with all its inputs, so that it can be replayed. A target is logged when it has
// changed since it was logged last. A new file starts with all targets.
import { isRecord } from '../../model/objects/json-values.ts';
import { schedulePod, type SchedulingDecision } from '../decision/schedule-pod.ts';
import { parseRecordText, recordTarget, restoreTarget, toRecordText, type RecordedTarget } from './recorded-inputs.ts';
import type { PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';

/** A line of the log. */
export type DecisionLine =
  | { readonly kind: 'target'; readonly target: RecordedTarget }
  | { readonly kind: 'removed'; readonly key: string }
  | {
    readonly kind: 'decision'; readonly time: string; readonly name: string; readonly pod: PodToSchedule;
    readonly outcome: RecordedOutcome
  };

/** The chosen target's key, or none with the reason of each rejected target. */
export interface RecordedOutcome {
  readonly chosen?: string;
  readonly score?: number;
  readonly rejected: readonly (readonly [target: string, reason: string])[];
}

/** The outcome of a decision as it is logged. */
function toOutcome(decision: SchedulingDecision): RecordedOutcome {
  const rejected = decision.rejected.map(({ target, reason }) => [target, reason] as const);
  return decision.kind === 'chosen' ? { chosen: decision.target.key, score: decision.score, rejected } : { rejected };
}

/** One decision. */
export interface DecisionToLog {
  /** RFC 3339. */
  readonly time: string;
  /** `namespace/name` of the pod. */
  readonly name: string;
  readonly pod: PodToSchedule;
  readonly targets: readonly TargetSnapshot[];
  /** Made from `pod` and `targets`. */
  readonly decision: SchedulingDecision;
}

/** Converts decisions to log lines. */
export class DecisionLog {
  readonly #written = new Map<string, TargetSnapshot>();

  /** The lines for a decision; call before any of its inputs changes. `isNewFile`: with all targets. */
  linesOf({ time, name, pod, targets, decision }: DecisionToLog, isNewFile: boolean): readonly string[] {
    if (isNewFile) this.#written.clear();
    const lines: DecisionLine[] = [];
    const present = new Set(targets.map(({ key }) => key));
    for (const key of this.#written.keys()) {
      if (present.has(key)) continue;
      this.#written.delete(key);
      lines.push({ kind: 'removed', key });
    }
    for (const target of targets) {
      if (this.#written.get(target.key) === target) continue;
      this.#written.set(target.key, target);
      lines.push({ kind: 'target', target: recordTarget(target) });
    }
    lines.push({ kind: 'decision', time, name, pod, outcome: toOutcome(decision) });
    return lines.map(toRecordText);
  }
}

/** A decision whose outcome differs now. */
export interface Difference {
  readonly time: string;
  readonly name: string;
  readonly before: RecordedOutcome;
  readonly now: RecordedOutcome;
}

/** The result of a replay. */
export interface Replay {
  readonly decisions: number;
  readonly differences: readonly Difference[];
  /** Line numbers, from 1, that could not be read: the last line of a truncated file, or one of another version. */
  readonly unreadable: readonly number[];
}

/** Repeats the decisions of a log, line by line. */
export class Replayer {
  readonly #targets = new Map<string, TargetSnapshot>();
  readonly #differences: Difference[] = [];
  readonly #unreadable: number[] = [];
  #decisions = 0;
  #lines = 0;

  /** Reads the next line. */
  read(text: string): void {
    this.#lines += 1;
    if (text.trim() === '') return;
    try {
      this.#follow(readLine(text));
    } catch { // JSON of another shape
      this.#unreadable.push(this.#lines);
    }
  }

  #follow(line: DecisionLine | undefined): void {
    switch (line?.kind) {
      case 'target':
        this.#targets.set(line.target.key, restoreTarget(line.target));
        return;
      case 'removed':
        this.#targets.delete(line.key);
        return;
      case 'decision':
        this.#decide(line);
        return;
      case undefined:
        this.#unreadable.push(this.#lines);
    }
  }

  /** The result so far. */
  get result(): Replay {
    return { decisions: this.#decisions, differences: this.#differences, unreadable: this.#unreadable };
  }

  #decide({ time, name, pod, outcome: before }: Extract<DecisionLine, { readonly kind: 'decision' }>): void {
    const now = toOutcome(schedulePod(pod, this.#targets.values()));
    this.#decisions += 1;
    if (JSON.stringify(now) !== JSON.stringify(before)) this.#differences.push({ time, name, before, now });
  }
}

const KINDS: ReadonlySet<unknown> = new Set<DecisionLine['kind']>(['target', 'removed', 'decision']);

function readLine(text: string): DecisionLine | undefined {
  try {
    const line = parseRecordText(text);
    return isRecord(line) && KINDS.has(line['kind']) ? (line as unknown as DecisionLine) : undefined;
  } catch {
    return undefined;
  }
}

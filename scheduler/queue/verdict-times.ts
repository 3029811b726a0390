// What the schedulers of targets were seen to decide. It tells a scheduler that is busy, for which a candidate waits,
// from one that has passed a candidate over: it decided about later ones, and this one would wait indefinitely.

/** A candidate in a target. */
interface WaitingCandidate {
  /** When it was first observed there, in ms of a monotonic clock. */
  readonly seenAt: number;
  readonly priority: number;
}

/** Candidates reach a scheduler's queue in another order than they are observed, by this much at most, in ms. */
const DISORDER_MS = 2_000;
/** How much longer a candidate waits for its verdict once its target has skipped it, in ms. */
export const SKIPPED_WAIT_MS = 20_000;

interface TargetVerdicts {
  lastAt: number;
  /** When the latest candidate of each priority that has a verdict was observed. */
  readonly latestByPriority: Map<number, number>;
}

/** The verdicts of all targets. */
export class VerdictTimes {
  readonly #targets = new Map<string, TargetVerdicts>();

  /** The target decided at `at`; about which candidate, where that is still known. */
  note(target: string, at: number, decided: WaitingCandidate | undefined): void {
    const known = this.#targets.get(target) ?? { lastAt: at, latestByPriority: new Map<number, number>() };
    known.lastAt = at;
    this.#targets.set(target, known);
    if (decided === undefined) return;
    const { priority, seenAt } = decided;
    known.latestByPriority.set(priority, Math.max(seenAt, known.latestByPriority.get(priority) ?? 0));
  }

  /**
   * The time from which patience with the target counts: its last verdict about anybody, unless it has passed this
   * candidate over, for one that came later and is not more important.
   */
  waitingSince(target: string, { seenAt, priority }: WaitingCandidate): number {
    const known = this.#targets.get(target);
    if (known === undefined) return seenAt;
    const since = Math.max(seenAt, known.lastAt);
    const isPassedOver = [...known.latestByPriority].some(
      ([decided, latest]) => decided <= priority && latest > seenAt + DISORDER_MS,
    );
    return isPassedOver ? Math.min(since, seenAt + SKIPPED_WAIT_MS) : since;
  }

  /** The target was removed. */
  forget(target: string): void {
    this.#targets.delete(target);
  }
}

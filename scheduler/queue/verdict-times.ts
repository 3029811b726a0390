// When the schedulers of targets were observed to decide. A candidate waits for a scheduler that is busy. It does not
// wait for one that has skipped it: that one has decided about later candidates, and the wait might never end.

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
   * The time from which the timeout of a candidate counts: the target's last verdict on any candidate, unless the
   * target has skipped this one, for a later one of no higher priority.
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

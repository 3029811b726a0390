// Who may write. A fence is asked at the last moment before a write goes out, so that a process that was stopped or blocked
// in the meantime does not act on a right that it has lost.

/** The right to write, which may end at any time. */
export interface Fence {
  /** Whether the right holds now, by the clock and not by what was last heard. */
  holds(): boolean;
  /** How long it is at least until somebody else may have the right, in ms: a write must be answered, or given up, within it. */
  msLeft(): number;
}

/** All of several rights together. */
export function allOf(fences: readonly Fence[]): Fence {
  return { holds: () => fences.every((fence) => fence.holds()), msLeft: () => Math.min(...fences.map((fence) => fence.msLeft())) };
}

/** A write was not sent: this process does not lead at the moment. */
export class NotLeaderError extends Error {
  override readonly name = 'NotLeaderError';
  /** The right that was missing. */
  readonly fence: Fence;

  constructor(fence: Fence) {
    super('not sent: this process does not hold the lease');
    this.fence = fence;
  }
}

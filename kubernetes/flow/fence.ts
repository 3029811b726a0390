// Fencing of writes: leadership is checked right before a write is sent, so that a process that was stopped or blocked
// does not act on an expired lease.

/** Permission to write, which may end at any time. */
export interface Fence {
  /** Whether it holds now, by the clock rather than by the last message. */
  holds(): boolean;
  /** Least time in ms until another process may get it: a write must be answered or abandoned within it. */
  msLeft(): number;
}

/** Holds while all of the given fences hold. */
export function allOf(fences: readonly Fence[]): Fence {
  return {
    holds: () => fences.every((fence) => fence.holds()),
    msLeft: () => Math.min(...fences.map((fence) => fence.msLeft())),
  };
}

/** A write was not sent because this process is not leader. */
export class NotLeaderError extends Error {
  override readonly name = 'NotLeaderError';
  /** The fence that did not hold. */
  readonly fence: Fence;

  constructor(fence: Fence) {
    super('not sent: this process does not hold the lease');
    this.fence = fence;
  }
}

// How quick an API server has been of late, as the writes of its leases' holder found it: how long a lease to ask for, and whether to wait for an answer.
import type { LeaseTimings } from './lease-record.ts';

/** A write that took more than this part of a call's deadline is late: on a server that is well it takes some milliseconds. */
const LATE_PART = 4;
/** After a late write the server is taken to be busy for this long, in ms: one quick answer does not show that the next one will be. */
const BUSY_MS = 10_000;

/** Shared by the leases that one process holds, for who takes over needs them all. Times are in ms by its monotonic clock. */
export class LeaseDuration {
  readonly #timings: LeaseTimings;
  #busyUntil = -Infinity;
  #isSlow = false;

  constructor(timings: LeaseTimings) {
    this.#timings = timings;
  }

  /** A lease was made, taken or renewed. */
  answered(begunAt: number, now: number): void {
    this.#isSlow = now - begunAt > this.#timings.callMs;
    if (now - begunAt > this.#timings.callMs / LATE_PART) this.#busyUntil = now + BUSY_MS;
  }

  /** The holder of a lease got no answer that is worth anything. */
  failed(now: number): void {
    this.#busyUntil = now + BUSY_MS;
  }

  /** Whether the last answer took longer than a call may that leaves time for another one. */
  get isSlow(): boolean {
    return this.#isSlow;
  }

  /** How long a lease to ask for. */
  leaseMs(now: number): number {
    const { leaseMs, slowLeaseMs = leaseMs } = this.#timings;
    return now < this.#busyUntil ? slowLeaseMs : leaseMs;
  }
}

// How long a Lease to request and how long to wait for a response, from the latency of the leader's recent writes: the
// leader extends `leaseDurationSeconds` when renewals are slow.
import type { LeaseTimings } from './lease-record.ts';

/** A write that took more than this part of its timeout is slow; a healthy server takes some milliseconds. */
const LATE_PART = 4;
/** After a slow write the server counts as slow for this long, in ms: one quick response does not prove recovery. */
const BUSY_MS = 10_000;

/**
 * Shared by all Leases that one process holds, because a successor needs them all. Times are in ms of its monotonic
 * clock.
 */
export class LeaseDuration {
  readonly #timings: LeaseTimings;
  #busyUntil = -Infinity;
  #isSlow = false;

  constructor(timings: LeaseTimings) {
    this.#timings = timings;
  }

  /** A Lease was created, taken or renewed. */
  answered(begunAt: number, now: number): void {
    this.#isSlow = now - begunAt > this.#timings.callMs;
    if (now - begunAt > this.#timings.callMs / LATE_PART) this.#busyUntil = now + BUSY_MS;
  }

  /** The leader got no response in time to be of use. */
  failed(now: number): void {
    this.#busyUntil = now + BUSY_MS;
  }

  /** Whether the last response took longer than a timeout that leaves time for a retry. */
  get isSlow(): boolean {
    return this.#isSlow;
  }

  /** The lease duration to request. */
  leaseMs(now: number): number {
    const { leaseMs, slowLeaseMs = leaseMs } = this.#timings;
    return now < this.#busyUntil ? slowLeaseMs : leaseMs;
  }
}

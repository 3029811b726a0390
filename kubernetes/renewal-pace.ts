// How quick an API server has been of late, as the renewals of one lease found it: how long a lease to ask for, and how long to wait for an answer.
import type { LeaseTimings } from './lease-record.ts';

/** A renewal that took more than this part of the deadline of a quick one is late: on a server that is well it takes some milliseconds. */
const LATE_PART = 4;
/** After a late renewal the server is taken to be busy for this long, in ms: one quick answer does not show that the next one will be. */
const BUSY_MS = 10_000;

/** Written by the holder of a lease; times are in ms by its monotonic clock. */
export class RenewalPace {
  readonly #timings: LeaseTimings;
  #busyUntil = -Infinity;
  #isSlow = false;

  constructor(timings: LeaseTimings) {
    this.#timings = timings;
  }

  /** A renewal was answered. */
  answered(begunAt: number, now: number): void {
    this.#isSlow = now - begunAt > this.#timings.callMs;
    if (now - begunAt > this.#timings.callMs / LATE_PART) this.#busyUntil = now + BUSY_MS;
  }

  /** A renewal failed or was given up. */
  failed(now: number): void {
    this.#busyUntil = now + BUSY_MS;
  }

  /** Whether the last renewal took longer than a call may that leaves time for another one. */
  get isSlow(): boolean {
    return this.#isSlow;
  }

  /** How long a lease to ask for. */
  leaseMs(now: number): number {
    const { leaseMs, slowLeaseMs = leaseMs } = this.#timings;
    return now < this.#busyUntil ? slowLeaseMs : leaseMs;
  }
}

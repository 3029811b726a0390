// Reads a Lease (coordination.k8s.io/v1) and decides who may take it, by the rules of client-go `tools/leaderelection`.
// Pure; times are in ms.
import type { Lease } from '../../api/objects/core.ts';

/** Timings of an election in ms. `renewEveryMs` < `renewWithinMs` < `leaseMs` <= `slowLeaseMs`. */
export interface LeaseTimings {
  /** Lease duration: other candidates take the Lease this long after they last saw it renewed. */
  readonly leaseMs: number;
  /**
   * Lease duration while the leader finds the server slow; `leaseMs` when missing. Others go by the Lease's
   * `leaseDurationSeconds`.
   */
  readonly slowLeaseMs?: number;
  /**
   * Renew deadline: the leader stops acting this long after its last successful request for `leaseMs`, later by as much
   * as it requested more.
   */
  readonly renewWithinMs: number;
  /** Interval of renewals. */
  readonly renewEveryMs: number;
  /** Retry period of candidates and of failed renewals, plus jitter. */
  readonly retryMs: number;
  /** Timeout of a request that leaves time for a retry. */
  readonly callMs: number;
}

/** client-go's durations, 15/10/2 s. Renewals are rarer, since each costs a write; a failed one is retried in time. */
export const LEASE_TIMINGS: LeaseTimings =
  { leaseMs: 15_000, renewWithinMs: 10_000, renewEveryMs: 6_000, retryMs: 2_000, callMs: 2_500 };

/**
 * For components that pods wait for: a standby acts within 8 s of the leader's death, at the price of frequent
 * renewals. While the server is slow, Leases last longer (ADR 0044), and so does failover.
 */
export const QUICK_LEASE_TIMINGS: LeaseTimings =
  { leaseMs: 5_000, slowLeaseMs: 15_000, renewWithinMs: 4_250, renewEveryMs: 1_500, retryMs: 1_000, callMs: 2_100 };

/** An observed Lease and when it was observed by the local clock. Clocks of other replicas are never compared. */
export interface ObservedLease {
  readonly resourceVersion: string;
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly seenAt: number;
}

/** Records an observation. A version seen before keeps its first observation time. */
export function observeLease(lease: Lease, before: ObservedLease | undefined, now: number): ObservedLease {
  const { metadata: { resourceVersion = '' }, spec = {} } = lease;
  if (before?.resourceVersion === resourceVersion) return before;
  return {
    resourceVersion,
    holder: spec.holderIdentity ?? '',
    durationMs: (spec.leaseDurationSeconds ?? 0) * 1_000,
    transitions: spec.leaseTransitions ?? 0,
    seenAt: now,
  };
}

/** Whether a Lease may be taken: it has no holder, or was not renewed within its duration. */
export function mayTake(lease: ObservedLease, identity: string, now: number): boolean {
  return lease.holder === '' || lease.holder === identity || now - lease.seenAt > lease.durationMs;
}

/** Time until an unrenewed Lease may be taken, in ms; 0 when it may be taken now. */
export function freeIn(lease: ObservedLease, now: number): number {
  return lease.holder === '' ? 0 : Math.max(0, lease.seenAt + lease.durationMs - now);
}

/** A deadline on both clocks: the monotonic clock may stop while the machine sleeps, the wall clock may be set back. */
export interface Deadline {
  readonly monotonic: number;
  readonly wall: number;
}

/** The two clocks in ms. */
export interface Clocks {
  readonly monotonic: () => number;
  readonly wall: () => number;
}

/** The clocks of this process. */
export const CLOCKS: Clocks = { monotonic: () => performance.now(), wall: () => Date.now() };

/** `ms` from now on both clocks. */
export function deadlineIn(ms: number, clocks: Clocks): Deadline {
  return { monotonic: clocks.monotonic() + ms, wall: clocks.wall() + ms };
}

/** Time until the first clock reaches the deadline, in ms; 0 or less when one has. */
export function msUntil(deadline: Deadline, clocks: Clocks): number {
  return Math.min(deadline.monotonic - clocks.monotonic(), deadline.wall - clocks.wall());
}

/** The earlier one on each clock. */
export function earlier(one: Deadline, other: Deadline): Deadline {
  return { monotonic: Math.min(one.monotonic, other.monotonic), wall: Math.min(one.wall, other.wall) };
}

/** A Lease as it was requested. Times in ms. */
export interface RequestedLease {
  /** Sent at, by the monotonic clock. The holder counts from here; others count from when they observe the Lease. */
  readonly begunAt: number;
  /** The requested duration. */
  readonly leaseMs: number;
  /** Until when the holder acts. */
  readonly actUntil: Deadline;
  /** Before this time no other process may take it. */
  readonly ownUntil: Deadline;
}

/** A Lease requested now; the holder stops acting as long before its end as with a Lease of the usual duration. */
export function requestLease(leaseMs: number, timings: LeaseTimings, clocks: Clocks): RequestedLease {
  const actMs = leaseMs - timings.leaseMs + timings.renewWithinMs;
  return {
    begunAt: clocks.monotonic(), leaseMs, actUntil: deadlineIn(actMs, clocks), ownUntil: deadlineIn(leaseMs, clocks),
  };
}

// What replicas read out of a Lease (coordination.k8s.io/v1), and who may take it. Pure; times are in ms. Rules of client-go `tools/leaderelection`.
import type { Lease } from '../../api/objects/core.ts';

/** Durations of an election in ms. `renewEveryMs` < `renewWithinMs` < `leaseMs` <= `slowLeaseMs`. */
export interface LeaseTimings {
  /** How long a lease the holder asks for: others take it this long after they last saw it renewed. */
  readonly leaseMs: number;
  /** The same while the holder finds the server to be slow, `leaseMs` when missing. Others go by what the Lease says. */
  readonly slowLeaseMs?: number;
  /** The holder stops acting this long after it last asked for a renewal of `leaseMs` that succeeded, later by as much as it asked for more. */
  readonly renewWithinMs: number;
  /** The holder renews this often. */
  readonly renewEveryMs: number;
  /** Who failed, or does not hold it, tries again after this, a little longer by chance. */
  readonly retryMs: number;
  /** Deadline of a request that leaves time for another one. */
  readonly callMs: number;
}

/** client-go's durations, 15/10/2 s. Renewals are rarer than its, for each costs a write; one that fails is tried again in time. */
export const LEASE_TIMINGS: LeaseTimings = { leaseMs: 15_000, renewWithinMs: 10_000, renewEveryMs: 6_000, retryMs: 2_000, callMs: 2_500 };

/**
 * Where pods wait for whoever takes over: a standby acts within 8 s of the death of its leader. Frequent renewals are its price. While the server is
 * slow, leases are longer (ADR 0044), and so is that time.
 */
export const QUICK_LEASE_TIMINGS: LeaseTimings = { leaseMs: 5_000, slowLeaseMs: 15_000, renewWithinMs: 4_250, renewEveryMs: 1_500, retryMs: 1_000, callMs: 2_100 };

/** A Lease as it was seen, and when by this replica's own clock: clocks of others are never compared with. */
export interface ObservedLease {
  readonly resourceVersion: string;
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly seenAt: number;
}

/** Takes over what was read. A version that was seen before keeps the time when it was first seen. */
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

/** Whether a lease may be taken: nobody holds it, or its holder has not renewed it for as long as it said it would. */
export function mayTake(lease: ObservedLease, identity: string, now: number): boolean {
  return lease.holder === '' || lease.holder === identity || now - lease.seenAt > lease.durationMs;
}

/** How long it is until a lease that is not renewed may be taken, in ms; 0 when that time has come. */
export function freeIn(lease: ObservedLease, now: number): number {
  return lease.holder === '' ? 0 : Math.max(0, lease.seenAt + lease.durationMs - now);
}

/** A right that ends by itself. Both clocks are asked: the monotonic one may stand still while the machine sleeps, the wall clock may be set back. */
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

/** `ms` from now by both clocks. */
export function deadlineIn(ms: number, clocks: Clocks): Deadline {
  return { monotonic: clocks.monotonic() + ms, wall: clocks.wall() + ms };
}

/** How long it is until one of the clocks reaches the deadline, in ms; 0 or less when one has. */
export function msUntil(deadline: Deadline, clocks: Clocks): number {
  return Math.min(deadline.monotonic - clocks.monotonic(), deadline.wall - clocks.wall());
}

/** What comes first, by each clock. */
export function earlier(one: Deadline, other: Deadline): Deadline {
  return { monotonic: Math.min(one.monotonic, other.monotonic), wall: Math.min(one.wall, other.wall) };
}

/** A right as it was asked for. Times in ms. */
export interface RequestedLease {
  /** By the monotonic clock. It counts from here, before the request was sent; for others it counts from when they see its outcome. */
  readonly begunAt: number;
  /** How long others are to respect it. */
  readonly leaseMs: number;
  /** Until when the holder acts. */
  readonly actUntil: Deadline;
  /** Until when at least nobody else may take it. */
  readonly ownUntil: Deadline;
}

/** A right that is asked for now; the holder stops acting as long before its end as with a usual lease. */
export function requestLease(leaseMs: number, timings: LeaseTimings, clocks: Clocks): RequestedLease {
  const actMs = leaseMs - timings.leaseMs + timings.renewWithinMs;
  return { begunAt: clocks.monotonic(), leaseMs, actUntil: deadlineIn(actMs, clocks), ownUntil: deadlineIn(leaseMs, clocks) };
}

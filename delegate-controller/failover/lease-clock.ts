// When a source's lease expires by its target's clock (ADR 0020), and the lease's status. Clocks of two clusters are
// never compared directly: for each holder the smallest difference between observing a renewal and its own timestamp
// counts, so a delayed renewal extends the lease no further than a prompt one.
import type { SourceLease } from '../../api/kinds/source-lease.ts';
import { SOURCE_LEASES } from '../../api/resource-types.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { minRenewalWaitMs } from '../../model/pod/source-lease.ts';

/** Two readings of the target's time, in ms: a monotonic clock, and the time of day, which survives a restart. */
export interface TargetTime {
  readonly monotonic: number;
  readonly wall: number;
}

/** Tracks one lease. Times are in ms of the monotonic clock. */
export class LeaseClock {
  #holder: string | undefined;
  #renewed = Number.NaN;
  /** Smallest delay between a renewal of the holder and its observation, its clock compared with this one. */
  #offset = Infinity;
  /**
   * The same as stored by the previous run of this controller. It depends on the time of day, so it never expires a
   * lease at once.
   */
  #notedOffset = Infinity;
  #endsAt = Infinity;

  /** Observes the current lease. A version that was observed already changes nothing. */
  observe(lease: SourceLease, now: TargetTime): void {
    const holder = `${lease.metadata.uid ?? ''} ${lease.spec.holder}`;
    const renewed = Date.parse(lease.spec.renewTime);
    if (holder === this.#holder && renewed === this.#renewed) return;
    if (this.#holder === undefined) this.#notedOffset = notedOffset(lease, now);
    else if (holder !== this.#holder) [this.#offset, this.#notedOffset] = [Infinity, Infinity];
    // The age of the first one is unknown: it may have existed long before this process.
    if (this.#holder !== undefined) this.#offset = Math.min(this.#offset, now.monotonic - renewed);
    this.#holder = holder;
    this.#renewed = renewed;
    this.#endsAt = this.#endOf(lease.spec.durationSeconds, now.monotonic);
  }

  #endOf(durationSeconds: number, now: number): number {
    const end = (offset: number) => this.#renewed + offset + durationSeconds * 1_000;
    const byOurs = Math.min(end(this.#offset), now + durationSeconds * 1_000);
    return Math.min(byOurs, Math.max(end(this.#notedOffset), now + minRenewalWaitMs(durationSeconds)));
  }

  /** When the lease expires. */
  get endsAt(): number {
    return this.#endsAt;
  }
}

/**
 * Delay with which the previous run of this controller observed a renewal of this holder, on our clock; Infinity when
 * none is stored.
 */
function notedOffset({ spec, status = {} }: SourceLease, { monotonic, wall }: TargetTime): number {
  const { seenHolder, seenRenewTime = '', seenAt = '' } = status;
  return seenHolder === spec.holder ? Date.parse(seenAt) - wall + monotonic - Date.parse(seenRenewTime) : Infinity;
}

/** Whether the status says that this very renewal has expired. */
export function hasExpired({ spec, status }: SourceLease): boolean {
  return status?.state === 'Expired' && isSeen({ spec, status });
}

function isSeen({ spec, status }: Pick<SourceLease, 'spec' | 'status'>): boolean {
  return status?.seenHolder === spec.holder && status.seenRenewTime === spec.renewTime;
}

/**
 * The status to write: that the renewal was observed or, with a precondition on this version, that it has expired. A
 * renewal that was not observed yet makes that write fail. `isOver` says that the lease's time is over.
 */
export function planLeaseStatus(lease: SourceLease, isOver: boolean, wall: number): Plan {
  const { metadata: { namespace, name = '', uid, resourceVersion }, spec } = lease;
  const at = { namespace, name, subresource: 'status' } as const;
  const seen = {
    seenHolder: spec.holder, seenRenewTime: spec.renewTime,
    ...(!isSeen(lease) && { seenAt: new Date(wall).toISOString() }),
  };
  const patch = (metadata: object, status: object): Plan =>
    [{ kind: 'patch', type: SOURCE_LEASES, at, patchType: 'merge', patch: { metadata, status } }];
  if (isOver) return hasExpired(lease) ? [] : patch({ uid, resourceVersion }, { state: 'Expired', ...seen });
  return isSeen(lease) ? [] : patch({ uid }, { state: 'Held', ...seen });
}

// When the lease of a source ends, as its target reckons it (ADR 0020), and what the lease's status is to say. Clocks of two clusters are never
// compared: for each holder the least difference between seeing a renewal and its own time counts, so a late one is worth no more than a prompt one.
import type { SourceLease } from '../../api/kinds/source-lease.ts';
import { SOURCE_LEASES } from '../../api/resource-types.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { returnMs } from '../../model/pod/fencing.ts';

/** Two readings of the target's time, in ms: of a clock that only goes forward, and of the time of day, which outlives a restart. */
export interface TargetTime {
  readonly monotonic: number;
  readonly wall: number;
}

/** Follows one lease. Times are in ms of the monotonic clock. */
export class LeaseClock {
  #holder: string | undefined;
  #renewed = Number.NaN;
  /** The least that a renewal of the holder was seen after it was made, its clock against ours. */
  #offset = Infinity;
  /** The same as the last run of this controller has noted it: only as good as the time of day, so it never ends a lease at once. */
  #notedOffset = Infinity;
  #endsAt = Infinity;

  /** Takes over the lease as it is now. A version that was heard already changes nothing. */
  hear(lease: SourceLease, now: TargetTime): void {
    const holder = `${lease.metadata.uid ?? ''} ${lease.spec.holder}`;
    const renewed = Date.parse(lease.spec.renewTime);
    if (holder === this.#holder && renewed === this.#renewed) return;
    if (this.#holder === undefined) this.#notedOffset = notedOffset(lease, now);
    else if (holder !== this.#holder) [this.#offset, this.#notedOffset] = [Infinity, Infinity];
    // The first is of unknown age: it may have been here long before us.
    if (this.#holder !== undefined) this.#offset = Math.min(this.#offset, now.monotonic - renewed);
    this.#holder = holder;
    this.#renewed = renewed;
    this.#endsAt = this.#endOf(lease.spec.durationSeconds, now.monotonic);
  }

  #endOf(durationSeconds: number, now: number): number {
    const end = (offset: number) => this.#renewed + offset + durationSeconds * 1_000;
    const byOurs = Math.min(end(this.#offset), now + durationSeconds * 1_000);
    return Math.min(byOurs, Math.max(end(this.#notedOffset), now + returnMs(durationSeconds)));
  }

  /** When the lease ends. */
  get endsAt(): number {
    return this.#endsAt;
  }
}

/** How long after it was made a renewal of this holder was seen by the last run of this controller, on our clock; infinite when it has noted none. */
function notedOffset({ spec, status = {} }: SourceLease, { monotonic, wall }: TargetTime): number {
  const { seenHolder, seenRenewTime = '', seenAt = '' } = status;
  return seenHolder === spec.holder ? Date.parse(seenAt) - wall + monotonic - Date.parse(seenRenewTime) : Infinity;
}

/** Whether the target has said of this very renewal that it has ended. */
export function hasExpired({ spec, status }: SourceLease): boolean {
  return status?.state === 'Expired' && isSeen({ spec, status });
}

function isSeen({ spec, status }: Pick<SourceLease, 'spec' | 'status'>): boolean {
  return status?.seenHolder === spec.holder && status.seenRenewTime === spec.renewTime;
}

/**
 * What the status is to say now: that the renewal was seen, or, of this very version, that it has ended. A renewal that is not seen yet stands
 * against that. `isOver` says that its time has come.
 */
export function planLeaseStatus(lease: SourceLease, isOver: boolean, wall: number): Plan {
  const { metadata: { namespace, name = '', uid, resourceVersion }, spec } = lease;
  const at = { namespace, name, subresource: 'status' } as const;
  const seen = { seenHolder: spec.holder, seenRenewTime: spec.renewTime, ...(!isSeen(lease) && { seenAt: new Date(wall).toISOString() }) };
  const patch = (metadata: object, status: object): Plan => [{ kind: 'patch', type: SOURCE_LEASES, at, patchType: 'merge', patch: { metadata, status } }];
  if (isOver) return hasExpired(lease) ? [] : patch({ uid, resourceVersion }, { state: 'Expired', ...seen });
  return isSeen(lease) ? [] : patch({ uid }, { state: 'Held', ...seen });
}

// How a source renews its lease in a target, and from when on it may assume that the target has stopped its pods (ADR
// 0020). After a renewal without a response the lease is read before the next renewal: so the last renewal that may
// have succeeded is known.
import type { SourceLease, SourceLeaseSpec } from '../../api/kinds/source-lease.ts';
import { marginMs, renewalMs } from '../../model/pod/source-lease.ts';

/** The next step. `ms` is how long until there is something to do. */
export type RenewalStep = { readonly kind: 'renew' } | { readonly kind: 'read' }
  | { readonly kind: 'wait'; readonly ms: number };

/** The holder and the duration of a lease. */
export type HeldLease = Pick<SourceLeaseSpec, 'holder' | 'durationSeconds'>;

interface Renewal {
  readonly renewTime: string;
  readonly sentAt: number;
}

/** After this many renewals without a status from the target it is assumed not to fence. */
const WITHOUT_WORD = 3;

/** One lease, as one run of the source's process holds it. Times are in ms of a monotonic clock. */
export class SourceLeaseRenewal {
  readonly #lease: HeldLease;
  /** The last renewals, oldest first. */
  #renewals: readonly Renewal[] = [];
  #triedAt = -Infinity;
  #isSilent = false;
  /** How long after it was sent the target reported a renewal; undefined while it reports none. */
  #lagMs: number | undefined;
  #acknowledged: string | undefined;

  constructor(lease: HeldLease) {
    this.#lease = lease;
  }

  /** The next step. */
  next(now: number): RenewalStep {
    const ms = this.#triedAt + this.#everyMs() - now;
    if (ms > 0) return { kind: 'wait', ms };
    return { kind: this.#isSilent ? 'read' : 'renew' };
  }

  /** The first renewals follow faster: pods may fail over only after the target has reported one. */
  #everyMs(): number {
    const isNew = this.#lagMs === undefined && this.#renewals.length <= WITHOUT_WORD && !this.#isSilent;
    return renewalMs(this.#lease.durationSeconds) / (isNew ? 4 : 1);
  }

  /** Call before a renewal is sent. */
  sending(renewTime: string, now: number): void {
    this.#triedAt = now;
    this.#renewals = [...this.#renewals, { renewTime, sentAt: now }].slice(-1 - WITHOUT_WORD);
  }

  /** Call before a read is sent. */
  reading(now: number): void {
    this.#triedAt = now;
  }

  /** The target responded with the current lease, or that there is none. */
  answered(lease: SourceLease | undefined, now: number): void {
    if (this.#isSilent) this.#triedAt = -Infinity; // it is back: renew at once
    this.#isSilent = false;
    const { seenHolder, seenRenewTime } = lease?.status ?? {};
    const seen = seenHolder === this.#lease.holder
      ? this.#renewals.find(({ renewTime }) => renewTime === seenRenewTime)
      : undefined;
    if (seen === undefined) this.#lagMs = undefined;
    else if (seen.renewTime !== this.#acknowledged) this.#lagMs = now - seen.sentAt;
    this.#acknowledged = seen?.renewTime;
  }

  /** The target rejected the lease: it serves none, or denies us access, so it cannot be relied on to fence. */
  rejected(): void {
    this.#isSilent = false;
    this.#lagMs = undefined;
  }

  /** No response came. */
  unanswered(): void {
    this.#isSilent = true;
  }

  /**
   * Time after which the target has stopped pods with this grace period; undefined while it responds, or when it was
   * not known to fence.
   */
  stoppedAt(graceSeconds: number): number | undefined {
    const last = this.#renewals.at(-1);
    if (!this.#isSilent || this.#lagMs === undefined || last === undefined) return undefined;
    const { durationSeconds } = this.#lease;
    return last.sentAt + durationSeconds * 1_000 + this.#lagMs + marginMs(durationSeconds) + graceSeconds * 1_000;
  }
}

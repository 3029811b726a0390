// How a source keeps its lease in a target, and from when on it may take for granted that the target has stopped its pods (ADR 0020).
// After a renewal without an answer there is no other before the lease was read: so there is a last one that may have been done.
import type { SourceLease, SourceLeaseSpec } from '../../api/kinds/source-lease.ts';
import { marginMs, renewalMs } from '../../model/pod/fencing.ts';

/** What is to be done now. `ms` is how long until there is something to do. */
export type RenewalStep = { readonly kind: 'renew' } | { readonly kind: 'read' } | { readonly kind: 'wait'; readonly ms: number };

/** Who holds the lease, and for how long at a time. */
export type HeldLease = Pick<SourceLeaseSpec, 'holder' | 'durationSeconds'>;

interface Renewal {
  readonly renewTime: string;
  readonly sentAt: number;
}

/** So many renewals may go by without the target's word before it is thought to fence nothing. */
const WITHOUT_WORD = 3;

/** One lease, as one run of the source's process holds it. Times are in ms of a clock that only goes forward. */
export class SourceLeaseRenewal {
  readonly #lease: HeldLease;
  /** The last ones, oldest first. */
  #renewals: readonly Renewal[] = [];
  #triedAt = -Infinity;
  #isSilent = false;
  /** How long after it was sent a renewal was known to have been seen; undefined while the target does not see them. */
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

  /** The first ones follow one another faster: pods may leave only after the target's word on one of them has come. */
  #everyMs(): number {
    const isNew = this.#lagMs === undefined && this.#renewals.length <= WITHOUT_WORD && !this.#isSilent;
    return renewalMs(this.#lease.durationSeconds) / (isNew ? 4 : 1);
  }

  /** A renewal is about to be sent. */
  sending(renewTime: string, now: number): void {
    this.#triedAt = now;
    this.#renewals = [...this.#renewals, { renewTime, sentAt: now }].slice(-1 - WITHOUT_WORD);
  }

  /** A read is about to be sent. */
  reading(now: number): void {
    this.#triedAt = now;
  }

  /** The target has answered with the lease as it is, or that there is none. */
  answered(lease: SourceLease | undefined, now: number): void {
    if (this.#isSilent) this.#triedAt = -Infinity; // it is back: renew at once
    this.#isSilent = false;
    const { seenHolder, seenRenewTime } = lease?.status ?? {};
    const seen = seenHolder === this.#lease.holder ? this.#renewals.find(({ renewTime }) => renewTime === seenRenewTime) : undefined;
    if (seen === undefined) this.#lagMs = undefined;
    else if (seen.renewTime !== this.#acknowledged) this.#lagMs = now - seen.sentAt;
    this.#acknowledged = seen?.renewTime;
  }

  /** The target has answered with no: it serves no leases, or keeps them from us, so it fences nothing that we could count on. */
  refused(): void {
    this.#isSilent = false;
    this.#lagMs = undefined;
  }

  /** No answer came. */
  unanswered(): void {
    this.#isSilent = true;
  }

  /** From when on the target has stopped pods whose containers get so many seconds; undefined while it answers, or was not known to fence. */
  stoppedAt(graceSeconds: number): number | undefined {
    const last = this.#renewals.at(-1);
    if (!this.#isSilent || this.#lagMs === undefined || last === undefined) return undefined;
    const { durationSeconds } = this.#lease;
    return last.sentAt + durationSeconds * 1_000 + this.#lagMs + marginMs(durationSeconds) + graceSeconds * 1_000;
  }
}

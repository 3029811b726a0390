// Leader election by a Lease. The holder's right ends by the clock, before anyone else may take the lease, whatever keeps this
// process from noticing: a lost connection, a blocked event loop, SIGSTOP. Writes ask right before they are sent (see fence.ts).
// What was sent before may still be on its way: such a write is given up before the lease can be taken, and carries preconditions.
import type { Logger } from 'pino';
import type { Lease } from '../api/core.ts';
import { LEASES } from '../api/resource-types.ts';
import { isGone } from '../process/incarnation.ts';
import { messageOf } from '../process/errors.ts';
import { leaseMetric } from '../process/metrics.ts';
import { isAlreadyExists, isConflict, isNotFound } from './api-error.ts';
import { forwardAbort } from './abort.ts';
import { delay } from './backoff.ts';
import type { ClusterClient } from './cluster-client.ts';
import type { Fence } from './fence.ts';
import { CLOCKS, deadlineIn, earlier, freeIn, LEASE_TIMINGS, mayTake, msUntil, observeLease, type Clocks, type Deadline, type LeaseTimings, type ObservedLease } from './lease-record.ts';
import { RenewalPace } from './renewal-pace.ts';

/** Which lease, and who wants it. */
export interface ElectionOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly name: string;
  /** Names this run of this process; no two replicas may have the same. From `ownIncarnation`. */
  readonly identity: string;
  /** Labels of the Lease. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly logger: Logger;
  /** An election that is to be won first. This lease is watched meanwhile, so that it can be taken right after that one. */
  readonly after?: LeaderElection | undefined;
  readonly timings?: LeaseTimings;
  readonly clocks?: Clocks;
  /** Whether a holder of this name certainly no longer runs, so that its lease is free. */
  readonly isHolderGone?: (identity: string) => boolean;
}

/** Hears of changes. */
export interface ElectionListener {
  /** The lease is ours; told again when it was lost and is ours once more. */
  readonly leading?: () => void;
  /** Another one holds a lease that was ours. */
  readonly lostTo?: (holder: string) => void;
}

/** A right as it was asked for: when, for how long others are to respect it (in ms), and until when the holder acts and owns the lease. */
interface AskedRight {
  readonly begunAt: number;
  readonly leaseMs: number;
  readonly actUntil: Deadline;
  readonly ownUntil: Deadline;
}

/** By how much sooner a holder tries again than others. */
const HURRY = 8;
/** So long after a lease has run out it is asked for, in ms: never before, never in a busy loop. */
const MARGIN_MS = 20;

/** One candidate for one lease. */
export class LeaderElection implements Fence {
  readonly name: string;
  readonly #options: Required<Omit<ElectionOptions, 'labels' | 'after'>> & Pick<ElectionOptions, 'labels' | 'after'>;
  readonly #client: ClusterClient;
  readonly #patientClient: ClusterClient;
  readonly #pace: RenewalPace;
  /** Of a replica that does not hold the lease the last step failed, having waited for no longer than a quick one. */
  #wasHasty = false;
  readonly #listeners: ElectionListener[] = [];
  #observed: ObservedLease | undefined;
  #wasLeading = false;
  #actUntil: Deadline | undefined;
  #ownUntil: Deadline | undefined;
  #nap = new AbortController();

  constructor(options: ElectionOptions) {
    this.name = options.name;
    this.#options = { timings: LEASE_TIMINGS, clocks: CLOCKS, isHolderGone: isGone, ...options };
    leaseMetric(options.name, () => this.holds());
    const { callMs, renewWithinMs } = this.#options.timings;
    this.#pace = new RenewalPace(this.#options.timings);
    this.#client = options.client.urgent(callMs);
    this.#patientClient = options.client.urgent(renewWithinMs);
    options.after?.listen({ leading: () => this.#nap.abort() });
  }

  /** Adds a listener; call before {@link run}. */
  listen(listener: ElectionListener): void {
    this.#listeners.push(listener);
  }

  /** Whether this process may act now. */
  holds(): boolean {
    return this.#msToAct() > 0;
  }

  /** How long it is at least until another one may take the lease, in ms: never more than what is left when the next renewal asks for a usual lease. */
  msLeft(): number {
    if (this.#ownUntil === undefined || !this.holds()) return 0;
    return Math.min(msUntil(this.#ownUntil, this.#options.clocks), this.#options.timings.leaseMs);
  }

  #msToAct(): number {
    return this.#actUntil === undefined ? 0 : msUntil(this.#actUntil, this.#options.clocks);
  }

  /** Campaigns and renews until `signal` is aborted, then gives the lease back. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    while (!signal.aborted) {
      this.#nap = new AbortController();
      const begunAt = this.#options.clocks.monotonic();
      const outcome = await this.#step(signal).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ lease: this.name, error: messageOf(error) }, 'the lease could not be asked for');
        return 'failed' as const;
      });
      if (outcome === 'failed') this.#pace.failed(this.#options.clocks.monotonic());
      this.#wasHasty = outcome === 'failed' && !this.#wasHasty;
      const forget = forwardAbort([signal], this.#nap);
      await delay(this.#waitAfter(outcome, begunAt), this.#nap.signal);
      forget();
    }
    await this.#release();
  }

  #waitAfter(outcome: 'held' | 'followed' | 'failed', begunAt: number): number {
    const { timings: { renewEveryMs, retryMs }, clocks } = this.#options;
    // The right counts from when it was asked for: on a slow server the time that the answer took is none of the pause.
    if (outcome === 'held') return Math.max(begunAt + renewEveryMs - clocks.monotonic(), retryMs / HURRY);
    const observed = this.#observed;
    // Who waits for a holder that may be dead asks again as soon as its lease has run out, not a whole turn later.
    if (outcome === 'followed' && observed !== undefined && this.#isOurTurn()) return Math.min(retryMs * (1 + 0.2 * Math.random()), freeIn(observed, this.#options.clocks.monotonic()) + MARGIN_MS);
    // Of a right that still holds one renewal has failed: there is time for another one, if it is quick.
    return (outcome === 'failed' && this.holds() ? retryMs / HURRY : retryMs) * (1 + 0.2 * Math.random());
  }

  async #step(signal: AbortSignal): Promise<'held' | 'followed'> {
    if (this.#observed === undefined) {
      if (this.#isOurTurn() && (await this.#create(signal))) return 'held';
      await this.#read(signal);
    }
    if (!this.#mayTake()) await this.#read(signal);
    if (!this.#mayTake()) return 'followed';
    const outcome = await this.#take(signal);
    return outcome;
  }

  #isOurTurn(): boolean {
    return this.#options.after?.holds() ?? true;
  }

  #mayTake(): boolean {
    const { identity, clocks, isHolderGone } = this.#options;
    const observed = this.#observed;
    if (observed?.holder !== identity && !this.#isOurTurn()) return false;
    return observed !== undefined && (mayTake(observed, identity, clocks.monotonic()) || isHolderGone(observed.holder));
  }

  /**
   * Who stands by looks often, and who has the right gives a call up while there is time for another one. A holder that has lost its right, has
   * more of it than a patient call takes, or knows the server to be slow, waits for as long as the answer is worth anything; so does every second
   * try of who stands by: on a server that slow nobody else would ever lead.
   */
  #caller(): ClusterClient {
    const isOurs = this.#observed?.holder === this.#options.identity;
    const hasTime = this.#msToAct() > this.#options.timings.renewWithinMs;
    const isPatient = isOurs ? this.#pace.isSlow || !this.holds() || hasTime : this.#wasHasty;
    return isPatient ? this.#patientClient : this.#client;
  }

  /** The usual first step: there is no lease, and one call is enough. */
  async #create(signal: AbortSignal): Promise<boolean> {
    const { namespace, name, labels } = this.#options;
    const since = this.#begin();
    const made: Lease = { metadata: { namespace, name, ...(labels && { labels }) }, spec: this.#spec(since.leaseMs, 0, true) };
    const lease = await this.#caller().create(LEASES, made, signal).catch(unless(isAlreadyExists));
    if (lease !== undefined) this.#hold(lease, since);
    return lease !== undefined;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { namespace, name, identity, clocks } = this.#options;
    const lease = await this.#caller().get(LEASES, { namespace, name }, signal).catch(unless(isNotFound));
    this.#observed = lease === undefined ? undefined : observeLease(lease, this.#observed, clocks.monotonic());
    const holder = this.#observed?.holder ?? '';
    if (!this.#wasLeading || holder === identity || holder === '') return;
    this.#wasLeading = false;
    this.#actUntil = undefined;
    for (const listener of this.#listeners) listener.lostTo?.(holder);
  }

  /** Takes or renews this very version of the lease; a renewal whose answer was lost has made another one, which is renewed in its turn. */
  async #take(signal: AbortSignal, isRepeated = false): Promise<'held' | 'followed'> {
    const { namespace, name, identity } = this.#options;
    const observed = this.#observed;
    if (observed === undefined) return 'followed';
    const since = this.#begin();
    const isRenewal = observed.holder === identity;
    const spec = this.#spec(since.leaseMs, observed.transitions + (isRenewal ? 0 : 1), !isRenewal);
    if (isRenewal) this.#shorten(since);
    const patch = { metadata: { resourceVersion: observed.resourceVersion }, spec };
    const lease = await this.#caller().patch(LEASES, { namespace, name }, { patchType: 'merge', patch }, signal).catch(unless((error) => isConflict(error) || isNotFound(error)));
    if (lease !== undefined) {
      this.#hold(lease, since);
      return 'held';
    }
    await this.#read(signal);
    return this.#observed?.holder === identity && !isRepeated ? this.#take(signal, true) : 'followed';
  }

  /** The right counts from before the request was sent, for others count from when they see its outcome. */
  #begin(): AskedRight {
    const { timings, clocks } = this.#options;
    const begunAt = clocks.monotonic();
    const leaseMs = this.#pace.leaseMs(begunAt);
    return { begunAt, leaseMs, actUntil: deadlineIn(leaseMs - timings.leaseMs + timings.renewWithinMs, clocks), ownUntil: deadlineIn(leaseMs, clocks) };
  }

  /** A renewal for a shorter time may be done though nobody hears its answer: from when it is sent the right ends no later than it says. */
  #shorten({ actUntil, ownUntil }: AskedRight): void {
    if (this.#actUntil !== undefined) this.#actUntil = earlier(this.#actUntil, actUntil);
    if (this.#ownUntil !== undefined) this.#ownUntil = earlier(this.#ownUntil, ownUntil);
  }

  #hold(lease: Lease, since: AskedRight): void {
    const now = this.#options.clocks.monotonic();
    this.#observed = observeLease(lease, this.#observed, now);
    this.#actUntil = since.actUntil;
    this.#ownUntil = since.ownUntil;
    this.#pace.answered(since.begunAt, now);
    if (this.#wasLeading) return;
    this.#wasLeading = true;
    this.#options.logger.info({ lease: this.name }, 'leading');
    for (const listener of this.#listeners) listener.leading?.();
  }

  #spec(leaseMs: number, leaseTransitions: number, isNew: boolean): NonNullable<Lease['spec']> {
    const { identity, clocks } = this.#options;
    const now = new Date(clocks.wall()).toISOString().replace('Z', '000Z'); // MicroTime
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.ceil(leaseMs / 1_000)),
      leaseTransitions,
      renewTime: now,
      ...(isNew && { acquireTime: now }),
    };
  }

  /** The next one need not wait. Only this very version is given back: it may be another's by now. */
  async #release(): Promise<void> {
    const { namespace, name, identity } = this.#options;
    const observed = this.#observed;
    this.#actUntil = undefined;
    if (observed?.holder !== identity) return;
    const patch = { metadata: { resourceVersion: observed.resourceVersion }, spec: { holderIdentity: '', leaseDurationSeconds: 1 } };
    await this.#client.patch(LEASES, { namespace, name }, { patchType: 'merge', patch }).catch(() => undefined); // then it runs out
  }
}

function unless(expected: (error: unknown) => boolean): (error: unknown) => undefined {
  return (error) => {
    if (expected(error)) return undefined;
    throw error;
  };
}

// Leader election by a Lease. The holder's right ends by the clock, before anyone else may take the lease, whatever keeps this
// process from noticing: a lost connection, a blocked event loop, SIGSTOP. Writes ask right before they are sent (see fence.ts).
// What was sent before may still be on its way: such a write is given up before the lease can be taken, and carries preconditions.
import type { Logger } from 'pino';
import type { Lease } from '../../api/objects/core.ts';
import { isGone } from '../../process/incarnation.ts';
import { messageOf } from '../../process/errors.ts';
import { leaseMetric } from '../../process/metrics.ts';
import { forwardAbort } from '../flow/abort.ts';
import { isForbidden } from '../flow/api-error.ts';
import { delay } from '../flow/backoff.ts';
import type { ClusterClient } from '../client/cluster-client.ts';
import type { Fence } from '../flow/fence.ts';
import { LeaseCalls } from './lease-calls.ts';
import { requestLease, CLOCKS, earlier, freeIn, LEASE_TIMINGS, mayTake, msUntil, observeLease, type RequestedLease, type Clocks, type Deadline, type LeaseTimings, type ObservedLease } from './lease-record.ts';
import { LeaseDuration } from './lease-duration.ts';

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
  /** Of all leases that are held together; its own when missing. */
  readonly pace?: LeaseDuration;
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

/** By how much sooner a holder tries again than others. */
const HURRY = 8;
/** So long after a lease has run out it is asked for, in ms: never before, never in a busy loop. */
const MARGIN_MS = 20;

/** One candidate for one lease. */
export class LeaderElection implements Fence {
  readonly name: string;
  readonly #options: Required<Omit<ElectionOptions, 'labels' | 'after' | 'pace'>> & Pick<ElectionOptions, 'labels' | 'after'>;
  readonly #calls: LeaseCalls;
  readonly #pace: LeaseDuration;
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
    this.#pace = options.pace ?? new LeaseDuration(this.#options.timings);
    this.#calls = new LeaseCalls(this.#options);
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
      if (outcome === 'failed' && this.#isOurs()) this.#pace.failed(this.#options.clocks.monotonic());
      this.#wasHasty = outcome === 'failed' && !this.#wasHasty;
      const forget = forwardAbort([signal], this.#nap);
      await delay(this.#waitAfter(outcome, begunAt), this.#nap.signal);
      forget();
    }
    await this.#release();
  }

  #waitAfter(outcome: 'held' | 'followed' | 'failed', begunAt: number): number {
    const { timings: { renewEveryMs, renewWithinMs, retryMs }, clocks } = this.#options;
    // The right counts from when it was asked for: on a slow server the time that the answer took is none of the pause.
    if (outcome === 'held') return Math.max(begunAt + renewEveryMs - clocks.monotonic(), retryMs / HURRY);
    const observed = this.#observed;
    // Who waits for a holder that may be dead asks again as soon as its lease has run out, not a whole turn later.
    if (outcome === 'followed' && observed !== undefined && this.#isOurTurn()) return Math.min(retryMs * (1 + 0.2 * Math.random()), freeIn(observed, this.#options.clocks.monotonic()) + MARGIN_MS);
    // Of a usual right that still holds one renewal has failed: there is time for another one, if it is quick.
    const isUrgent = outcome === 'failed' && this.holds() && this.#msToAct() <= renewWithinMs;
    return (isUrgent ? retryMs / HURRY : retryMs) * (1 + 0.2 * Math.random());
  }

  async #step(signal: AbortSignal): Promise<'held' | 'followed'> {
    if (this.#observed === undefined) {
      if (this.#isOurTurn() && (await this.#create(signal))) return 'held';
      await this.#read(signal);
    }
    if (!this.#mayTake()) await this.#read(signal);
    if (!this.#mayTake()) return 'followed';
    return this.#take(signal);
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

  #isOurs(): boolean {
    return this.#observed?.holder === this.#options.identity;
  }

  /**
   * How long to wait for an answer, in ms. Who stands by looks often, and waits for as long as a usual right lasts every second time: on a server that
   * slow nobody else would ever lead. Who has the right gives a call up while there is time for another one; when there is none any more, or the
   * server is known to be slow, waits for as long as the answer is worth anything.
   */
  #timeoutMs(): number {
    const { callMs, renewWithinMs } = this.#options.timings;
    if (!this.#isOurs()) return this.#wasHasty ? renewWithinMs : callMs;
    const left = this.#msToAct();
    return this.#pace.isSlow || left < callMs ? Math.max(left, renewWithinMs) : Math.max(callMs, left / 2);
  }

  /** The usual first step: there is no lease, and one call is enough. */
  async #create(signal: AbortSignal): Promise<boolean> {
    const asked = this.#ask();
    const lease = await this.#calls.create(asked, this.#timeoutMs(), signal);
    if (lease !== undefined) this.#hold(lease, asked);
    return lease !== undefined;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { identity, clocks } = this.#options;
    const lease = await this.#calls.read(this.#timeoutMs(), signal);
    this.#observed = lease === undefined ? undefined : observeLease(lease, this.#observed, clocks.monotonic());
    const holder = this.#observed?.holder ?? '';
    if (holder !== identity) this.#actUntil = undefined; // also when somebody took the lease away by hand
    if (!this.#wasLeading || holder === identity || holder === '') return;
    this.#wasLeading = false;
    for (const listener of this.#listeners) listener.lostTo?.(holder);
  }

  /** A renewal whose answer was lost has made another version of the lease, which is renewed in its turn. */
  async #take(signal: AbortSignal, isRepeated = false): Promise<'held' | 'followed'> {
    const observed = this.#observed;
    if (observed === undefined) return 'followed';
    const asked = this.#ask();
    const lease = await this.#calls.take(observed, asked, this.#timeoutMs(), signal).catch((error: unknown) => {
      if (isForbidden(error)) this.#shorten(this.#usual());
      throw error;
    });
    if (lease !== undefined) {
      this.#hold(lease, asked);
      return 'held';
    }
    await this.#read(signal);
    return this.#isOurs() && !isRepeated ? this.#take(signal, true) : 'followed';
  }

  /** Asked for now. A write for a shorter time may be done though nobody hears its answer: from now on the right ends no later than it says. */
  #ask(): RequestedLease {
    const { timings, clocks } = this.#options;
    const asked = requestLease(this.#pace.leaseMs(clocks.monotonic()), timings, clocks);
    this.#shorten(asked);
    return asked;
  }

  /** What is left at most to a holder who may not renew its lease any more, however long a one it has. */
  #usual(): RequestedLease {
    const { timings, clocks } = this.#options;
    return requestLease(timings.leaseMs, timings, clocks);
  }

  #shorten({ actUntil, ownUntil }: RequestedLease): void {
    if (this.#actUntil !== undefined) this.#actUntil = earlier(this.#actUntil, actUntil);
    if (this.#ownUntil !== undefined) this.#ownUntil = earlier(this.#ownUntil, ownUntil);
  }

  #hold(lease: Lease, { begunAt, actUntil, ownUntil }: RequestedLease): void {
    const now = this.#options.clocks.monotonic();
    this.#observed = observeLease(lease, this.#observed, now);
    this.#actUntil = actUntil;
    this.#ownUntil = ownUntil;
    this.#pace.answered(begunAt, now);
    if (this.#wasLeading) return;
    this.#wasLeading = true;
    this.#options.logger.info({ lease: this.name }, 'leading');
    for (const listener of this.#listeners) listener.leading?.();
  }

  async #release(): Promise<void> {
    this.#actUntil = undefined;
    if (this.#observed !== undefined && this.#isOurs()) await this.#calls.giveBack(this.#observed, 2 * this.#options.timings.callMs);
  }
}

// Leader election by a Lease. The leader stops acting by its own clock before another process may take the Lease,
// whatever keeps it from noticing: a lost connection, a blocked event loop, SIGSTOP. Writes check the fence right
// before they are sent (see fence.ts). A write already on its way is abandoned before the Lease can be taken, and
// carries preconditions.
import type { Logger } from 'pino';
import type { Lease } from '../../api/objects/core.ts';
import { isInstanceGone } from '../../process/instance-id.ts';
import { messageOf } from '../../process/errors.ts';
import { leaseMetric } from '../../process/metrics.ts';
import { forwardAbort } from '../flow/abort.ts';
import { isForbidden } from '../flow/api-error.ts';
import { delay } from '../flow/backoff.ts';
import type { ClusterClient } from '../client/cluster-client.ts';
import type { Fence } from '../flow/fence.ts';
import { LeaseCalls } from './lease-calls.ts';
import {
  requestLease, CLOCKS, earlier, freeIn, LEASE_TIMINGS, mayTake, msUntil, observeLease, type RequestedLease,
  type Clocks, type Deadline, type LeaseTimings, type ObservedLease,
} from './lease-record.ts';
import { LeaseDuration } from './lease-duration.ts';

/** Which Lease, and which candidate. */
export interface ElectionOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly name: string;
  /** Holder identity of this run of this process; unique among replicas. From `ownInstanceId`. */
  readonly identity: string;
  /** Labels of the Lease. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly logger: Logger;
  /**
   * An election that must be won first. Meanwhile this Lease is watched, so that it can be taken right after that one.
   */
  readonly after?: LeaderElection | undefined;
  readonly timings?: LeaseTimings;
  /** Lease duration shared by all Leases that are held together; its own when missing. */
  readonly pace?: LeaseDuration;
  readonly clocks?: Clocks;
  /** Whether the holder of this identity certainly no longer runs, so that its Lease is free. */
  readonly isHolderGone?: (identity: string) => boolean;
}

/** Notified of changes. */
export interface ElectionListener {
  /** Acquired the Lease; called again each time that it is acquired after a loss. */
  readonly leading?: () => void;
  /** Lost the Lease to another holder. */
  readonly lostTo?: (holder: string) => void;
}

/** By how much sooner a leader retries than other candidates. */
const URGENT_DIVISOR = 8;
/** Delay after a Lease has expired until it is taken, in ms: never too early, never in a busy loop. */
const MARGIN_MS = 20;

/** One candidate for one Lease. */
export class LeaderElection implements Fence {
  readonly name: string;
  readonly #options: Required<Omit<ElectionOptions, 'labels' | 'after' | 'pace'>>
    & Pick<ElectionOptions, 'labels' | 'after'>;
  readonly #calls: LeaseCalls;
  readonly #pace: LeaseDuration;
  /** Set on a standby whose last request failed although its timeout was a short one. */
  #wasHasty = false;
  readonly #listeners: ElectionListener[] = [];
  #observed: ObservedLease | undefined;
  #wasLeading = false;
  #actUntil: Deadline | undefined;
  #ownUntil: Deadline | undefined;
  #nap = new AbortController();

  constructor(options: ElectionOptions) {
    this.name = options.name;
    this.#options = { timings: LEASE_TIMINGS, clocks: CLOCKS, isHolderGone: isInstanceGone, ...options };
    leaseMetric(options.name, () => this.holds());
    this.#pace = options.pace ?? new LeaseDuration(this.#options.timings);
    this.#calls = new LeaseCalls(this.#options);
    options.after?.listen({ leading: () => this.#nap.abort() });
  }

  /** Adds a listener; call before {@link run}. */
  listen(listener: ElectionListener): void {
    this.#listeners.push(listener);
  }

  /** Whether this process is leader now. */
  holds(): boolean {
    return this.#msToAct() > 0;
  }

  /**
   * Least time until another candidate may take the Lease, in ms; never more than what is left when the next renewal
   * asks for a Lease of the usual duration.
   */
  msLeft(): number {
    if (this.#ownUntil === undefined || !this.holds()) return 0;
    return Math.min(msUntil(this.#ownUntil, this.#options.clocks), this.#options.timings.leaseMs);
  }

  #msToAct(): number {
    return this.#actUntil === undefined ? 0 : msUntil(this.#actUntil, this.#options.clocks);
  }

  /** Campaigns and renews until `signal` is aborted, then releases the Lease. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    while (!signal.aborted) {
      this.#nap = new AbortController();
      const begunAt = this.#options.clocks.monotonic();
      const outcome = await this.#step(signal).catch((error: unknown) => {
        if (!signal.aborted) {
          logger.warn({ lease: this.name, error: messageOf(error) }, 'the lease could not be read');
        }
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
    // The lease counts from when the request was sent: the response time of a slow server is not added to the pause.
    if (outcome === 'held') return Math.max(begunAt + renewEveryMs - clocks.monotonic(), retryMs / URGENT_DIVISOR);
    const observed = this.#observed;
    // A standby tries again as soon as the Lease of a possibly dead leader expires, not a full interval later.
    if (outcome === 'followed' && observed !== undefined && this.#isOurTurn()) return Math.min(
      retryMs * (1 + 0.2 * Math.random()), freeIn(observed, this.#options.clocks.monotonic()) + MARGIN_MS,
    );
    // One renewal has failed while a Lease of the usual duration still holds: there is time for a quick retry.
    const isUrgent = outcome === 'failed' && this.holds() && this.#msToAct() <= renewWithinMs;
    return (isUrgent ? retryMs / URGENT_DIVISOR : retryMs) * (1 + 0.2 * Math.random());
  }

  async #step(signal: AbortSignal): Promise<'held' | 'followed'> {
    if (this.#observed === undefined) {
      if (this.#isOurTurn() && (await this.#create(signal))) return 'held';
      await this.#read(signal);
    }
    if (!this.#mayTake()) await this.#look(signal);
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
   * Request timeout in ms. A standby polls often, and every second time waits for as long as a usual Lease lasts:
   * otherwise no process could ever lead on a very slow server. A leader times out early while there is time for a
   * retry; when there is none, or the server is known to be slow, it waits for as long as the response is of use.
   */
  #timeoutMs(): number {
    const { callMs, renewWithinMs } = this.#options.timings;
    if (!this.#isOurs()) return this.#wasHasty ? renewWithinMs : callMs;
    const left = this.#msToAct();
    return this.#pace.isSlow || left < callMs ? Math.max(left, renewWithinMs) : Math.max(callMs, left / 2);
  }

  /** The usual first step: no Lease exists, and one call suffices. */
  async #create(signal: AbortSignal): Promise<boolean> {
    const asked = this.#ask();
    const lease = await this.#calls.create(asked, this.#timeoutMs(), signal);
    if (lease !== undefined) this.#hold(lease, asked);
    return lease !== undefined;
  }

  /** A look that is not answered must not outlast the Lease of a dead leader: taking it says whether it is dead. */
  async #look(signal: AbortSignal): Promise<void> {
    const freeMs = this.#observed === undefined ? 0 : freeIn(this.#observed, this.#options.clocks.monotonic());
    const timeoutMs = freeMs === 0 ? this.#timeoutMs() : Math.min(this.#timeoutMs(), freeMs + MARGIN_MS);
    await this.#read(signal, timeoutMs).catch((error: unknown) => {
      if (!this.#mayTake()) throw error;
    });
  }

  async #read(signal: AbortSignal, timeoutMs = this.#timeoutMs()): Promise<void> {
    const { identity, clocks } = this.#options;
    const lease = await this.#calls.read(timeoutMs, signal);
    this.#observed = lease === undefined ? undefined : observeLease(lease, this.#observed, clocks.monotonic());
    const holder = this.#observed?.holder ?? '';
    if (holder !== identity) this.#actUntil = undefined; // also when somebody changed the Lease by hand
    if (!this.#wasLeading || holder === identity || holder === '') return;
    this.#wasLeading = false;
    for (const listener of this.#listeners) listener.lostTo?.(holder);
  }

  /** A renewal whose response was lost has changed the resourceVersion; renew that version. */
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

  /**
   * Requests a Lease from now. A write of a shorter duration may succeed unnoticed: from now on this process leads no
   * longer than that.
   */
  #ask(): RequestedLease {
    const { timings, clocks } = this.#options;
    const asked = requestLease(this.#pace.leaseMs(clocks.monotonic()), timings, clocks);
    this.#shorten(asked);
    return asked;
  }

  /** Upper bound of the time left to a leader that may no longer renew, however long its Lease lasts. */
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
    if (this.#observed !== undefined && this.#isOurs()) {
      await this.#calls.giveBack(this.#observed, 2 * this.#options.timings.callMs);
    }
  }
}

// Leader election of several replicas against one lease store, in virtual time.
import { mock } from 'node:test';
import type { Lease } from '../../../api/objects/core.ts';
import { LeaderElection } from '../../../kubernetes/lease/leader-election.ts';
import type { LeaseDuration } from '../../../kubernetes/lease/lease-duration.ts';
import { LEASE_TIMINGS } from '../../../kubernetes/lease/lease-record.ts';
import { LeaseStore, type CallFate } from './lease-store.ts';
import { SILENT } from './scripted-api-server.ts';

/** A call of ten milliseconds. */
export const QUICK: CallFate = { thereMs: 5, backMs: 5 };

interface ReplicaShape {
  readonly clockOffset?: number;
  /** Of the lease. */
  readonly name?: string;
  readonly after?: LeaderElection;
  readonly pace?: LeaseDuration;
}

/** Elections in virtual time; all replicas have clocks of their own, which run alike and show what they like. */
export class VirtualElections {
  readonly store = new LeaseStore();
  readonly told: string[] = [];
  timings = LEASE_TIMINGS;
  now = 0;
  readonly #ends: (() => Promise<void>)[] = [];

  /** Starts a replica; `fate` is asked for each of its calls. */
  replica(
    identity: string, fate: (written?: Lease) => CallFate = () => QUICK,
    { clockOffset = 0, name = 'lease', after, pace }: ReplicaShape = {},
  ): { readonly election: LeaderElection; stop(): Promise<void> } {
    const election = new LeaderElection({
      client: this.store.client(identity, fate), namespace: 'ns',
      name, identity, after, ...(pace && { pace }), timings: this.timings, logger: SILENT, isHolderGone: () => false,
      clocks: { monotonic: () => this.now + clockOffset, wall: () => this.now + 3 * clockOffset },
    });
    election.listen({
      leading: () => this.told.push(`${identity} leads`),
      lostTo: (holder) => this.told.push(`${identity} lost to ${holder}`),
    });
    const stopped = new AbortController();
    const running = election.run(stopped.signal);
    const stop = async () => {
      stopped.abort();
      await this.pass(2 * LEASE_TIMINGS.renewWithinMs); // no call lasts longer, whatever the test did to it
      await running;
    };
    this.#ends.push(stop);
    return { election, stop };
  }

  /** Lets time pass in steps of `stepMs`; `look` is called after each. */
  async pass(ms: number, look: () => void = () => undefined, stepMs = 50): Promise<void> {
    for (const end = this.now + ms; this.now < end; ) {
      const step = Math.min(stepMs, end - this.now);
      this.now += step;
      mock.timers.tick(step);
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
      look();
    }
  }

  async end(): Promise<void> {
    for (const end of this.#ends) await end();
  }
}

// Shards keys over Leases: each shard has a Lease, and a replica reconciles the keys of the shards whose Leases it
// holds. Each member announces itself by a Lease; all members compute the same assignment of shards from the live
// members.
import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Lease } from '../../api/objects/core.ts';
import { delay } from '../flow/backoff.ts';
import type { ClusterClient } from '../client/cluster-client.ts';
import type { Fence } from '../flow/fence.ts';
import { Informer } from '../watch/informer.ts';
import { LeaderElection } from '../lease/leader-election.ts';
import { CLOCKS, LEASE_TIMINGS, type Clocks, type LeaseTimings } from '../lease/lease-record.ts';
import { LEASES } from '../../api/resource-types.ts';

/** Label of the members' Leases; its value is the name of the group. */
export const SHARD_MEMBER_LABEL = 'isthmus.dev/shard-member-of';

/** The shard of a key, from 0 to `shards` - 1; the same in every replica and release. */
export function shardOf(key: string, shards: number): number {
  return weight(key) % shards;
}

/**
 * Assigns shards to members by rendezvous hashing: a member that joins or leaves moves no other shards, and members get
 * about equally many. Empty when there are no members.
 */
export function assignShards(members: readonly string[], shards: number): readonly string[] {
  return Array.from({ length: shards }, (_, shard) => {
    const ranked = members.map((member) => ({ member, rank: weight(`${shard} ${member}`) }))
      .toSorted((a, b) => b.rank - a.rank || (a.member < b.member ? -1 : 1));
    return ranked[0]?.member ?? '';
  });
}

function weight(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}

/** A member's Lease: its identity and last renewal by its own clock. Undefined when the Lease is gone. */
export type MemberLease = { readonly identity: string; readonly renewTime: string } | undefined;

/** Reports each member's Lease by name until `signal` aborts. */
export type FollowMembers = (told: (name: string, lease: MemberLease) => void, signal: AbortSignal) => Promise<void>;

/** The group of replicas and this replica's identity. */
export interface ShardOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  /** Name of the group; Leases are called `<group>-<shard>` and `<group>-member-<hash>`. */
  readonly group: string;
  readonly identity: string;
  /** Number of shards; the same in all replicas of a group. */
  readonly shards: number;
  readonly logger: Logger;
  readonly timings?: LeaseTimings;
  readonly clocks?: Clocks;
  /** How members are discovered; by a watch of their Leases when missing. */
  readonly follow?: FollowMembers;
}

/** A shard that this replica campaigns for. */
interface Campaign {
  readonly election: LeaderElection;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** The shards of this replica. */
export class Shards {
  readonly #options: ShardOptions & { readonly timings: LeaseTimings; readonly clocks: Clocks };
  readonly #campaigns = new Map<number, Campaign>();
  /** Shards being handed over: no new work starts, and the Lease is held until running work has ended. */
  readonly #leaving = new Map<number, Promise<void>>();
  readonly #running = new Map<number, Set<Promise<unknown>>>();
  readonly #seen = new Map<string, { readonly identity: string; readonly renewTime: string; readonly at: number }>();
  readonly #listeners: ((shard: number) => void)[] = [];
  #isEnding = false;

  constructor(options: ShardOptions) {
    this.#options = { timings: LEASE_TIMINGS, clocks: CLOCKS, ...options };
  }

  /** Adds a listener for acquired shards, whose keys must all be reconciled. */
  onGained(listener: (shard: number) => void): void {
    this.#listeners.push(listener);
  }

  /** The shard of a key. */
  shardOf(key: string): number {
    return shardOf(key, this.#options.shards);
  }

  /** The fence for a key: it holds while this replica holds the shard's Lease, also during hand-over. */
  fenceOf(key: string): Fence {
    const held = () => this.#campaigns.get(this.shardOf(key))?.election;
    return { holds: () => held()?.holds() ?? false, msLeft: () => held()?.msLeft() ?? 0 };
  }

  /** Whether this replica may start work on a key now. */
  owns(key: string): boolean {
    return !this.#leaving.has(this.shardOf(key)) && this.fenceOf(key).holds();
  }

  /** Whether a key's shard is assigned to this replica, although its Lease may not be held at the moment. */
  campaignsFor(key: string): boolean {
    return this.#campaigns.has(this.shardOf(key));
  }

  /** Shards held now. */
  get held(): number[] {
    return [...this.#campaigns].filter(([, { election }]) => election.holds()).map(([shard]) => shard);
  }

  /**
   * Runs the work of a key if this replica holds its shard; undefined otherwise. The shard is handed over only after
   * the work has ended, so all writes belong inside. Throws what the work throws.
   */
  async whileOwned<R>(key: string, work: (fence: Fence) => Promise<R>): Promise<R | undefined> {
    if (!this.owns(key)) return undefined;
    const shard = this.shardOf(key);
    const running = this.#running.get(shard) ?? new Set();
    this.#running.set(shard, running);
    const run = work(this.fenceOf(key));
    running.add(run);
    try {
      return await run;
    } finally {
      running.delete(run);
    }
  }

  /** Announces this replica and acquires its shards until `signal` aborts; then releases all. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, namespace, group, identity, logger, timings, clocks, follow = watchedMembers(this.#options) } =
      this.#options;
    const told = (name: string, lease: MemberLease): void => {
      if (lease === undefined || lease.identity === '') this.#seen.delete(name);
      else this.#seen.set(name, { ...lease, at: clocks.monotonic() });
      this.#rebalance();
    };
    const name = `${group}-member-${createHash('sha256').update(identity).digest('hex').slice(0, 12)}`;
    const membership = new LeaderElection(
      { client, namespace, name, identity, logger, timings, clocks, labels: { [SHARD_MEMBER_LABEL]: group } },
    );
    await Promise.all([follow(told, signal), membership.run(signal), this.#rebalanceUntil(signal)]);
    this.#isEnding = true;
    await Promise.all([...this.#campaigns.keys()].map((shard) => this.#leave(shard)));
  }

  /** No event reports a member whose Lease expired. */
  async #rebalanceUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await delay(this.#options.timings.retryMs, signal);
      this.#rebalance();
    }
  }

  #rebalance(): void {
    const { shards, identity, timings, clocks } = this.#options;
    if (this.#isEnding) return;
    const now = clocks.monotonic();
    const alive = [...this.#seen.values()].filter(({ at }) => now - at < timings.leaseMs)
      .map((member) => member.identity);
    for (const [shard, member] of assignShards(alive, shards).entries()) {
      const campaigns = this.#campaigns.has(shard);
      if (member === identity && !campaigns) this.#campaign(shard);
      else if (member !== identity && campaigns) void this.#leave(shard);
    }
  }

  #campaign(shard: number): void {
    const { client, namespace, group, identity, logger, timings, clocks } = this.#options;
    const stop = new AbortController();
    const election =
      new LeaderElection({ client, namespace, name: `${group}-${shard}`, identity, logger, timings, clocks });
    election.listen({
      leading: () => {
        for (const listener of this.#listeners) listener(shard);
      },
    });
    this.#campaigns.set(shard, { election, stop, ended: election.run(stop.signal) });
  }

  /** Stops new work on the shard, waits for running work, then releases the Lease. */
  #leave(shard: number): Promise<void> {
    const leaving = this.#leaving.get(shard) ?? this.#handOver(shard).finally(() => this.#leaving.delete(shard));
    this.#leaving.set(shard, leaving);
    return leaving;
  }

  async #handOver(shard: number): Promise<void> {
    const running: Iterable<Promise<unknown>> = this.#running.get(shard) ?? [];
    await Promise.allSettled(running);
    const campaign = this.#campaigns.get(shard);
    campaign?.stop.abort();
    await campaign?.ended;
    this.#campaigns.delete(shard);
  }
}

/** Discovers members by a watch of their Leases. */
function watchedMembers({ client, namespace, group, logger }: ShardOptions): FollowMembers {
  return async (told, signal) => {
    const members = new Informer<Lease, NonNullable<MemberLease>>({
      client, logger, type: LEASES,
      selection: { namespace, labelSelector: `${SHARD_MEMBER_LABEL}=${group}` },
      project: ({ spec }) => ({ identity: spec?.holderIdentity ?? '', renewTime: spec?.renewTime ?? '' }),
    });
    members.onChange((name, _before, after) => told(name, after));
    await members.run(signal);
  };
}

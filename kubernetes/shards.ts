// Sharding of keys over Leases: every shard has a Lease, and a replica works on the keys of the shards whose Leases it holds.
// Members announce themselves by a Lease each; from who is alive follows, for all alike, who should hold which shard.
import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Lease } from '../api/core.ts';
import { onAbort } from './abort.ts';
import type { ClusterClient } from './cluster-client.ts';
import type { Fence } from './fence.ts';
import { Informer } from './informer.ts';
import { LeaderElection } from './leader-election.ts';
import { LEASE_TIMINGS, type LeaseTimings } from './lease-record.ts';
import { LEASES } from '../api/resource-types.ts';

/** Label of the Leases by which replicas announce themselves; its value is the name of the group. */
export const SHARD_MEMBER_LABEL = 'isthmus.dev/shard-member-of';

/** The shard of a key, from 0 to `shards` - 1; the same for every replica and every release. */
export function shardOf(key: string, shards: number): number {
  return weight(key) % shards;
}

/**
 * Which member should hold each shard (rendezvous hashing): a member that comes or goes moves no shard but its own, and each
 * member gets about as many. Empty text where there is no member.
 */
export function assignShards(members: readonly string[], shards: number): readonly string[] {
  return Array.from({ length: shards }, (_, shard) => {
    const ranked = members.map((member) => ({ member, rank: weight(`${shard} ${member}`) })).toSorted((a, b) => b.rank - a.rank || (a.member < b.member ? -1 : 1));
    return ranked[0]?.member ?? '';
  });
}

function weight(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}

/** Which group of replicas, and who this one is. */
export interface ShardOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  /** Name of the group; Leases are called `<group>-<shard>` and `<group>-member-<hash>`. */
  readonly group: string;
  readonly identity: string;
  readonly shards: number;
  readonly logger: Logger;
  readonly timings?: LeaseTimings;
  /** A shard is ours from now on: its keys must all be looked at. */
  readonly onGained?: (shard: number) => void;
}

/** The shards of this replica. */
export class Shards {
  readonly #options: ShardOptions;
  readonly #elections = new Map<number, { readonly election: LeaderElection; readonly stop: AbortController; readonly ended: Promise<void> }>();
  readonly #seen = new Map<string, { readonly identity: string; readonly renewTime: string; readonly at: number }>();

  constructor(options: ShardOptions) {
    this.#options = options;
  }

  /** The right to write for a key: it holds while its shard's Lease is ours. */
  fenceOf(key: string): Fence {
    const held = () => this.#elections.get(shardOf(key, this.#options.shards))?.election;
    return { holds: () => held()?.holds() ?? false, msLeft: () => held()?.msLeft() ?? 0 };
  }

  /** Whether a key is this replica's to work on now. */
  owns(key: string): boolean {
    return this.fenceOf(key).holds();
  }

  /** Shards that are held now. */
  get held(): number[] {
    return [...this.#elections].filter(([, { election }]) => election.holds()).map(([shard]) => shard);
  }

  /** Announces this replica and takes its shares until `signal` aborts; then gives all back. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, namespace, group, identity, logger, timings = LEASE_TIMINGS } = this.#options;
    const members = new Informer<Lease, { readonly identity: string; readonly renewTime: string }>({
      client, logger, type: LEASES,
      selection: { namespace, labelSelector: `${SHARD_MEMBER_LABEL}=${group}` },
      project: ({ spec }) => ({ identity: spec?.holderIdentity ?? '', renewTime: spec?.renewTime ?? '' }),
    });
    members.onChange((key, _before, after) => {
      if (after === undefined || after.identity === '') this.#seen.delete(key);
      else this.#seen.set(key, { ...after, at: performance.now() });
      this.#rebalance();
    });
    const name = `${group}-member-${createHash('sha256').update(identity).digest('hex').slice(0, 12)}`;
    const membership = new LeaderElection({ client, namespace, name, identity, logger, timings, labels: { [SHARD_MEMBER_LABEL]: group } });
    const timer = setInterval(() => this.#rebalance(), timings.retryMs);
    onAbort(signal, () => clearInterval(timer));
    await Promise.all([members.run(signal), membership.run(signal)]);
    await Promise.all([...this.#elections.keys()].map((shard) => this.#leave(shard)));
  }

  #rebalance(): void {
    const { shards, identity, timings = LEASE_TIMINGS } = this.#options;
    const now = performance.now();
    const alive = [...this.#seen.values()].filter(({ at }) => now - at < timings.leaseMs).map((member) => member.identity);
    const wanted = assignShards(alive, shards);
    for (const [shard, member] of wanted.entries()) {
      const campaigns = this.#elections.has(shard);
      if (member === identity && !campaigns) this.#campaign(shard);
      else if (member !== identity && campaigns) void this.#leave(shard);
    }
  }

  #campaign(shard: number): void {
    const { client, namespace, group, identity, logger, timings = LEASE_TIMINGS, onGained } = this.#options;
    const stop = new AbortController();
    const election = new LeaderElection({ client, namespace, name: `${group}-${shard}`, identity, logger, timings });
    election.listen({ leading: () => onGained?.(shard) });
    this.#elections.set(shard, { election, stop, ended: election.run(stop.signal) });
  }

  async #leave(shard: number): Promise<void> {
    const campaign = this.#elections.get(shard);
    this.#elections.delete(shard);
    campaign?.stop.abort();
    await campaign?.ended;
  }
}

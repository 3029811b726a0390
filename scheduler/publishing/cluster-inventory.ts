// The ClusterProfiles and PlacementDecisions in the namespaces where targets are published, followed as they are
// served: where a kind is not, nothing is known and nothing is written.
import type { Logger } from 'pino';
import type { ClusterProfile, PlacementDecision } from '../../api/placement/cluster-inventory.ts';
import { CLUSTER_PROFILES, PLACEMENT_DECISIONS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { ownerOf } from './plan-profile.ts';

interface FollowedNamespace {
  readonly profiles: Informer<ClusterProfile, ClusterProfile>;
  readonly slices: Informer<PlacementDecision, PlacementDecision>;
}

/** What is published, by namespace. */
export class ClusterInventory {
  readonly #namespaces: ReadonlyMap<string, FollowedNamespace>;

  constructor(
    { source: client, logger }: { readonly source: ClusterClient; readonly logger: Logger },
    namespaces: readonly string[],
  ) {
    const inform = fullInformersOf({ client, logger });
    this.#namespaces = new Map(namespaces.map((namespace) => [
      namespace,
      { profiles: inform(CLUSTER_PROFILES, { namespace }), slices: inform(PLACEMENT_DECISIONS, { namespace }) },
    ]));
  }

  /** Whether targets are published nowhere. */
  get isEmpty(): boolean {
    return this.#namespaces.size === 0;
  }

  /** Namespaces where targets are published. */
  get namespaces(): Iterable<string> {
    return this.#namespaces.keys();
  }

  /** Follows them until `signal` is aborted. Add listeners before. */
  run(signal: AbortSignal): void {
    for (const { profiles, slices } of this.#namespaces.values()) {
      void profiles.run(signal);
      void slices.run(signal);
    }
  }

  /** Calls back with `namespace/name` of profiles that changed, and with the namespace once all are known. */
  onProfiles(changed: (key: string) => void, listed: (namespace: string) => void): void {
    for (const [namespace, { profiles }] of this.#namespaces) {
      profiles.onChange((key) => changed(key));
      profiles.onListed(() => {
        for (const key of profiles.keys()) changed(key); // those whose change came before all were known
        listed(namespace);
      });
    }
  }

  /** Calls back when what {@link profileNames} or {@link slicesIn} tell may have changed. */
  onChange(changed: () => void): void {
    for (const { profiles, slices } of this.#namespaces.values()) {
      for (const informer of [profiles, slices]) {
        informer.onChange(changed);
        informer.onListed(changed);
      }
    }
  }

  /** Whether the profiles of a namespace are known. */
  knowsProfiles(namespace: string): boolean {
    return this.#namespaces.get(namespace)?.profiles.hasSynced === true;
  }

  /** A profile by `namespace/name`. */
  profile(key: string): ClusterProfile | undefined {
    return this.#namespaces.get(key.split('/')[0] ?? '')?.profiles.get(key);
  }

  /** Names of the targets that have a profile of ours in a namespace; undefined while they are unknown. */
  profileNames(namespace: string): ReadonlySet<string> | undefined {
    const profiles = this.#namespaces.get(namespace)?.profiles;
    if (profiles?.hasSynced !== true) return undefined;
    const ours = [...profiles.records()].filter((profile) => ownerOf(profile) !== undefined);
    return new Set(ours.map(({ metadata: { name = '' } }) => name));
  }

  /** All PlacementDecisions of a namespace; undefined where they are unknown, or no targets are published. */
  slicesIn(namespace: string): readonly PlacementDecision[] | undefined {
    const slices = this.#namespaces.get(namespace)?.slices;
    return slices?.hasSynced === true ? [...slices.records()] : undefined;
  }
}

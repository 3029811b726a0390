// Decides what each entry of a registry becomes: the target that it is already, a new one, or none, and why.
import type { EntryState, TargetDiscoverySpec } from '../../api/registry/target-discovery.ts';
import type { AccessResult } from '../access/access-result.ts';
import type { RegisteredCluster } from '../entry/registered-cluster.ts';
import type { KnownTarget } from './known-target.ts';
import { targetNameOf } from './target-names.ts';

/** What is known when entries are placed. */
export interface EntryFacts {
  readonly clusters: readonly RegisteredCluster[];
  readonly resultOf: (entry: string) => AccessResult;
  /** All ClusterTargets. */
  readonly targets: readonly KnownTarget[];
  /** Label value of this TargetDiscovery. */
  readonly discovery: string;
  readonly spec: Pick<TargetDiscoverySpec, 'approved' | 'policy' | 'target'>;
  /** UID of this cluster's kube-system Namespace. */
  readonly ownClusterId: string;
}

/** The outcome of an entry. */
export interface PlacedEntry {
  readonly cluster: RegisteredCluster;
  readonly state: EntryState;
  readonly message?: string;
  /** The cluster that answered. */
  readonly clusterId?: string | undefined;
  /** Name of its target, existing or to be made. */
  readonly target?: string;
  /** The target that exists. */
  readonly existing?: KnownTarget;
  /** The kubeconfig that the target is to have; missing while the one before is kept. */
  readonly kubeconfig?: string;
  /** Another target that points to the same cluster. */
  readonly twin?: string;
}

/** Places all entries, the first by name first, so that of two equal ones always the same becomes the target. */
export function placeEntries(facts: EntryFacts): readonly PlacedEntry[] {
  const placing = new Placing(facts);
  return facts.clusters.toSorted((one, other) => (one.entry < other.entry ? -1 : 1))
    .map((cluster) => placing.place(cluster));
}

/** The targets of this TargetDiscovery that are not being deleted. */
export function ownTargets({ targets, discovery }: Pick<EntryFacts, 'targets' | 'discovery'>): readonly KnownTarget[] {
  return targets.filter(({ discoveredBy, terminating }) => discoveredBy === discovery && !terminating);
}

/** Whether anything may be sent to an entry: to a hint only once it is approved. */
export function isTried(
  { hint, name }: Pick<RegisteredCluster, 'hint' | 'name'>, { approved }: Pick<TargetDiscoverySpec, 'approved'>,
): boolean {
  return hint === undefined || approved?.includes(name) === true;
}

class Placing {
  readonly #facts: EntryFacts;
  readonly #byEntry: ReadonlyMap<string, KnownTarget>;
  /** Targets whose entries are gone, by cluster: another approved entry of the same cluster takes one over. */
  readonly #orphans = new Map<string, KnownTarget>();
  /** The target of each known cluster, also of those to be made. */
  readonly #ofCluster = new Map<string, string>();
  readonly #names: Set<string>;

  constructor(facts: EntryFacts) {
    this.#facts = facts;
    const own = ownTargets(facts);
    const present = new Set(facts.clusters.map(({ entry }) => entry));
    this.#byEntry = new Map(own.map((target) => [target.entry ?? '', target]));
    for (const target of own) {
      if (!present.has(target.entry ?? '') && target.clusterId !== undefined) {
        this.#orphans.set(target.clusterId, target);
      }
    }
    this.#names = new Set(facts.targets.map(({ name }) => name));
    for (const { name, clusterId, terminating } of facts.targets) {
      if (clusterId !== undefined && !terminating && !this.#ofCluster.has(clusterId)) {
        this.#ofCluster.set(clusterId, name);
      }
    }
  }

  place(cluster: RegisteredCluster): PlacedEntry {
    const existing = this.#byEntry.get(cluster.entry);
    if (existing !== undefined) return this.#keep(cluster, existing);
    const { access, hint } = cluster;
    if (hint !== undefined && !isTried(cluster, this.#facts.spec)) return { cluster, state: 'Proposed', message: hint };
    switch (access.kind) {
      case 'this-cluster':
        return { cluster, state: 'ThisCluster' };
      case 'waiting':
        return { cluster, state: 'Waiting', message: access.message };
      case 'refused':
        return { cluster, state: 'Refused', message: access.message };
      case 'kubeconfig':
        return this.#placeNew(cluster, this.#facts.resultOf(cluster.entry));
    }
  }

  #placeNew(cluster: RegisteredCluster, result: AccessResult): PlacedEntry {
    switch (result.kind) {
      case 'unchecked':
        return { cluster, state: 'Connecting' };
      case 'refused':
        return { cluster, state: 'Refused', message: result.message };
      case 'unanswered':
        return { cluster, state: 'Unreachable', message: result.message };
      case 'answered':
        return this.#placeAnswered(cluster, result);
    }
  }

  #placeAnswered(
    cluster: RegisteredCluster, { clusterId, kubeconfig }: Extract<AccessResult, { readonly kind: 'answered' }>,
  ): PlacedEntry {
    const { ownClusterId, spec } = this.#facts;
    if (clusterId === ownClusterId) return { cluster, state: 'ThisCluster', clusterId };
    const isApproved = spec.policy !== 'Propose' || spec.approved?.includes(cluster.name) === true;
    const orphan = this.#orphans.get(clusterId ?? '');
    if (orphan !== undefined && isApproved) {
      this.#orphans.delete(clusterId ?? '');
      return { cluster, state: 'Target', clusterId, target: orphan.name, existing: orphan, kubeconfig };
    }
    const twin = orphan === undefined ? this.#ofCluster.get(clusterId ?? '') : undefined;
    if (twin !== undefined) return { cluster, state: 'Duplicate', clusterId, twin, message: sameCluster(twin) };
    if (!isApproved) return {
      cluster, state: 'Proposed', clusterId,
      message: 'it becomes a target when spec.approved has its name',
    };
    return this.#make(cluster, clusterId, kubeconfig);
  }

  #make(cluster: RegisteredCluster, clusterId: string | undefined, kubeconfig: string): PlacedEntry {
    const { namePrefix = '' } = this.#facts.spec.target ?? {};
    const target = targetNameOf(cluster, namePrefix, (name) => this.#names.has(name));
    if (this.#names.has(target)) return {
      cluster, state: 'Refused', clusterId, message: `ClusterTarget ${target} exists already and is not made of it`,
    };
    this.#names.add(target);
    if (clusterId !== undefined) this.#ofCluster.set(clusterId, target);
    return { cluster, state: 'Target', clusterId, target, kubeconfig };
  }

  /** A target stays what it is, whatever its registry says of its access: its session knows best whether it answers. */
  #keep(cluster: RegisteredCluster, existing: KnownTarget): PlacedEntry {
    const { access } = cluster;
    const kept = { cluster, state: 'Target', target: existing.name, existing, clusterId: existing.clusterId } as const;
    if (access.kind === 'this-cluster') return kept;
    const result = access.kind === 'kubeconfig' ? this.#facts.resultOf(cluster.entry) : access;
    if (result.kind === 'unchecked') return kept;
    if (result.kind !== 'answered') return {
      ...kept, message: `the credentials before are kept: ${result.message}`,
    };
    const { clusterId = existing.clusterId, kubeconfig } = result;
    if (existing.clusterId !== undefined && clusterId !== existing.clusterId) return {
      ...kept,
      message:
        `its entry points to another cluster now (${clusterId}, before ${existing.clusterId}); delete ClusterTarget ` +
          `${existing.name} and it is recreated`,
    };
    const twin = this.#twinOf(existing.name, clusterId);
    if (existing.clusterId === undefined && clusterId === this.#facts.ownClusterId) {
      return { ...kept, message: 'the credentials before are kept: its entry points to this very cluster now' };
    }
    if (existing.clusterId === undefined && twin.twin !== undefined) return {
      ...kept, ...twin, message: `the credentials before are kept: ${sameCluster(twin.twin)}`,
    };
    this.#hold(existing.name, clusterId);
    return { ...kept, clusterId, kubeconfig, ...twin };
  }

  /** Entries after this one may turn out to be the same cluster. */
  #hold(target: string, clusterId: string | undefined): void {
    if (clusterId !== undefined && !this.#ofCluster.has(clusterId)) this.#ofCluster.set(clusterId, target);
  }

  #twinOf(target: string, clusterId = ''): Pick<PlacedEntry, 'twin' | 'message'> {
    const twin = this.#ofCluster.get(clusterId);
    return twin === undefined || twin === target ? {} : { twin, message: sameCluster(twin) };
  }
}

function sameCluster(twin: string): string {
  return `ClusterTarget ${twin} points to the same cluster`;
}

// The names by which Argo CD knows targets. Discovery records in the status of a TargetDiscovery which entry of Argo's
// registry is which cluster, whether it created the target or found one that was created by hand.
import type { ClusterTarget } from '../../api/kinds/cluster-target.ts';
import type { DiscoveredCluster, EntryState, TargetDiscovery } from '../../api/registry/target-discovery.ts';

/** Argo CD's own name of the cluster that it runs in. */
const IN_CLUSTER = 'in-cluster';

/** States of entries that have a target. A name stays known while its entry is missing, perhaps only for a moment. */
const OWN_ENTRY: ReadonlySet<EntryState> = new Set(['Target', 'Left', 'Held']);

/** The fields of a ClusterTarget that identify its cluster. */
export interface NamedTarget {
  readonly name: string;
  readonly isSelf: boolean;
  /** UID of its kube-system Namespace, where it is known. */
  readonly clusterId?: string | undefined;
}

/** Projects an object. */
export function toNamedTarget({ metadata: { name = '' }, spec, status }: ClusterTarget): NamedTarget {
  return { name, isSelf: spec.self === true, clusterId: status?.clusterID };
}

/**
 * The name that Argo CD has for each target, by the target's name; targets that it does not know are missing. Of two
 * entries for one cluster the one that the target was made of counts, then the one whose name sorts first.
 */
export function argoClusterNames(
  targets: readonly NamedTarget[], discoveries: readonly TargetDiscovery[],
): ReadonlyMap<string, string> {
  const entries = discoveries.filter(({ spec }) => spec.from.argoCD !== undefined)
    .flatMap(({ status }) => status?.clusters ?? []).filter(({ unnamed }) => unnamed !== true)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return new Map(targets.flatMap((target) => {
    const name = nameIn(entries, target);
    return name === undefined ? [] : [[target.name, name] as const];
  }));
}

function nameIn(entries: readonly DiscoveredCluster[], { name, isSelf, clusterId }: NamedTarget): string | undefined {
  if (isSelf) return entries.find(({ state }) => state === 'ThisCluster')?.name ?? IN_CLUSTER;
  const made = entries.find(({ state, target }) => OWN_ENTRY.has(state) && target === name);
  const twin = clusterId === undefined
    ? undefined
    : entries.find(({ state, clusterID }) => state === 'Duplicate' && clusterID === clusterId);
  return (made ?? twin)?.name;
}

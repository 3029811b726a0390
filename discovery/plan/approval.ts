// Decides what an approval changes in a TargetDiscovery with policy `Propose`.
import type { DiscoveredCluster, TargetDiscovery } from '../../api/registry/target-discovery.ts';

/** What to do. */
export type Approval =
  /** It is approved already. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'refuse'; readonly message: string }
  /** Set `spec.approved` to these names. */
  | { readonly kind: 'approve'; readonly approved: readonly string[] };

/** The entry that its approver saw. */
export interface SeenCluster {
  /** Name that the registry knows the cluster by. */
  readonly cluster: string;
  /** Kind, namespace and name of the registry's object. */
  readonly entry: string;
  /** UID of its kube-system Namespace; missing where it was not known. */
  readonly clusterId?: string | undefined;
}

/** Decides for a cluster that was proposed when its approver saw it. */
export function planApproval({ metadata: { name }, spec, status }: TargetDiscovery, seen: SeenCluster): Approval {
  const { cluster } = seen;
  const approved = spec.approved ?? [];
  if (approved.includes(cluster)) return { kind: 'nothing' };
  const refuse = (message: string): Approval => ({ kind: 'refuse', message });
  const called = JSON.stringify(cluster);
  const named = (status?.clusters ?? []).filter((entry) => entry.name === cluster);
  const proposed = named.find(({ state }) => state === 'Proposed');
  if (spec.policy !== 'Propose' || proposed === undefined) {
    return refuse(`TargetDiscovery ${name} does not propose a cluster ${called}.`);
  }
  // a name stands for all entries that have it, and the approver saw only one of them: one that waits or does not
  // answer would become a target as soon as it does
  if (named.length > 1) return refuse(
    `${named.length} entries of TargetDiscovery ${name} are called ${called}: ` +
      `${named.map(({ entry }) => entry).join(', ')}. Rename all but one in the registry.`,
  );
  if (!isSame(proposed, seen)) return refuse(
    `${called} of TargetDiscovery ${name} is not what you were shown any more: now it is ${proposed.entry}, cluster ` +
      `${proposed.clusterID ?? 'unknown'}. Look at it again before you approve it.`,
  );
  return { kind: 'approve', approved: [...approved, cluster] };
}

function isSame({ entry, clusterID }: DiscoveredCluster, seen: SeenCluster): boolean {
  return entry === seen.entry && (seen.clusterId === undefined || clusterID === seen.clusterId);
}

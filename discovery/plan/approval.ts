// Decides what an approval changes in a TargetDiscovery with policy `Propose`.
import type { TargetDiscovery } from '../../api/registry/target-discovery.ts';

/** What is to be done. */
export type Approval =
  /** It is approved already. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'refuse'; readonly message: string }
  /** `spec.approved` is to be these names. */
  | { readonly kind: 'approve'; readonly approved: readonly string[] };

/** Decides for a cluster, by the name that its registry knows it by. */
export function planApproval({ metadata: { name }, spec, status }: TargetDiscovery, cluster: string): Approval {
  const approved = spec.approved ?? [];
  if (approved.includes(cluster)) return { kind: 'nothing' };
  const proposed = status?.clusters?.filter((entry) => entry.state === 'Proposed' && entry.name === cluster) ?? [];
  if (spec.policy !== 'Propose' || proposed.length === 0) {
    const message = `TargetDiscovery ${name} does not propose a cluster ${JSON.stringify(cluster)}.`;
    return { kind: 'refuse', message };
  }
  // a name stands for all entries that have it, and only one of them was looked at
  if (proposed.length > 1) return {
    kind: 'refuse',
    message: `${proposed.length} entries of TargetDiscovery ${name} are called ${JSON.stringify(cluster)}: ` +
      `${proposed.map(({ entry }) => entry).join(', ')}. Rename all but one in the registry.`,
  };
  return { kind: 'approve', approved: [...approved, cluster] };
}

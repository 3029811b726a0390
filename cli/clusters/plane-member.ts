// Discovers a target's pod-plane member for `spec.podPlane`: peering has administrator permissions in both clusters, so
// both are queried.
import { CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS } from '../../api/resource-types.ts';
import { isUnreadable } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { findPlaneMember, type ClustersetObjects } from '../../model/network/pod-plane.ts';
import type { Progress } from './apply-objects.ts';

/** Both ends of a peering. */
export interface PeeredClusters {
  readonly source: { readonly client: ClusterClient };
  readonly target: { readonly client: ClusterClient };
  /** Of both. */
  readonly installNamespace: string;
}

/**
 * Cluster ID of the target when both run the pod plane, also printed; undefined otherwise. Throws what API calls throw.
 */
export async function lookForPlaneMember(
  { source, target, installNamespace }: PeeredClusters, { tell, signal }: Progress,
): Promise<string | undefined> {
  const [here, there] = await Promise.all(
    [source, target].map(({ client }) => readClusterset(client, installNamespace, signal)),
  ) as [ClustersetObjects, ClustersetObjects];
  const found = findPlaneMember(here, there);
  if (found.kind === 'member') tell(
    `target: it is member ${found.clusterId} of the clusterset; Services of the source reach its pods over the pod ` +
      'plane',
  );
  if (found.kind === 'other-keys') {
    tell(
      `target: it is member ${found.clusterId} of a clusterset, but not of the source's, which knows another ` +
        `${found.clusterId}; name the member with --pod-plane-cluster if it qualifies`,
    );
  }
  return found.kind === 'member' ? found.clusterId : undefined;
}

/** A cluster that does not serve these kinds, for example a target of Pod mode, is on no pod plane. */
async function readClusterset(
  client: ClusterClient, namespace: string, signal: AbortSignal,
): Promise<ClustersetObjects> {
  try {
    const [clusters, endpoints] =
      await Promise.all([
        client.list(CLUSTERSET_MEMBERS, { namespace }, signal), client.list(
          CLUSTERSET_ENDPOINTS, { namespace }, signal,
        ),
      ]);
    return { clusters, endpoints };
  } catch (error) {
    if (isUnreadable(error)) return { clusters: [], endpoints: [] };
    throw error;
  }
}

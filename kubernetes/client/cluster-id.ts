// Which cluster a client talks to.
import { NAMESPACES } from '../../api/resource-types.ts';
import { CLUSTER_NAMESPACE } from '../../model/access/system-namespaces.ts';
import type { ClusterClient } from './cluster-client.ts';

/** The cluster's ID: the UID of its kube-system Namespace, which is unique. */
export async function readClusterId(client: ClusterClient, signal: AbortSignal): Promise<string> {
  const namespace = await client.get(NAMESPACES, { name: CLUSTER_NAMESPACE }, signal);
  return namespace.metadata.uid ?? '';
}

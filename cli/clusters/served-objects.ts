// Lists of kinds that a cluster may not serve: where Isthmus is not installed, there are none of them.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { ClusterClient, Selection } from '../../kubernetes/client/cluster-client.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';

/** All objects of a kind; none in a cluster that does not serve it. Throws what {@link ClusterClient.list} throws. */
export async function listIfServed<T extends KubernetesObject>(
  client: ClusterClient, type: ResourceType<T>, signal: AbortSignal, selection: Selection = {},
): Promise<readonly T[]> {
  return (await client.list(type, selection, signal).catch(unless(isNotFound))) ?? [];
}

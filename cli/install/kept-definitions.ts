// The definition of PodChaperons that Admiralty has left in a cluster stays there.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { isForeignDefinition, POD_CHAPERON_DEFINITION } from '../../manifests/objects/crds.ts';

/** The objects without the definition that stays, see {@link isForeignDefinition}. Throws what reading it throws. */
export async function withoutKeptDefinition(
  client: ClusterClient, objects: readonly KubernetesObject[], signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const live = await client.get(CUSTOM_RESOURCE_DEFINITIONS, { name: POD_CHAPERON_DEFINITION }, signal)
    .catch(unless(isNotFound));
  if (live === undefined || !isForeignDefinition(live)) return objects;
  return objects.filter(({ kind, metadata }) =>
    kind !== CUSTOM_RESOURCE_DEFINITIONS.kind || metadata.name !== POD_CHAPERON_DEFINITION);
}

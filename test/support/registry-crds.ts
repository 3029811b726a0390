// CustomResourceDefinitions of registries' kinds, with no more in them than the names: a test writes the fields that
// the owners' documentation shows.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';

const OPEN = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

/** The definition of a kind. */
function registryDefinition(type: ResourceType): KubernetesObject {
  const { group, version, plural, kind, namespaced } = type;
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group, scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{
        name: version, served: true, storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: OPEN, status: OPEN } } },
      }],
    },
    // Kubernetes' own API groups need an approval; the owners' definitions have theirs.
    ...(group.endsWith('.k8s.io') && {
      metadata: {
        name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, test-only' },
      },
    }),
  } as KubernetesObject;
}

/** Installs it. */
export async function installDefinition(client: ClusterClient, type: ResourceType): Promise<void> {
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, registryDefinition(type));
}

export const CLUSTER_API_CLUSTERS: ResourceType =
  { group: 'cluster.x-k8s.io', version: 'v1beta2', plural: 'clusters', kind: 'Cluster', namespaced: true };

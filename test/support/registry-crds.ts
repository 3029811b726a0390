// CustomResourceDefinitions of registries' kinds, with no more in them than the names: a test writes the fields that
// the owners' documentation shows.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';

const OPEN = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

/** The definition of a kind. */
export function registryDefinition(type: ResourceType): KubernetesObject {
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
    ...(/\.k8s\.io$/.test(group) && {
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

function kind(group: string, version: string, plural: string, name: string, namespaced = true): ResourceType {
  return { group, version, plural, kind: name, namespaced };
}

export const CLUSTER_API_CLUSTERS = kind('cluster.x-k8s.io', 'v1beta2', 'clusters', 'Cluster');
export const KUSTOMIZATIONS = kind('kustomize.toolkit.fluxcd.io', 'v1', 'kustomizations', 'Kustomization');
export const CLUSTER_PROFILES = kind('multicluster.x-k8s.io', 'v1alpha2', 'clusterprofiles', 'ClusterProfile');

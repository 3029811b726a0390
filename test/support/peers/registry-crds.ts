// CustomResourceDefinitions of registries' kinds: the owners' own where their Go modules can be fetched
// (foreign-definitions.ts), for the others the names alone: a test writes the fields that the owners' documentation
// shows.
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';

const OPEN = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

/** A definition of a kind whose objects have this schema. */
export function simpleDefinition(type: ResourceType, schema: object): KubernetesObject {
  const { group, version, plural, kind, namespaced } = type;
  return {
    apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      // Kubernetes' own API groups need an approval; the owners' definitions have theirs.
      ...(group.endsWith('.k8s.io') && { annotations: { 'api-approved.kubernetes.io': 'unapproved, test-only' } }),
    },
    spec: {
      group, scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  } as KubernetesObject;
}

/** Installs it. */
export async function installDefinition(client: ClusterClient, type: ResourceType): Promise<void> {
  const schema = { type: 'object', properties: { spec: OPEN, status: OPEN } };
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, simpleDefinition(type, schema));
}

/** Installs the definition in a file. */
export async function installDefinitionFile(client: ClusterClient, path: string): Promise<void> {
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, parse(await readFile(path, 'utf8')) as KubernetesObject);
}

function namespaced(group: string, version: string, plural: string, kind: string): ResourceType {
  return { group, version, plural, kind, namespaced: true };
}

export const CLUSTER_API_CLUSTERS = namespaced('cluster.x-k8s.io', 'v1beta2', 'clusters', 'Cluster');
export const KUSTOMIZATIONS = namespaced('kustomize.toolkit.fluxcd.io', 'v1', 'kustomizations', 'Kustomization');
export const FLEET_CLUSTERS = namespaced('fleet.cattle.io', 'v1alpha1', 'clusters', 'Cluster');
export const KUBE_FED_CLUSTERS = namespaced('core.kubefed.io', 'v1beta1', 'kubefedclusters', 'KubeFedCluster');
export const MANAGED_CLUSTERS: ResourceType = {
  ...namespaced('cluster.open-cluster-management.io', 'v1', 'managedclusters', 'ManagedCluster'), namespaced: false,
};
export const MANAGED_SERVICE_ACCOUNTS = namespaced(
  'authentication.open-cluster-management.io', 'v1beta1', 'managedserviceaccounts', 'ManagedServiceAccount',
);

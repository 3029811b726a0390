// Cluster API (`cluster.x-k8s.io`): Clusters, and the kubeconfig Secret that their control plane provider keeps for
// each. Certificates in it are renewed in place, and some providers rewrite it every few minutes.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { bySecret, conditionOf, entriesOf, kubeconfigIn, valueAt } from '../entry/registry-fields.ts';
import { waiting, type RegisteredAccess } from '../entry/registered-cluster.ts';
import type { Registry, RegistryKind, RegistryObjects } from '../entry/registry.ts';

const CLUSTERS: RegistryKind = {
  group: 'cluster.x-k8s.io', plural: 'clusters', kind: 'Cluster', namespaced: true, versions: ['v1beta2', 'v1beta1'],
};

/** The registry. `<cluster>-user-kubeconfig` is left alone: it is for users, and runs a command. */
export const CLUSTER_API: Registry = {
  kinds: [CLUSTERS],
  secretSelector: 'cluster.x-k8s.io/cluster-name',
  keepsSecret: ({ metadata }) => metadata.name?.endsWith('-kubeconfig') === true, // the others are keys of authorities
  read: (found) => entriesOf('Cluster', found.objects.get(CLUSTERS.plural), (cluster) => accessOf(cluster, found)),
};

function accessOf(cluster: KubernetesObject, { secret }: RegistryObjects): RegisteredAccess {
  if (!isInitialized(cluster)) return waiting('its control plane is not initialized yet');
  const { namespace = '', name = '' } = cluster.metadata;
  const ref = { namespace, name: `${name}-kubeconfig` };
  return bySecret(secret(ref), ref, (found) => kubeconfigIn(found, ['value']));
}

/** The contract of v1beta2, then that of v1beta1. */
function isInitialized(cluster: KubernetesObject): boolean {
  return valueAt(cluster, 'status.initialization.controlPlaneInitialized') === true
    || valueAt(cluster, 'status.controlPlaneReady') === true
    || conditionOf(cluster, 'ControlPlaneInitialized') === 'True';
}

// Rancher Fleet (`fleet.cattle.io`): Clusters that the manager connects to have a kubeconfig Secret. The keys
// apiServerURL and apiServerCA beside it are the manager's own address, for its agent. A cluster whose agent dials in
// has no Secret.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { bySecret, entriesOf, kubeconfigIn, secretNamedAt, textAt } from '../entry/registry-fields.ts';
import { refused } from '../entry/registered-cluster.ts';
import type { Registry, RegistryKind } from '../entry/registry.ts';
import type { NamespacedName } from '../../model/pod/pod.ts';

const CLUSTERS: RegistryKind = {
  group: 'fleet.cattle.io', plural: 'clusters', kind: 'Cluster', namespaced: true, versions: ['v1alpha1'],
};

const NO_SECRET =
  'it has no kubeConfigSecret in its own namespace: its agent dials in, or the Secret is elsewhere; join it with ' +
    '"isthmus join"';

/** The registry. */
export const FLEET: Registry = {
  kinds: [CLUSTERS],
  namedSecrets: (cluster) => [secretOf(cluster)].flatMap((ref) => ref ?? []),
  read: ({ objects, secret }) => entriesOf('Cluster', objects.get(CLUSTERS.plural), (cluster) => {
    const ref = secretOf(cluster);
    return ref === undefined ? refused(NO_SECRET)
      : bySecret(secret(ref), ref, (found) => kubeconfigIn(found, ['value']));
  }),
};

/** A Secret of another namespace is not read: the writer of a Cluster need not be allowed to. */
function secretOf(cluster: KubernetesObject): NamespacedName | undefined {
  const { namespace = '' } = cluster.metadata;
  const isElsewhere = (textAt(cluster, 'spec.kubeConfigSecretNamespace') ?? namespace) !== namespace;
  return isElsewhere ? undefined : secretNamedAt(cluster, 'spec.kubeConfigSecret');
}

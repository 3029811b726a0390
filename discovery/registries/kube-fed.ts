// KubeFed (`core.kubefed.io`, archived): KubeFedClusters with address, CA, and a Secret that holds a token.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { composeKubeconfig } from '../entry/composed-kubeconfig.ts';
import { bySecret, conditionOf, entryOf, isLeaving, secretText, textAt, valueAt } from '../entry/registry-fields.ts';
import { waiting, type RegisteredAccess } from '../entry/registered-cluster.ts';
import type { NamespacedName, Registry, RegistryKind, RegistryObjects } from '../entry/registry.ts';

const CLUSTERS: RegistryKind = {
  group: 'core.kubefed.io', plural: 'kubefedclusters', kind: 'KubeFedCluster', namespaced: true, versions: ['v1beta1'],
};

/** The registry. */
export const KUBE_FED: Registry = {
  kinds: [CLUSTERS],
  namedSecrets: (cluster) => [secretRefOf(cluster)].flatMap((ref) => ref ?? []),
  read: (found) => (found.objects.get(CLUSTERS.plural) ?? []).filter((cluster) => !isLeaving(cluster)).map(
    (cluster) => ({
      entry: entryOf('KubeFedCluster', cluster.metadata),
      name: cluster.metadata.name ?? '',
      labels: cluster.metadata.labels ?? {},
      access: accessOf(cluster, found),
    }),
  ),
};

function accessOf(cluster: KubernetesObject, { secret }: RegistryObjects): RegisteredAccess {
  if (conditionOf(cluster, 'Ready') === 'False') return waiting('KubeFed says that it is not Ready');
  const ref = secretRefOf(cluster);
  if (ref === undefined) return waiting('it names no Secret in spec.secretRef');
  return bySecret(secret(ref), ref, (found) => {
    const token = secretText(found, 'token');
    return token === undefined ? waiting('its Secret has no key token') : composeKubeconfig({
      server: textAt(cluster, 'spec.apiEndpoint'), certificateAuthorityData: textAt(cluster, 'spec.caBundle'), token,
      proxyUrl: textAt(cluster, 'spec.proxyURL'), insecure: skipsChecks(cluster),
    });
  });
}

/** KubeFed can leave out parts of the check of a server's certificate; each part is as good as the whole. */
function skipsChecks(cluster: KubernetesObject): boolean {
  const skipped = valueAt(cluster, 'spec.disabledTLSValidations');
  return Array.isArray(skipped) && skipped.length > 0;
}

function secretRefOf(cluster: KubernetesObject): NamespacedName | undefined {
  const name = textAt(cluster, 'spec.secretRef.name');
  return name === undefined ? undefined : { namespace: cluster.metadata.namespace ?? '', name };
}

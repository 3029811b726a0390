// KubeFed (`core.kubefed.io`, archived): KubeFedClusters with address, CA, and a Secret that holds a token.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { composeKubeconfig } from '../entry/composed-kubeconfig.ts';
import {
  bySecret, conditionOf, entriesOf, secretNamedAt, secretText, textAt, valueAt,
} from '../entry/registry-fields.ts';
import { waiting, type RegisteredAccess } from '../entry/registered-cluster.ts';
import type { Registry, RegistryKind, RegistryObjects } from '../entry/registry.ts';

const CLUSTERS: RegistryKind = {
  group: 'core.kubefed.io', plural: 'kubefedclusters', kind: 'KubeFedCluster', namespaced: true, versions: ['v1beta1'],
};
const SECRET_NAME = 'spec.secretRef.name';

/** The registry. */
export const KUBE_FED: Registry = {
  kinds: [CLUSTERS],
  namedSecrets: (cluster) => [secretNamedAt(cluster, SECRET_NAME)].flatMap((ref) => ref ?? []),
  read: (found) => (
    entriesOf('KubeFedCluster', found.objects.get(CLUSTERS.plural), (cluster) => accessOf(cluster, found))
  ),
};

function accessOf(cluster: KubernetesObject, { secret }: RegistryObjects): RegisteredAccess {
  if (conditionOf(cluster, 'Ready') === 'False') return waiting('KubeFed says that it is not Ready');
  const ref = secretNamedAt(cluster, SECRET_NAME);
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

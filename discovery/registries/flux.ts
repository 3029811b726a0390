// Flux: Kustomizations and HelmReleases that deliver to another cluster name its kubeconfig in `spec.kubeConfig`. Many
// of them name the same Secret, which is one cluster. A Secret is always in the namespace of the object that names it.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { bySecret, entryOf, isLeaving, kubeconfigIn, secretNamedAt, textAt } from '../entry/registry-fields.ts';
import { refused, type RegisteredCluster } from '../entry/registered-cluster.ts';
import type { Registry, RegistryKind, RegistryObjects } from '../entry/registry.ts';

const KINDS: readonly RegistryKind[] = [
  {
    group: 'kustomize.toolkit.fluxcd.io', plural: 'kustomizations', kind: 'Kustomization', namespaced: true,
    versions: ['v1', 'v1beta2'],
  },
  {
    group: 'helm.toolkit.fluxcd.io', plural: 'helmreleases', kind: 'HelmRelease', namespaced: true,
    versions: ['v2', 'v2beta2'],
  },
];

/** Keys that Flux looks for when none is named. */
const DEFAULT_KEYS = ['value', 'value.yaml'];
const SECRET_NAME = 'spec.kubeConfig.secretRef.name';

/** The registry. */
export const FLUX: Registry = {
  kinds: KINDS,
  needsAnyKind: true,
  namedSecrets: (object) => [secretNamedAt(object, SECRET_NAME)].flatMap((ref) => ref ?? []),
  read: (found) => {
    const clusters = new Map<string, RegisteredCluster>();
    for (const { plural } of KINDS) {
      for (const object of found.objects.get(plural) ?? []) {
        const cluster = isLeaving(object) ? undefined : clusterOf(object, found);
        if (cluster !== undefined && !clusters.has(cluster.entry)) clusters.set(cluster.entry, cluster);
      }
    }
    return [...clusters.values()];
  },
};

function clusterOf(object: KubernetesObject, found: RegistryObjects): RegisteredCluster | undefined {
  const { namespace = '', labels = {} } = object.metadata;
  const ref = secretNamedAt(object, SECRET_NAME);
  if (ref !== undefined) {
    const key = textAt(object, 'spec.kubeConfig.secretRef.key');
    const lookup = found.secret(ref);
    return {
      entry: entryOf('Secret', ref) + (key === undefined ? '' : ` key ${key}`),
      name: ref.name.replace(/-kubeconfig$/, ''),
      labels: (lookup.kind === 'found' ? lookup.secret.metadata.labels : undefined) ?? labels,
      access: bySecret(lookup, ref, (secret) => kubeconfigIn(secret, key === undefined ? DEFAULT_KEYS : [key])),
    };
  }
  const mapName = textAt(object, 'spec.kubeConfig.configMapRef.name');
  return mapName === undefined ? undefined : {
    entry: entryOf('ConfigMap', { namespace, name: mapName }), name: mapName, labels,
    access: refused('Flux logs in to it by configMapRef, which is not used; name a Secret in kubeConfig.secretRef'),
  };
}

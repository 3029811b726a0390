// ClusterProfile (SIG Multicluster, KEP-4322, KEP-5339). Its access providers are commands in general. The two of the
// reference implementation only read Secrets: what they do is done here, and nothing is run. A Secret is read in the
// profile's own namespace alone: anyone who writes a profile's status must not send the credentials of another
// namespace to a server of their choice.
import type { KubernetesObject, Secret } from '../../api/objects/core.ts';
import { CLUSTER_MANAGER } from '../../api/placement/cluster-inventory.ts';
import { composeKubeconfig, type AccessFields } from '../entry/composed-kubeconfig.ts';
import {
  bySecret, conditionOf, entryOf, isLeaving, kubeconfigIn, recordsAt, secretText, textAt, valueAt,
} from '../entry/registry-fields.ts';
import { refused, waiting, type RegisteredAccess } from '../entry/registered-cluster.ts';
import type { Registry, RegistryKind, RegistryObjects } from '../entry/registry.ts';
import type { NamespacedName } from '../../model/pod/pod.ts';

const PROFILES: RegistryKind = {
  group: 'multicluster.x-k8s.io', plural: 'clusterprofiles', kind: 'ClusterProfile', namespaced: true,
  versions: ['v1alpha2', 'v1alpha1'],
};
/** Name of the extension that carries a plugin's settings (client-go, `client.authentication.k8s.io`). */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';

/** One of `status.accessProviders`. */
interface Provider {
  readonly name: string;
  /** `clientcmd/api/v1` Cluster. */
  readonly cluster: unknown;
  readonly settings: unknown;
}

/** The registry. */
export const CLUSTER_PROFILE: Registry = {
  kinds: [PROFILES],
  namedSecrets: (profile) => providersOf(profile).flatMap((provider) => secretOf(profile, provider) ?? []),
  read: (found) => (found.objects.get(PROFILES.plural) ?? []).filter(isAnothers).map(
    (profile) => ({
      entry: entryOf('ClusterProfile', profile.metadata),
      name: textAt(profile, 'spec.displayName') ?? profile.metadata.name ?? '',
      labels: { ...propertiesOf(profile), ...profile.metadata.labels },
      access: accessOf(profile, found),
    }),
  ),
};

/** A profile that this Isthmus has published of a target is a target already. */
function isAnothers(profile: KubernetesObject): boolean {
  const isOfTarget = profile.metadata.ownerReferences?.some(({ kind }) => kind === 'ClusterTarget') === true;
  return !isLeaving(profile) && !(isOfTarget && textAt(profile, 'spec.clusterManager.name') === CLUSTER_MANAGER);
}

/** Properties are labels too: a target copies those that its template names. */
function propertiesOf(profile: KubernetesObject): Readonly<Record<string, string>> {
  return Object.fromEntries(recordsAt(profile, 'status.properties').flatMap(({ name, value }) =>
    (typeof name === 'string' && typeof value === 'string' ? [[name, value] as const] : [])));
}

function accessOf(profile: KubernetesObject, { secret }: RegistryObjects): RegisteredAccess {
  if (conditionOf(profile, 'ControlPlaneHealthy') === 'False') {
    return waiting('its cluster manager says that its control plane is not healthy (ControlPlaneHealthy)');
  }
  const providers = providersOf(profile);
  if (providers.length === 0) return waiting('its cluster manager has named no access provider yet');
  const usable = providers.find(({ name }) => name === 'secretreader' || name === 'kubeconfig-secretreader');
  if (usable === undefined) return refused(
    `its access providers ${providers.map(({ name }) => name).join(', ')} are commands, which are not run; use ` +
      'secretreader or kubeconfig-secretreader',
  );
  const ref = secretOf(profile, usable);
  if (ref === undefined) return refused(
    "its access provider names no Secret of the profile's own namespace; Secrets of other namespaces are not read",
  );
  return bySecret(secret(ref), ref, (found) => byProvider(usable, found));
}

function byProvider({ name, cluster, settings }: Provider, secret: Secret): RegisteredAccess {
  const fields = serverFields(cluster);
  if (name === 'secretreader') {
    const token = secretText(secret, 'token');
    return token === undefined ? waiting('its Secret has no key token') : composeKubeconfig({ ...fields, token });
  }
  const access = kubeconfigIn(secret, [textAt(settings, 'key') ?? 'value']);
  if (access.kind !== 'kubeconfig' || fields.server === undefined) return access;
  const { server, certificateAuthorityData, certificateAuthorityFile, serverName, proxyUrl, insecure } = fields;
  const isRefused = proxyUrl !== undefined || certificateAuthorityFile !== undefined || insecure;
  if (isRefused) return composeKubeconfig(fields); // by its fields
  return { ...access, context: textAt(settings, 'context'), server: { server, certificateAuthorityData, serverName } };
}

function serverFields(cluster: unknown): AccessFields {
  return {
    server: textAt(cluster, 'server'),
    certificateAuthorityData: textAt(cluster, 'certificate-authority-data'),
    certificateAuthorityFile: textAt(cluster, 'certificate-authority'),
    serverName: textAt(cluster, 'tls-server-name'),
    proxyUrl: textAt(cluster, 'proxy-url'),
    insecure: valueAt(cluster, 'insecure-skip-tls-verify') === true,
  };
}

function providersOf(profile: KubernetesObject): readonly Provider[] {
  const current = recordsAt(profile, 'status.accessProviders');
  const listed = current.length > 0 ? current : recordsAt(profile, 'status.credentialProviders');
  return listed.flatMap(({ name, cluster }) => {
    const extension = recordsAt(cluster, 'extensions').find((one) => one['name'] === EXEC_EXTENSION);
    return typeof name === 'string' ? [{ name, cluster, settings: extension?.['extension'] }] : [];
  });
}

/** The Secret that a provider reads; undefined for a command, and for a Secret of another namespace. */
function secretOf({ metadata }: KubernetesObject, { name, settings }: Provider): NamespacedName | undefined {
  const { namespace = '' } = metadata;
  if (name === 'secretreader') return { namespace, name: metadata.name ?? '' };
  const secretName = name === 'kubeconfig-secretreader' ? textAt(settings, 'name') : undefined;
  if (secretName === undefined || (textAt(settings, 'namespace') ?? namespace) !== namespace) return undefined;
  return { namespace, name: secretName };
}

// Open Cluster Management: a ManagedCluster that the hub has accepted, reached with the token of a
// ManagedServiceAccount, which the add-on of that name keeps fresh in a Secret of the cluster's namespace.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { RegistryChoice } from '../../api/registry/registry-choice.ts';
import { composeKubeconfig } from '../entry/composed-kubeconfig.ts';
import { bySecret, conditionOf, entryOf, isLeaving, recordsAt, secretText, textAt } from '../entry/registry-fields.ts';
import { waiting, type RegisteredAccess } from '../entry/registered-cluster.ts';
import type { NamespacedName, Registry, RegistryKind, RegistryObjects } from '../entry/registry.ts';

const CLUSTERS: RegistryKind = {
  group: 'cluster.open-cluster-management.io', plural: 'managedclusters', kind: 'ManagedCluster', namespaced: false,
  versions: ['v1'],
};
const ACCOUNTS: RegistryKind = {
  group: 'authentication.open-cluster-management.io', plural: 'managedserviceaccounts', kind: 'ManagedServiceAccount',
  namespaced: true, versions: ['v1beta1'],
};

/** The registry. */
export const OCM: Registry = {
  kinds: [CLUSTERS, ACCOUNTS],
  namedSecrets: (object, from) => (isAccount(object, from) ? [secretRefOf(object)].flatMap((ref) => ref ?? []) : []),
  read: (found, from) => (found.objects.get(CLUSTERS.plural) ?? []).filter((cluster) => !isLeaving(cluster)).map(
    (cluster) => ({
      entry: entryOf('ManagedCluster', cluster.metadata),
      name: cluster.metadata.name ?? '',
      labels: cluster.metadata.labels ?? {},
      access: accessOf(cluster, found, from),
    }),
  ),
};

function accessOf(cluster: KubernetesObject, found: RegistryObjects, from: RegistryChoice): RegisteredAccess {
  const { name = '' } = cluster.metadata;
  if (conditionOf(cluster, 'HubAcceptedManagedCluster') !== 'True') return waiting('the hub has not accepted it yet');
  if (conditionOf(cluster, 'ManagedClusterConditionAvailable') === 'False') {
    return waiting('its agent does not answer the hub (ManagedClusterConditionAvailable)');
  }
  const accounts = found.objects.get(ACCOUNTS.plural) ?? [];
  const account = accounts.find((object) => object.metadata.namespace === name && isAccount(object, from));
  const ref = account && secretRefOf(account);
  const wanted = `ManagedServiceAccount ${name}/${from.ocm?.managedServiceAccount ?? ''}`;
  if (ref === undefined) return waiting(`${wanted} does not exist, or has no token yet`);
  return bySecret(found.secret(ref), ref, (secret) => {
    const [config] = recordsAt(cluster, 'spec.managedClusterClientConfigs');
    const authority = secret.data?.['ca.crt'] ?? textAt(config, 'caBundle');
    return composeKubeconfig({
      server: textAt(config, 'url'), certificateAuthorityData: authority, token: secretText(secret, 'token'),
    });
  });
}

function isAccount({ kind, metadata }: KubernetesObject, { ocm }: RegistryChoice): boolean {
  return (kind === undefined || kind === ACCOUNTS.kind) && metadata.namespace !== undefined
    && metadata.name === ocm?.managedServiceAccount;
}

function secretRefOf(account: KubernetesObject): NamespacedName | undefined {
  const name = textAt(account, 'status.tokenSecretRef.name');
  return name === undefined ? undefined : { namespace: account.metadata.namespace ?? '', name };
}

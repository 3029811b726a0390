// Open Cluster Management: a ManagedCluster that the hub has accepted, reached with the token of a
// ManagedServiceAccount, which the add-on of that name keeps fresh in a Secret of the cluster's namespace.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { RegistryChoice } from '../../api/registry/registry-choice.ts';
import { composeKubeconfig } from '../entry/composed-kubeconfig.ts';
import {
  bySecret, conditionOf, entriesOf, recordsAt, secretNamedAt, secretText, textAt,
} from '../entry/registry-fields.ts';
import { waiting, type RegisteredAccess } from '../entry/registered-cluster.ts';
import type { Registry, RegistryKind, RegistryObjects } from '../entry/registry.ts';

const CLUSTERS: RegistryKind = {
  group: 'cluster.open-cluster-management.io', plural: 'managedclusters', kind: 'ManagedCluster', namespaced: false,
  versions: ['v1'],
};
const ACCOUNTS: RegistryKind = {
  group: 'authentication.open-cluster-management.io', plural: 'managedserviceaccounts', kind: 'ManagedServiceAccount',
  namespaced: true, versions: ['v1beta1'],
};
const TOKEN_SECRET = 'status.tokenSecretRef.name';

/** The registry. */
export const OCM: Registry = {
  kinds: [CLUSTERS, ACCOUNTS],
  namedSecrets: (object, from) => (
    isAccount(object, from) ? [secretNamedAt(object, TOKEN_SECRET)].flatMap((ref) => ref ?? []) : []
  ),
  read: (found, from) => (
    entriesOf('ManagedCluster', found.objects.get(CLUSTERS.plural), (cluster) => accessOf(cluster, found, from))
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
  const ref = account && secretNamedAt(account, TOKEN_SECRET);
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

// What peering puts into the target (an identity for the source, with just its rights) and into the source (how to reach the
// target as that identity). Names of bindings are Admiralty 0.17's (contract §1.3); names that differ by source never meet.
import { stringify } from 'yaml';
import type { ClusterSource, Source } from '../api/cluster-source.ts';
import { DEFAULT_KUBECONFIG_KEY, type ClusterTarget, type Target } from '../api/cluster-target.ts';
import type { KubernetesObject, Secret } from '../api/core.ts';
import { ADMIRALTY_API_VERSION } from '../api/resource-types.ts';
import { joinName, MAX_NAME_LENGTH } from '../model/names.ts';
import { installNamespaceManifest } from './install.ts';
import { clusterRoleBinding, PART_OF, roleBinding, serviceAccount, type ServiceAccountName } from './rbac-objects.ts';
import { sourcePolicy } from './source-policy.ts';
import { CLUSTER_SUMMARY_VIEWER_ROLE, SOURCE_ROLE, targetSecretReaderBinding } from './rbac.ts';

/** Which clusters are peered, and how. */
export interface Peering {
  /** Name of the ClusterTarget or Target in the source: a DNS-1123 label. */
  readonly name: string;
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  /** The one namespace that is peered, as Source and Target; the whole clusters when missing. */
  readonly namespace?: string | undefined;
  /** Of both clusters. */
  readonly installNamespace: string;
}

/** How the source reaches the target. */
export interface TargetAccess {
  /** https URL of the target's API server as the source reaches it. */
  readonly server: string;
  /** PEM; the system's roots when missing. */
  readonly certificateAuthority?: string | undefined;
  /** Bearer token of the identity. */
  readonly token: string;
}

/** Name of the (Cluster)Source: the target's name with the start of the source's identity, so that two sources can use one target. */
export function sourceName({ name, sourceId }: Peering): string {
  return `${name}-${sourceId.slice(0, 8)}`;
}

/** The ServiceAccount in the target that the source acts as. */
export function sourceAccount(peering: Peering): ServiceAccountName {
  return { namespace: peering.namespace ?? peering.installNamespace, name: sourceName(peering) };
}

/** Name of the Secret in the source that holds the kubeconfig. */
export function kubeconfigSecretName({ name }: Peering): string {
  return `${name}-kubeconfig`;
}

/** What the target needs, in apply order. */
export function targetSideManifests(peering: Peering): readonly KubernetesObject[] {
  const account = sourceAccount(peering);
  const { namespace } = peering;
  const own = namespace === undefined ? clusterSourceManifests(peering, account) : sourceManifests(peering, namespace, account);
  return [serviceAccount(account), ...own];
}

function clusterSourceManifests(peering: Peering, account: ServiceAccountName): readonly KubernetesObject[] {
  const name = sourceName(peering);
  const source: ClusterSource = {
    apiVersion: ADMIRALTY_API_VERSION, kind: 'ClusterSource', metadata: { name, labels: PART_OF }, spec: { serviceAccount: account },
  };
  const prefix = { constant: 'admiralty-cluster-source' };
  const policyName = joinName([prefix, name, { constant: 'own-objects' }], MAX_NAME_LENGTH);
  const viewer = joinName([prefix, name, { constant: 'cluster-summary-viewer' }], MAX_NAME_LENGTH);
  return [
    source,
    clusterRoleBinding(joinName([prefix, name], MAX_NAME_LENGTH), SOURCE_ROLE, [account]),
    clusterRoleBinding(viewer, CLUSTER_SUMMARY_VIEWER_ROLE, [account]),
    ...sourcePolicy({ policyName, account, sourceId: peering.sourceId }),
  ];
}

function sourceManifests(peering: Peering, namespace: string, account: ServiceAccountName): readonly KubernetesObject[] {
  const name = sourceName(peering);
  const source: Source = {
    apiVersion: ADMIRALTY_API_VERSION, kind: 'Source', metadata: { namespace, name, labels: PART_OF }, spec: { serviceAccountName: account.name },
  };
  const prefix = { constant: 'admiralty-source' };
  const policyName = joinName([prefix, namespace, name, { constant: 'own-objects' }], MAX_NAME_LENGTH);
  const viewer = joinName([prefix, namespace, name, { constant: 'cluster-summary-viewer' }], MAX_NAME_LENGTH);
  const binding = { namespace, name: joinName([prefix, name], MAX_NAME_LENGTH), roleKind: 'ClusterRole', roleName: SOURCE_ROLE } as const;
  return [
    source,
    roleBinding(binding, [account]),
    clusterRoleBinding(viewer, CLUSTER_SUMMARY_VIEWER_ROLE, [account]),
    ...sourcePolicy({ policyName, account, sourceId: peering.sourceId }),
  ];
}

/** What the source needs, in apply order; `kubeconfig` is the text from {@link targetKubeconfig}. */
export function sourceSideManifests(peering: Peering, kubeconfig: string): readonly KubernetesObject[] {
  const { name, namespace, installNamespace } = peering;
  const secretName = kubeconfigSecretName(peering);
  if (namespace === undefined) {
    const target: ClusterTarget = {
      apiVersion: ADMIRALTY_API_VERSION, kind: 'ClusterTarget', metadata: { name, labels: PART_OF },
      spec: { kubeconfigSecret: { name: secretName, namespace: installNamespace } },
    };
    return [installNamespaceManifest(installNamespace), kubeconfigSecret(installNamespace, secretName, kubeconfig), target];
  }
  const target: Target = {
    apiVersion: ADMIRALTY_API_VERSION, kind: 'Target', metadata: { namespace, name, labels: PART_OF },
    spec: { kubeconfigSecret: { name: secretName } },
  };
  return [targetSecretReaderBinding(namespace, installNamespace), kubeconfigSecret(namespace, secretName, kubeconfig), target];
}

function kubeconfigSecret(namespace: string, name: string, kubeconfig: string): Secret {
  const data = { [DEFAULT_KUBECONFIG_KEY]: Buffer.from(kubeconfig, 'utf8').toString('base64') };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name, labels: PART_OF }, type: 'Opaque', data };
}

/** The kubeconfig by which the source reaches the target. */
export function targetKubeconfig(peering: Peering, access: TargetAccess): string {
  return tokenKubeconfig({ ...access, cluster: peering.name, user: sourceName(peering), namespace: peering.namespace });
}

/** What a kubeconfig with a token says. */
export interface TokenKubeconfig extends TargetAccess {
  /** Name of the cluster, and of the context. */
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string | undefined;
}

/** A kubeconfig (client-go `clientcmd/api/v1`) that refers to no file and runs no program, as Secrets of tenants must be. */
export function tokenKubeconfig({ server, certificateAuthority: authority, token, cluster: name, user, namespace }: TokenKubeconfig): string {
  const cluster = {
    server,
    ...(authority !== undefined && { 'certificate-authority-data': Buffer.from(authority, 'utf8').toString('base64') }),
  };
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster }],
      users: [{ name: user, user: { token } }],
      contexts: [{ name, context: { cluster: name, user, ...(namespace !== undefined && { namespace }) } }],
      'current-context': name,
    },
    { lineWidth: 0 },
  );
}

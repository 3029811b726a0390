// The source's objects for a target: the (Cluster)Target, the Secret with the kubeconfig, and the RBAC to renew its
// token.
import { parse, stringify } from 'yaml';
import {
  DEFAULT_KUBECONFIG_KEY, type ClusterTarget, type DelegationMode, type Target,
} from '../../api/kinds/cluster-target.ts';
import type { SourceGrants } from '../../api/kinds/cluster-source.ts';
import type { KubernetesObject, Secret } from '../../api/objects/core.ts';
import { PEERED_TARGET_ANNOTATION, TOKEN_ACCOUNT_ANNOTATION } from '../../api/objects/keys.ts';
import { ADMIRALTY_API_VERSION } from '../../api/objects/group-version.ts';
import { componentSubjects, TARGET_KUBECONFIG_READERS } from '../../model/access/component-accounts.ts';
import { isRecord, parsedJson } from '../../model/objects/json-values.ts';
import { joinName, MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import {
  boundRole, onlyNamed, PART_OF, READ, rule, type ServiceAccountName,
} from '../../model/access/rbac-objects.ts';
import { DEFAULT_GRANTS } from '../../model/access/source-grants.ts';
import { targetKey, targetRefOf } from '../../model/naming/target-ref.ts';
import type { SourceIdentity } from '../identity/source-identity.ts';

/** Which clusters are peered, and how. */
export interface Peering {
  /** Name of the ClusterTarget or Target in the source: a DNS-1123 label. */
  readonly name: string;
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  /** The one namespace that is peered, by a Source and a Target; the whole clusters when missing. */
  readonly namespace?: string | undefined;
  /** Install namespace of the source, and of the target unless given separately. */
  readonly installNamespace: string;
  readonly targetInstallNamespace?: string | undefined;
  /** Cluster ID of the target, when it is reached through the gateway. */
  readonly gatewayCluster?: string | undefined;
  /** Cluster ID of the target, when its pods are reached over the pod plane; that of `gatewayCluster` when missing. */
  readonly podPlaneCluster?: string | undefined;
  /** Delegation mode; discovered when missing. */
  readonly delegation?: DelegationMode | undefined;
  /** What the target allows the source to do; {@link DEFAULT_GRANTS} when missing. */
  readonly grants?: SourceGrants | undefined;
}

/** How the source reaches the target. */
export interface TargetAccess {
  /** https URL of the target's API server as the source reaches it. */
  readonly server: string;
  /** PEM; the system's roots when missing. */
  readonly certificateAuthority?: string | undefined;
  /** Bearer token of the source's account. */
  readonly token: string;
}

/** What an invited source is granted: its identity in the target, and its first token. */
export interface GrantedAccess {
  readonly token: string;
  /** RFC 3339. */
  readonly expirationTimestamp: string;
  readonly account: ServiceAccountName;
  /** The one namespace that it may use; all when missing. */
  readonly namespace?: string | undefined;
}

/** What a target has granted, in the text that it encrypted; undefined when it has none. */
export function parseGrant(text: string): Pick<GrantedAccess, 'token' | 'expirationTimestamp'> | undefined {
  const granted = parsedJson(text);
  if (!isRecord(granted)) return undefined;
  const { token, expirationTimestamp } = granted;
  if (typeof token !== 'string' || token === '' || typeof expirationTimestamp !== 'string') return undefined;
  return { token, expirationTimestamp };
}

/**
 * Name of the (Cluster)Source: the target's name and a prefix of the source's cluster UID, so that two sources can use
 * one target.
 */
export function sourceName({ name, sourceId }: Pick<Peering, 'name' | 'sourceId'>): string {
  return `${name}-${sourceId.slice(0, 8)}`;
}

/** The ServiceAccount in the target that the source acts as. */
export function sourceAccount(peering: Peering): ServiceAccountName {
  const { namespace, installNamespace, targetInstallNamespace = installNamespace } = peering;
  return { namespace: namespace ?? targetInstallNamespace, name: sourceName(peering) };
}

/** The identity that peering creates in the target. */
export function peeringIdentity(peering: Peering): SourceIdentity {
  return {
    namespace: peering.namespace, name: sourceName(peering), account: sourceAccount(peering),
    clusterId: peering.sourceId, grants: peering.grants ?? DEFAULT_GRANTS,
  };
}

/** Name of the Secret in the source that holds the kubeconfig. */
export function kubeconfigSecretName({ name }: Pick<Peering, 'name'>): string {
  return `${name}-kubeconfig`;
}

/** Name of the Secret in the source that holds the key during joining. */
export function joiningSecretName({ name }: Pick<Peering, 'name'>): string {
  return `isthmus-joining-${name}`;
}

/** Name of the Role and RoleBinding for renewing the token in a Secret. */
export function renewalName(secret: string): string {
  return joinName([{ constant: 'isthmus-renewal' }, secret], MAX_NAME_LENGTH);
}

/** Name of the Role and RoleBinding for reading the Secret of a Target. */
export function readingName(secret: string): string {
  return joinName([{ constant: 'isthmus-kubeconfig' }, secret], MAX_NAME_LENGTH);
}

/**
 * The source's objects, in apply order, without the namespace; `kubeconfig` is the text from {@link targetKubeconfig}.
 */
export function sourceSideManifests(peering: Peering, kubeconfig: string): readonly KubernetesObject[] {
  const { name, namespace, installNamespace, gatewayCluster, podPlaneCluster, delegation } = peering;
  const further = {
    ...(gatewayCluster !== undefined && { gateway: { cluster: gatewayCluster } }),
    ...(podPlaneCluster !== undefined && podPlaneCluster !== gatewayCluster && {
      podPlane: { cluster: podPlaneCluster },
    }),
    ...(delegation !== undefined && { delegation }),
  };
  const secretName = kubeconfigSecretName(peering);
  const secret = { namespace: namespace ?? installNamespace, name: secretName };
  const annotated = annotatorFor(peering);
  const common = [
    ...renewalManifests(secret, installNamespace), kubeconfigSecret(secret, kubeconfig, sourceAccount(peering)),
  ].map(annotated);
  if (namespace === undefined) {
    const target: ClusterTarget = {
      apiVersion: ADMIRALTY_API_VERSION, kind: 'ClusterTarget', metadata: { name, labels: PART_OF },
      spec: { kubeconfigSecret: { name: secretName, namespace: installNamespace }, ...further },
    };
    return [...common, annotated(target)];
  }
  const target: Target = {
    apiVersion: ADMIRALTY_API_VERSION, kind: 'Target', metadata: { namespace, name, labels: PART_OF },
    spec: { kubeconfigSecret: { name: secretName }, ...further },
  };
  return [...readingManifests(secret, installNamespace).map(annotated), ...common, annotated(target)];
}

/** Annotates an object with its target, so that leaving this target removes nothing of another. */
function annotatorFor(peering: Peering): (object: KubernetesObject) => KubernetesObject {
  const key = targetKey(targetRefOf(peering));
  return (object) => ({
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [PEERED_TARGET_ANNOTATION]: key } },
  });
}

/** Lets the components that use targets read this one Secret and no other of its namespace. */
export function readingManifests(
  { namespace, name: secret }: ServiceAccountName, installNamespace: string,
): readonly KubernetesObject[] {
  const name = readingName(secret);
  const rules = [onlyNamed(rule('', ['secrets'], READ), [secret])];
  return boundRole({ namespace, name }, rules, componentSubjects(TARGET_KUBECONFIG_READERS, installNamespace));
}

/** Lets the peering component write renewed tokens to this one Secret. */
function renewalManifests(
  { namespace, name: secret }: ServiceAccountName, installNamespace: string,
): readonly KubernetesObject[] {
  const name = renewalName(secret);
  const rules = [onlyNamed(rule('', ['secrets'], ['get', 'patch']), [secret])];
  return boundRole({ namespace, name }, rules, componentSubjects(['isthmus-peering'], installNamespace));
}

function kubeconfigSecret(at: ServiceAccountName, kubeconfig: string, account: ServiceAccountName): Secret {
  const data = { [DEFAULT_KUBECONFIG_KEY]: Buffer.from(kubeconfig, 'utf8').toString('base64') };
  const annotations = { [TOKEN_ACCOUNT_ANNOTATION]: `${account.namespace}/${account.name}` };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { ...at, labels: PART_OF, annotations }, type: 'Opaque', data };
}

/** The kubeconfig by which the source reaches the target. */
export function targetKubeconfig(peering: Peering, access: TargetAccess): string {
  return tokenKubeconfig({ ...access, cluster: peering.name, user: sourceName(peering), namespace: peering.namespace });
}

/** Contents of a kubeconfig with a token. */
export interface TokenKubeconfig extends TargetAccess {
  /** Name of the cluster, and of the context. */
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string | undefined;
}

/** A kubeconfig (client-go `clientcmd/api/v1`) that refers to no file and runs no program, as tenants' Secrets must. */
export function tokenKubeconfig(
  { server, certificateAuthority: authority, token, cluster: name, user, namespace }: TokenKubeconfig,
): string {
  const cluster = {
    server,
    ...(authority !== undefined && { 'certificate-authority-data': Buffer.from(authority, 'utf8').toString('base64') }),
  };
  return printed({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user, ...(namespace !== undefined && { namespace }) } }],
    'current-context': name,
  });
}

/**
 * The token of a kubeconfig with exactly one user that has one; undefined for any other kubeconfig, which peering does
 * not renew.
 */
export function tokenOf(kubeconfig: string): string | undefined {
  return onlyUser(parsedYaml(kubeconfig))?.token;
}

/** The kubeconfig with its token replaced. */
export function withToken(kubeconfig: string, token: string): string {
  const config = parsedYaml(kubeconfig);
  const only = onlyUser(config);
  if (only === undefined || !isRecord(config)) return kubeconfig;
  return printed({ ...config, users: [{ ...only.entry, user: { ...only.user, token } }] });
}

/** The only user, as an entry of the list and alone. */
interface OnlyUser {
  readonly entry: object;
  readonly user: object;
  readonly token: string;
}

function onlyUser(config: unknown): OnlyUser | undefined {
  const users: unknown = isRecord(config) ? config['users'] : undefined;
  const [entry, another]: readonly unknown[] = Array.isArray(users) ? users : [];
  if (another !== undefined || !isRecord(entry) || !isRecord(entry['user'])) return undefined;
  const { user } = entry;
  return typeof user['token'] === 'string' ? { entry, user, token: user['token'] } : undefined;
}

/** Undefined for text that is not YAML: it may have been edited. */
function parsedYaml(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

function printed(config: object): string {
  return stringify(config, { lineWidth: 0 });
}

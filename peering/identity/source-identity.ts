// A source's identity in a target as objects: its account and RBAC, derived from the (Cluster)Source alone. Names of
// bindings are those of Admiralty 0.17 and never collide between sources.
import type { ClusterSource, Source, SourceGrants } from '../../api/kinds/cluster-source.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { JOIN_KEY_ANNOTATION, SOURCE_ANNOTATION } from '../../api/objects/keys.ts';
import { ADMIRALTY_API_VERSION, ADMIRALTY_GROUP } from '../../api/objects/group-version.ts';
import {
  CLUSTER_SUMMARY_VIEWER_ROLE, componentSubjects, SOURCE_ELSEWHERE_ROLE, SOURCE_ROLE, SOURCE_STREAMS_ROLE,
  TOKEN_REQUESTER_ROLE,
} from '../../model/access/component-accounts.ts';
import { joinName, MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import { takesAllNamespaces } from '../../model/access/source-grants.ts';
import { ownerRule } from '../../model/access/confinement-rules.ts';
import {
  boundRole, clusterRole, clusterRoleBinding, onlyNamed, PART_OF, roleBinding, rule, serviceAccount, type RbacSubject,
  type ServiceAccountName,
} from '../../model/access/rbac-objects.ts';

/** The fields of a Source or ClusterSource that determine its identity. */
export interface SourceIdentity {
  /** Of a Source; missing for a ClusterSource. */
  readonly namespace?: string | undefined;
  readonly name: string;
  /** UID of the (Cluster)Source, which owns its dependents; missing before it is stored. */
  readonly uid?: string | undefined;
  readonly account?: ServiceAccountName | undefined;
  readonly userName?: string | undefined;
  /**
   * UID of the source's kube-system Namespace; without it nothing separates the source from other sources' objects in
   * the target.
   */
  readonly clusterId?: string | undefined;
  /** Additional permissions; as in Admiralty when missing. */
  readonly grants?: SourceGrants | undefined;
  /** Digest of the key that joined; missing for a source that was peered or declared. */
  readonly joinKey?: string | undefined;
}

/** Label on all objects of an identity, for watches. */
export const IDENTITY_LABELS = { ...PART_OF, 'app.kubernetes.io/component': 'source-identity' } as const;

/** The identity that a stored object requests. */
export function toSourceIdentity({ metadata, spec }: Source | ClusterSource): SourceIdentity {
  const { namespace, name = '', uid, annotations } = metadata;
  const joinKey = annotations?.[JOIN_KEY_ANNOTATION];
  const grants = grantsOf(spec);
  return {
    namespace, name, uid, account: accountOf(namespace, spec), userName: spec.userName, clusterId: spec.clusterID,
    ...(Object.keys(grants).length > 0 && { grants }), ...(joinKey !== undefined && { joinKey }),
  };
}

/** The grants in a (Cluster)Source, without its identity. */
function grantsOf({ namespaces, namespaceSelector, podSecurity, streams }: SourceGrants): SourceGrants {
  return {
    ...(streams !== undefined && { streams }), ...(namespaces !== undefined && { namespaces }),
    ...(namespaceSelector !== undefined && { namespaceSelector }), ...(podSecurity !== undefined && { podSecurity }),
  };
}

function accountOf(namespace: string | undefined, spec: Source['spec'] & ClusterSource['spec']): ServiceAccountName
  | undefined {
  if (namespace === undefined) return spec.serviceAccount;
  return spec.serviceAccountName === undefined ? undefined : { namespace, name: spec.serviceAccountName };
}

/**
 * `namespace/name` of a Source, `name` of a ClusterSource: the form used in {@link SOURCE_ANNOTATION} and work queues.
 */
export function sourceKey({ namespace, name }: Pick<SourceIdentity, 'namespace' | 'name'>): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The (Cluster)Source itself. */
export function sourceObject(identity: SourceIdentity): Source | ClusterSource {
  const { namespace, name, account, userName, clusterId, joinKey, grants = {} } = identity;
  const more = { labels: PART_OF, ...(joinKey !== undefined && { annotations: { [JOIN_KEY_ANNOTATION]: joinKey } }) };
  const common =
    { ...(userName !== undefined && { userName }), ...(clusterId !== undefined && { clusterID: clusterId }) };
  if (namespace === undefined) {
    const spec = { ...common, ...grantsOf(grants), ...(account !== undefined && { serviceAccount: account }) };
    return { apiVersion: ADMIRALTY_API_VERSION, kind: 'ClusterSource', metadata: { name, ...more }, spec };
  }
  // the namespace is its own
  const { namespaces: _namespaces, namespaceSelector: _selector, ...ofSource } = grantsOf(grants);
  const spec = { ...common, ...ofSource, ...(account !== undefined && { serviceAccountName: account.name }) };
  return { apiVersion: ADMIRALTY_API_VERSION, kind: 'Source', metadata: { namespace, name, ...more }, spec };
}

/** The account, owned by its source; undefined for one without an account. */
export function accountManifest(identity: SourceIdentity): KubernetesObject | undefined {
  return identity.account === undefined ? undefined : withOwner(serviceAccount(identity.account), identity);
}

/**
 * The RBAC; idempotent to apply. `installNamespace` is the target's, whose peering component may request the account's
 * tokens. `allowed` are the namespaces that accept pods of a ClusterSource, when not all do.
 */
export function identityManifests(
  identity: SourceIdentity, installNamespace: string, allowed: readonly string[] = [],
): readonly KubernetesObject[] {
  return [
    ...permissionsManifests(identity, allowed), ...ownManifests(identity),
    ...tokenManifests(identity, installNamespace),
  ].map((object) => withOwner(object, identity));
}

function permissionsManifests(identity: SourceIdentity, allowed: readonly string[]): readonly KubernetesObject[] {
  const holders = holdersOf(identity);
  const viewer =
    clusterRoleBinding(dependentName(identity, 'cluster-summary-viewer'), CLUSTER_SUMMARY_VIEWER_ROLE, holders);
  const { namespace, name, grants = {} } = identity;
  const roles = grants.streams === 'All' ? [SOURCE_ROLE, SOURCE_STREAMS_ROLE] : [SOURCE_ROLE];
  const bindingName = (role: string): string => {
    const more = role === SOURCE_ROLE ? [] : [{ constant: 'streams' }];
    return namespace === undefined
      ? dependentName(identity, more[0]?.constant)
      : joinName([{ constant: 'admiralty-source' }, name, ...more], MAX_NAME_LENGTH);
  };
  const inNamespace = (at: string) => roles.map(
    (role) => roleBinding({ namespace: at, name: bindingName(role), roleKind: 'ClusterRole', roleName: role }, holders),
  );
  if (namespace !== undefined) return [...inNamespace(namespace), viewer];
  if (takesAllNamespaces(grants)) {
    return [...roles.map((role) => clusterRoleBinding(bindingName(role), role, holders)), viewer];
  }
  const elsewhere = clusterRoleBinding(dependentName(identity, 'elsewhere'), SOURCE_ELSEWHERE_ROLE, holders);
  return [elsewhere, ...allowed.flatMap(inNamespace), viewer];
}

/** Our peering component first: RBAC allows granting only permissions that one has. */
function tokenManifests(
  { account, ...identity }: SourceIdentity, installNamespace: string,
): readonly KubernetesObject[] {
  if (account === undefined) return [];
  const { namespace } = account;
  const [ours, own] = [dependentName(identity, 'token-requester'), dependentName(identity, 'own-token')];
  return [
    roleBinding({ namespace, name: ours, roleKind: 'ClusterRole', roleName: TOKEN_REQUESTER_ROLE }, componentSubjects(
      ['isthmus-peering'], installNamespace,
    )),
    ...boundRole(
      { namespace, name: own }, [onlyNamed(rule('', ['serviceaccounts/token'], ['create']), [account.name])], [account],
    ),
  ];
}

/**
 * Which cluster's objects a source may write. It may also delete its own (Cluster)Source, so that it can leave without
 * the target's administrator.
 */
function ownManifests(identity: SourceIdentity): readonly KubernetesObject[] {
  const { namespace, name, clusterId } = identity;
  const leaving = dependentName(identity, 'leave');
  const rules = [
    onlyNamed(rule(ADMIRALTY_GROUP, [namespace === undefined ? 'clustersources' : 'sources'], ['delete']), [name]),
    ownerRule(clusterId),
  ];
  if (namespace === undefined) {
    return [clusterRole(leaving, rules), clusterRoleBinding(leaving, leaving, holdersOf(identity))];
  }
  return boundRole({ namespace, name: leaving }, rules, holdersOf(identity));
}

function holdersOf({ account, userName }: SourceIdentity): readonly RbacSubject[] {
  return [...(account === undefined ? [] : [account]), ...(userName === undefined ? [] : [{ userName }])];
}

function dependentName({ namespace, name }: SourceIdentity, purpose?: string): string {
  const prefix = namespace === undefined
    ? [{ constant: 'admiralty-cluster-source' }]
    : [{ constant: 'admiralty-source' }, namespace];
  return joinName([...prefix, name, ...(purpose === undefined ? [] : [{ constant: purpose }])], MAX_NAME_LENGTH);
}

/**
 * Garbage collection deletes what the source owns. A Source cannot own cluster-scoped objects (Kubernetes "Owners and
 * Dependents"): these are found by annotation.
 */
function withOwner(object: KubernetesObject, identity: SourceIdentity): KubernetesObject {
  const { namespace, name, uid } = identity;
  const kind = namespace === undefined ? 'ClusterSource' : 'Source';
  const mayOwn = uid !== undefined && (namespace === undefined || namespace === object.metadata.namespace);
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: IDENTITY_LABELS,
      annotations: { [SOURCE_ANNOTATION]: sourceKey(identity) },
      ...(mayOwn && { ownerReferences: [{ apiVersion: ADMIRALTY_API_VERSION, kind, name, uid }] }),
    },
  };
}

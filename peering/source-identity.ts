// Who a source is in a target, as objects: its account, its rights and the policy that keeps it to what is its own. They follow from the
// (Cluster)Source alone. Names of bindings are Admiralty 0.17's (contract §1.3, §5.3); names that differ by source never meet.
import type { ClusterSource, Source } from '../api/cluster-source.ts';
import type { KubernetesObject } from '../api/core.ts';
import { JOIN_KEY_ANNOTATION, SOURCE_ANNOTATION } from '../api/keys.ts';
import { ADMIRALTY_API_VERSION, ADMIRALTY_GROUP } from '../api/resource-types.ts';
import { CLUSTER_SUMMARY_VIEWER_ROLE, componentHolders, SOURCE_ROLE, TOKEN_REQUESTER_ROLE } from '../model/component-accounts.ts';
import { joinName, MAX_NAME_LENGTH } from '../model/names.ts';
import { clusterRole, clusterRoleBinding, onlyNamed, PART_OF, role, roleBinding, rule, serviceAccount, type RightsHolder, type ServiceAccountName } from '../model/rbac-objects.ts';
import { sourcePolicy } from './source-policy.ts';

/** A Source or ClusterSource by what its identity follows from. */
export interface SourceIdentity {
  /** Of a Source; missing for a ClusterSource. */
  readonly namespace?: string | undefined;
  readonly name: string;
  /** UID of the (Cluster)Source, which owns what is made for it; missing where it is not stored yet. */
  readonly uid?: string | undefined;
  readonly account?: ServiceAccountName | undefined;
  readonly userName?: string | undefined;
  /** UID of the source's kube-system Namespace; without it nothing keeps the source from what other sources have in the target. */
  readonly clusterId?: string | undefined;
  /** Digest of the key that joined; missing for one that was peered or declared. */
  readonly joinKey?: string | undefined;
}

/** Label on all that is made for an identity, so that it can be followed. */
export const IDENTITY_LABELS = { ...PART_OF, 'app.kubernetes.io/component': 'source-identity' } as const;

/** The identity that a stored object asks for. */
export function toSourceIdentity({ metadata, spec }: Source | ClusterSource): SourceIdentity {
  const { namespace, name = '', uid, annotations } = metadata;
  const joinKey = annotations?.[JOIN_KEY_ANNOTATION];
  return { namespace, name, uid, account: accountOf(namespace, spec), userName: spec.userName, clusterId: spec.clusterID, ...(joinKey !== undefined && { joinKey }) };
}

function accountOf(namespace: string | undefined, spec: Source['spec'] & ClusterSource['spec']): ServiceAccountName | undefined {
  if (namespace === undefined) return spec.serviceAccount;
  return spec.serviceAccountName === undefined ? undefined : { namespace, name: spec.serviceAccountName };
}

/** `namespace/name` of a Source, `name` of a ClusterSource: the text by which {@link SOURCE_ANNOTATION} and work queues refer to it. */
export function sourceKey({ namespace, name }: Pick<SourceIdentity, 'namespace' | 'name'>): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The (Cluster)Source itself. */
export function sourceObject(identity: SourceIdentity): Source | ClusterSource {
  const { namespace, name, account, userName, clusterId, joinKey } = identity;
  const more = { labels: PART_OF, ...(joinKey !== undefined && { annotations: { [JOIN_KEY_ANNOTATION]: joinKey } }) };
  const common = { ...(userName !== undefined && { userName }), ...(clusterId !== undefined && { clusterID: clusterId }) };
  if (namespace === undefined) {
    const spec = { ...common, ...(account !== undefined && { serviceAccount: account }) };
    return { apiVersion: ADMIRALTY_API_VERSION, kind: 'ClusterSource', metadata: { name, ...more }, spec };
  }
  const spec = { ...common, ...(account !== undefined && { serviceAccountName: account.name }) };
  return { apiVersion: ADMIRALTY_API_VERSION, kind: 'Source', metadata: { namespace, name, ...more }, spec };
}

/** The account, owned by its source; undefined for one that has none. */
export function accountManifest(identity: SourceIdentity): KubernetesObject | undefined {
  return identity.account === undefined ? undefined : marked(serviceAccount(identity.account), identity);
}

/**
 * The rights, the policy first: what it forbids must never have been allowed. Applying them again changes nothing.
 * `installNamespace` is the target's; its peering component may ask for the account's tokens.
 */
export function identityManifests(identity: SourceIdentity, installNamespace: string): readonly KubernetesObject[] {
  return [...policyManifests(identity), ...rightsManifests(identity), ...leavingManifests(identity), ...tokenManifests(identity, installNamespace)].map((object) => marked(object, identity));
}

function policyManifests(identity: SourceIdentity): readonly KubernetesObject[] {
  const { account, userName, clusterId } = identity;
  if (clusterId === undefined) return [];
  return sourcePolicy({ policyName: dependentName(identity, 'own-objects'), account, userName, sourceId: clusterId });
}

function rightsManifests(identity: SourceIdentity): readonly KubernetesObject[] {
  const holders = holdersOf(identity);
  const viewer = clusterRoleBinding(dependentName(identity, 'cluster-summary-viewer'), CLUSTER_SUMMARY_VIEWER_ROLE, holders);
  const { namespace, name } = identity;
  if (namespace === undefined) return [clusterRoleBinding(dependentName(identity), SOURCE_ROLE, holders), viewer];
  const inNamespace = { namespace, name: joinName([{ constant: 'admiralty-source' }, name], MAX_NAME_LENGTH), roleKind: 'ClusterRole', roleName: SOURCE_ROLE } as const;
  return [roleBinding(inNamespace, holders), viewer];
}

/** Our peering first: nobody may give a right that he has not. */
function tokenManifests({ account, ...identity }: SourceIdentity, installNamespace: string): readonly KubernetesObject[] {
  if (account === undefined) return [];
  const { namespace } = account;
  const [ours, own] = [dependentName(identity, 'token-requester'), dependentName(identity, 'own-token')];
  return [
    roleBinding({ namespace, name: ours, roleKind: 'ClusterRole', roleName: TOKEN_REQUESTER_ROLE }, componentHolders(['isthmus-peering'], installNamespace)),
    role(namespace, own, [onlyNamed(rule('', ['serviceaccounts/token'], ['create']), [account.name])]),
    roleBinding({ namespace, name: own, roleKind: 'Role', roleName: own }, [account]),
  ];
}

/** A source may remove itself, so that it can leave without an administrator of the target. */
function leavingManifests(identity: SourceIdentity): readonly KubernetesObject[] {
  const { namespace, name } = identity;
  const leaving = dependentName(identity, 'leave');
  const rules = [onlyNamed(rule(ADMIRALTY_GROUP, [namespace === undefined ? 'clustersources' : 'sources'], ['delete']), [name])];
  if (namespace === undefined) return [clusterRole(leaving, rules), clusterRoleBinding(leaving, leaving, holdersOf(identity))];
  return [role(namespace, leaving, rules), roleBinding({ namespace, name: leaving, roleKind: 'Role', roleName: leaving }, holdersOf(identity))];
}

function holdersOf({ account, userName }: SourceIdentity): readonly RightsHolder[] {
  return [...(account === undefined ? [] : [account]), ...(userName === undefined ? [] : [{ userName }])];
}

function dependentName({ namespace, name }: SourceIdentity, purpose?: string): string {
  const prefix = namespace === undefined ? [{ constant: 'admiralty-cluster-source' }] : [{ constant: 'admiralty-source' }, namespace];
  return joinName([...prefix, name, ...(purpose === undefined ? [] : [{ constant: purpose }])], MAX_NAME_LENGTH);
}

/**
 * Garbage collection removes what the source owns with it. A Source cannot own what has no namespace (Kubernetes "Owners and Dependents"):
 * that is found by its annotation.
 */
function marked(object: KubernetesObject, identity: SourceIdentity): KubernetesObject {
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

// The `rbac.authorization.k8s.io/v1` objects of our manifests, and ServiceAccounts, as plain data.
import type { KubernetesObject, StringMap } from '../../api/objects/core.ts';

/** Label on everything that `isthmus install` and `isthmus peer` create. */
export const PART_OF: StringMap = { 'app.kubernetes.io/part-of': 'isthmus' };

/** API group of roles and bindings. */
export const RBAC_GROUP = 'rbac.authorization.k8s.io';
const RBAC_VERSION = `${RBAC_GROUP}/v1`;

/** `rbac.authorization.k8s.io/v1` PolicyRule: the verbs that are allowed on the resources of one API group. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /**
   * The only objects that the rule applies to; all when missing. `list` and `watch` then need a field selector on the
   * name.
   */
  readonly resourceNames?: readonly string[];
}

/** A ClusterRole, or a Role of one namespace. */
export interface RoleObject extends KubernetesObject {
  readonly rules: readonly PolicyRule[];
}

/** A ServiceAccount that is granted permissions. */
export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** A user that is granted permissions, by its name at the API server. */
export interface UserName {
  readonly userName: string;
}

/** The subject of a role binding. */
export type RbacSubject = ServiceAccountName | UserName;

/** `rbac.authorization.k8s.io/v1` Subject. */
export type Subject = ({ readonly kind: 'ServiceAccount' } & ServiceAccountName)
  | { readonly kind: 'User'; readonly apiGroup: string; readonly name: string };

/** A ClusterRoleBinding or RoleBinding. */
export interface BindingObject extends KubernetesObject {
  readonly roleRef: { readonly apiGroup: string; readonly kind: 'ClusterRole' | 'Role'; readonly name: string };
  readonly subjects: readonly Subject[];
}

/** Verbs for reading. */
export const READ: readonly string[] = ['get', 'list', 'watch'];
/** Verbs for writing by server-side apply and patches. */
export const WRITE: readonly string[] = ['create', 'patch', 'delete'];

/** A rule for resources of one group; the core group is the empty string. */
export function rule(group: string, resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: [group], resources, verbs };
}

/** The same rule, for these objects only. */
export function onlyNamed(policy: PolicyRule, resourceNames: readonly string[]): PolicyRule {
  return { ...policy, resourceNames };
}

/** A ServiceAccount. */
export function serviceAccount(account: ServiceAccountName): KubernetesObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...account, labels: PART_OF } };
}

/** A ClusterRole. */
export function clusterRole(name: string, rules: readonly PolicyRule[]): RoleObject {
  return { apiVersion: RBAC_VERSION, kind: 'ClusterRole', metadata: { name, labels: PART_OF }, rules };
}

/** A Role of `namespace`. */
export function role(namespace: string, name: string, rules: readonly PolicyRule[]): RoleObject {
  return { apiVersion: RBAC_VERSION, kind: 'Role', metadata: { namespace, name, labels: PART_OF }, rules };
}

/** Binds a ClusterRole in the whole cluster. */
export function clusterRoleBinding(
  name: string, clusterRoleName: string, holders: readonly RbacSubject[],
): BindingObject {
  return {
    apiVersion: RBAC_VERSION,
    kind: 'ClusterRoleBinding',
    metadata: { name, labels: PART_OF },
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: clusterRoleName },
    subjects: holders.map(toSubject),
  };
}

/** Name of a RoleBinding, and the ClusterRole or the Role of the same namespace that it refers to. */
export interface RoleBindingName {
  readonly namespace: string;
  readonly name: string;
  readonly roleKind: 'ClusterRole' | 'Role';
  readonly roleName: string;
}

/** Binds a role within one namespace. */
export function roleBinding(
  { namespace, name, roleKind, roleName }: RoleBindingName, holders: readonly RbacSubject[],
): BindingObject {
  return {
    apiVersion: RBAC_VERSION,
    kind: 'RoleBinding',
    metadata: { namespace, name, labels: PART_OF },
    roleRef: { apiGroup: RBAC_GROUP, kind: roleKind, name: roleName },
    subjects: holders.map(toSubject),
  };
}

/** A Role of a namespace, and its binding of the same name. */
export function boundRole(
  { namespace, name }: Pick<RoleBindingName, 'namespace' | 'name'>, rules: readonly PolicyRule[],
  holders: readonly RbacSubject[],
): readonly [RoleObject, BindingObject] {
  return [role(namespace, name, rules), roleBinding({ namespace, name, roleKind: 'Role', roleName: name }, holders)];
}

function toSubject(holder: RbacSubject): Subject {
  if ('userName' in holder) return { kind: 'User', apiGroup: RBAC_GROUP, name: holder.userName };
  return { kind: 'ServiceAccount', namespace: holder.namespace, name: holder.name };
}

// Names shared by installation and peering: the components' ServiceAccounts, and the ClusterRoles that are bound
// separately.
import { roleBinding, type BindingObject, type ServiceAccountName } from './rbac-objects.ts';

/** Name of a component's ServiceAccount and ClusterRole. */
export type ComponentAccount = 'isthmus-webhook' | 'isthmus-scheduler' | 'isthmus-delegate-controller'
  | 'isthmus-virtual-node' | 'isthmus-peering' | 'isthmus-discovery';

/** ServiceAccount of a process that runs several components: it has the permissions of all of them. */
export const ALL_COMPONENTS_ACCOUNT = 'isthmus';

/** The components that open kubeconfigs of targets. */
export const TARGET_KUBECONFIG_READERS: readonly ComponentAccount[] =
  ['isthmus-scheduler', 'isthmus-delegate-controller', 'isthmus-virtual-node', 'isthmus-peering'];

/**
 * ClusterRole of a source's identity in a target; bound in one namespace for a Source, in those that admit its pods for
 * a ClusterSource.
 */
export const SOURCE_ROLE = 'isthmus-source';
/**
 * ClusterRole of a source that not all namespaces admit: its permissions in the others, to clean up. Bound in the whole
 * target.
 */
export const SOURCE_ELSEWHERE_ROLE = 'isthmus-source-elsewhere';
/**
 * ClusterRole of a source that may open logs, exec, attach and port-forward of every pod where its pods may run
 * (`spec.streams: All`).
 */
export const SOURCE_STREAMS_ROLE = 'isthmus-source-streams';
/**
 * ClusterRole of a source's identity in a Pod-mode target, in addition to {@link SOURCE_ROLE}. Nothing binds it by
 * default.
 */
export const SOURCE_POD_MODE_ROLE = 'isthmus-source-pod-mode';
/** ClusterRole that lets a source read a target's capacity and cluster ID. */
export const CLUSTER_SUMMARY_VIEWER_ROLE = 'isthmus-cluster-summary-viewer';
/**
 * ClusterRole that lets discovery read the Secrets of a registry; bound by administrators within the registry's
 * namespaces.
 */
export const REGISTRY_SECRET_READER_ROLE = 'isthmus-registry-secret-reader';
/**
 * ClusterRole that lets the scheduler publish targets and decisions as SIG Multicluster's kinds; bound by
 * administrators within the namespaces where they want them.
 */
export const PROFILE_WRITER_ROLE = 'isthmus-cluster-profile-writer';
/** ClusterRole that lets the components read kubeconfig Secrets; only bound within a namespace that has them. */
export const TARGET_SECRET_READER_ROLE = 'isthmus-target-secret-reader';
/**
 * ClusterRole to read the ConfigMaps and Secrets that elected pods refer to. Its ClusterRoleBinding may be replaced by
 * RoleBindings in the namespaces of elected pods.
 */
export const FOLLOWED_READER_ROLE = 'isthmus-followed-reader';
/**
 * ClusterRole to list, in a target, the Secrets that sources created. It has a binding of its own, so that a cluster
 * that is not a target can omit it.
 */
export const COPIED_SECRET_READER_ROLE = 'isthmus-copied-secret-reader';
/**
 * ClusterRole to request tokens; bound to peering in the namespaces of sources' ServiceAccounts, so that it may grant
 * each of them permission for its own.
 */
export const TOKEN_REQUESTER_ROLE = 'isthmus-token-requester';
/** ValidatingAdmissionPolicy that restricts sources to their own objects, and its binding. */
export const SOURCE_OBJECT_POLICY = 'isthmus-sources';
/**
 * ValidatingAdmissionPolicy that limits the lifetime of tokens that sources request for themselves, and its binding.
 */
export const SOURCE_TOKEN_POLICY = 'isthmus-source-tokens';
/** ValidatingAdmissionPolicy that limits the requests of an invitation's bearer, and its binding. */
export const INVITATION_POLICY = 'isthmus-invitations';
/** ValidatingAdmissionPolicy that restricts peering to the accounts and permissions of sources, and its binding. */
export const PEERING_POLICY = 'isthmus-peering';
/** ValidatingAdmissionPolicy that restricts peering to tokens of sources, and its binding. */
export const PEERING_TOKEN_POLICY = 'isthmus-peering-tokens';
/** ValidatingAdmissionPolicy that restricts discovery to the ClusterTargets that it makes, and its binding. */
export const DISCOVERY_POLICY = 'isthmus-discovery';
/** The RBAC subjects that get the permissions of components: their own accounts, and the one that runs them all. */
export function componentSubjects(
  components: readonly ComponentAccount[], namespace: string,
): readonly ServiceAccountName[] {
  return [...components, ALL_COMPONENTS_ACCOUNT].map((name) => ({ namespace, name }));
}

/** Lets the components read the kubeconfig Secrets of one namespace. */
export function targetSecretReaderBinding(namespace: string, installNamespace: string): BindingObject {
  const name = {
    namespace, name: TARGET_SECRET_READER_ROLE, roleKind: 'ClusterRole', roleName: TARGET_SECRET_READER_ROLE,
  } as const;
  return roleBinding(name, componentSubjects(TARGET_KUBECONFIG_READERS, installNamespace));
}

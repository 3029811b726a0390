// RBAC of each component, by the cluster's role: a source (its pods may run elsewhere), a target (it runs pods of
// others), or both, which may have itself as target (`spec.self: true`). A component gets only the permissions it uses
// in that role.
import { ADMIRALTY_GROUP, ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import { POD_METRICS } from '../../api/resource-types.ts';
import {
  CLUSTER_SUMMARY_VIEWER_ROLE, SOURCE_ELSEWHERE_ROLE, SOURCE_ROLE, SOURCE_STREAMS_ROLE, TOKEN_REQUESTER_ROLE,
  type ComponentAccount,
} from '../../model/access/component-accounts.ts';
import { ADMIRALTY_SOURCE_LEASES } from '../../model/naming/live-admiralty.ts';
import { onlyNamed, RBAC_GROUP, READ, rule, WRITE, type PolicyRule } from '../../model/access/rbac-objects.ts';
import { STREAM_SUBRESOURCES } from '../../model/access/pod-mode-rules.ts';
import { ownerRule } from '../../model/access/confinement-rules.ts';
import { CLUSTER_NAMESPACE } from '../../model/access/system-namespaces.ts';
import { WEBHOOK_CONFIGURATION_NAME } from './webhook-configuration.ts';

/** Where permissions are needed: in sources, in targets, in sources that are their own target, or everywhere. */
export type Side = 'source' | 'target' | 'self' | 'either';

/** The role of a cluster. */
export type InstallRole = 'source' | 'target' | 'both';

/** Whether a cluster of this role needs the permissions of a side. */
export function isNeeded(side: Side, role: InstallRole): boolean {
  return side === 'either' || role === 'both' || side === role;
}

/** The permissions of a component on one side; `name` is that of its ClusterRole. */
export interface ComponentPermissions {
  readonly component: ComponentAccount;
  readonly side: Exclude<Side, 'either'>;
  readonly name: string;
  readonly rules: readonly PolicyRule[];
}

/** Kinds of other tools' registries. */
const REGISTRY_KINDS: readonly { readonly group: string; readonly plurals: readonly string[] }[] = [
  { group: 'cluster.x-k8s.io', plurals: ['clusters'] },
  { group: 'kustomize.toolkit.fluxcd.io', plurals: ['kustomizations'] },
  { group: 'helm.toolkit.fluxcd.io', plurals: ['helmreleases'] },
  { group: 'multicluster.x-k8s.io', plurals: ['clusterprofiles'] },
  { group: 'fleet.cattle.io', plurals: ['clusters'] },
  { group: 'cluster.open-cluster-management.io', plurals: ['managedclusters'] },
  { group: 'authentication.open-cluster-management.io', plurals: ['managedserviceaccounts'] },
  { group: 'core.kubefed.io', plurals: ['kubefedclusters'] },
];
const REGISTRY_CRDS =
  REGISTRY_KINDS.flatMap(({ group, plurals }) => plurals.map((plural) => `${plural}.${group}`));
const ADMISSION_GROUP = 'admissionregistration.k8s.io';

/** The UID of kube-system is the cluster's identity. */
export const READ_CLUSTER_ID = onlyNamed(rule('', ['namespaces'], ['get']), [CLUSTER_NAMESPACE]);

/** Watching targets, and the proxy pods that may run there. */
const WATCH_TARGETS: readonly PolicyRule[] = [
  rule(ADMIRALTY_GROUP, ['targets', 'clustertargets'], READ),
  rule('', ['pods'], READ),
  READ_CLUSTER_ID,
  onlyNamed(rule('coordination.k8s.io', ['leases'], ['list', 'watch']), ADMIRALTY_SOURCE_LEASES), // detects Admiralty
];
/** Ranges of the own cluster, where no tenant's target, and no target's pod, may be; its nodes' are read as well. */
const READ_OWN_CIDRS: readonly PolicyRule[] = [
  rule('networking.k8s.io', ['servicecidrs'], ['list']),
  onlyNamed(rule('discovery.k8s.io', ['endpointslices'], ['get']), ['kubernetes']), // where the API servers are
];
/** Watching this very cluster as a target. */
const WATCH_SELF_AS_TARGET = rule(ADMIRALTY_GROUP, ['podchaperons', 'clustersummaries'], READ);

/** Virtual nodes, namespaces and policies decide where a pod may run. */
const PLACEMENT_INPUTS: readonly PolicyRule[] = [
  rule('', ['nodes', 'namespaces'], ['list', 'watch']),
  rule(ISTHMUS_GROUP, ['placementpolicies', 'clusterplacementpolicies'], ['list', 'watch']),
];

const WEBHOOK: readonly PolicyRule[] = [
  // Writes the CA bundle of its own certificates.
  onlyNamed(
    rule(ADMISSION_GROUP, ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'], [...READ, 'patch']),
    [WEBHOOK_CONFIGURATION_NAME],
  ),
  rule(ADMISSION_GROUP, ['mutatingwebhookconfigurations'], ['list']), // detects Admiralty's webhook for the same pods
  rule('events.k8s.io', ['events'], ['create', 'patch']), // events for unusable certificates and missed pods
  rule('', ['pods', 'namespaces'], ['list']), // elected pods that bypassed it
  rule(ISTHMUS_GROUP, ['namespaceelections'], READ),
  rule(ADMIRALTY_GROUP, ['clustertargets'], ['list', 'watch']), // those that are this cluster
];

const SCHEDULER: readonly PolicyRule[] = [
  ...WATCH_TARGETS,
  ...READ_OWN_CIDRS,
  ...PLACEMENT_INPUTS,
  // removes the finalizer; replaces a pod whose target was lost before it was bound
  rule('', ['pods'], ['patch', 'delete']),
  rule('', ['pods/binding'], ['create']),
  rule('', ['pods/eviction'], ['create']), // failback
  rule('', ['pods/status'], ['patch']),
  rule('events.k8s.io', ['events'], ['create', 'patch']),
  rule(ISTHMUS_GROUP, ['placementpolicies/status', 'clusterplacementpolicies/status'], ['patch']),
  rule(ISTHMUS_GROUP, ['placementpolicies'], ['delete']), // of interrupted moves
  // published decisions, and the names that Argo CD knows the targets by
  rule(ISTHMUS_GROUP, ['clusterdecisions', 'targetdiscoveries'], ['list', 'watch']),
  rule(ISTHMUS_GROUP, ['clusterdecisions/status'], ['patch']),
];
// candidates
const SCHEDULER_SELF: readonly PolicyRule[] = [WATCH_SELF_AS_TARGET, rule(ADMIRALTY_GROUP, ['podchaperons'], WRITE)];

/** Feedback, follow, failover. */
const DELEGATE_CONTROLLER_SOURCE: readonly PolicyRule[] = [
  ...WATCH_TARGETS,
  ...READ_OWN_CIDRS,
  ...PLACEMENT_INPUTS, // a Service goes only where its pods may run
  rule('', ['pods'], ['patch', 'delete']),
  rule('', ['pods/status'], ['patch']),
  rule('events.k8s.io', ['events'], ['create', 'patch']),
  rule('', ['services'], [...READ, 'patch']), // annotates those that follow elected pods
  rule('networking.k8s.io', ['ingresses'], [...READ, 'patch']),
  rule(ADMIRALTY_GROUP, ['clustersummaries'], [...READ, ...WRITE]), // of targets without Isthmus
];
/** Chaperons and the summary. */
const DELEGATE_CONTROLLER_TARGET: readonly PolicyRule[] = [
  READ_CLUSTER_ID,
  rule('', ['pods'], [...READ, ...WRITE]),
  rule('', ['pods/status', 'pods/resize'], ['patch']), // readiness gates, changes of running pods
  rule('', ['nodes'], READ),
  rule(ADMIRALTY_GROUP, ['podchaperons'], [...READ, 'patch']),
  rule(ADMIRALTY_GROUP, ['podchaperons/status'], ['patch']),
  rule(ADMIRALTY_GROUP, ['podchaperons/finalizers'], ['update']), // an owner reference that blocks its owner's deletion
  rule(ADMIRALTY_GROUP, ['clustersummaries'], ['create', 'patch']), // its own
  rule('events.k8s.io', ['events'], ['create', 'patch']),
  rule(ISTHMUS_GROUP, ['resourceshares'], ['list', 'watch']),
  rule(ISTHMUS_GROUP, ['resourceshares/status'], ['patch']),
  rule(ISTHMUS_GROUP, ['sourceleases'], [...READ, 'patch']),
  rule(ISTHMUS_GROUP, ['sourceleases/status'], ['patch']),
  rule(ADMIRALTY_GROUP, ['sources', 'clustersources'], ['list', 'watch']), // limits for their pods
  // Grants sources streams of their own delegates, pod by pod: RBAC allows granting only permissions that one has.
  rule(RBAC_GROUP, ['roles', 'rolebindings'], ['list', 'watch', ...WRITE]),
  rule('', ['pods/log'], ['get']),
  rule('', STREAM_SUBRESOURCES, ['create', 'get']),
  // what sources may know of Secrets that they wrote
  rule(ISTHMUS_GROUP, ['secretcopies'], ['list', 'watch', ...WRITE]),
];
const DELEGATE_CONTROLLER_SELF: readonly PolicyRule[] = [
  rule(ADMIRALTY_GROUP, ['podchaperons'], ['delete']),
  rule('events.k8s.io', ['events'], ['list', 'watch']), // shown on proxy pods
  rule(ISTHMUS_GROUP, ['sourceleases'], ['create', 'delete']), // its heartbeat
];

const VIRTUAL_NODE: readonly PolicyRule[] = [
  ...WATCH_TARGETS,
  rule('events.k8s.io', ['events'], ['create', 'patch']),
  ...READ_OWN_CIDRS,
  rule('', ['nodes'], [...READ, ...WRITE]),
  rule('', ['nodes/status'], ['patch']),
  rule(ADMIRALTY_GROUP, ['targets/status', 'clustertargets/status'], ['patch']),
  // the finalizer of a target that is drained before deletion
  rule(ADMIRALTY_GROUP, ['targets', 'clustertargets'], ['patch']),
  rule('', ['pods/eviction'], ['create']),
  // The kubelet API: authorization, and its own serving certificate, which another identity approves.
  rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
  rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  rule('certificates.k8s.io', ['certificatesigningrequests'], ['create', 'get']),
];
/** What a source's identity may see and do in other targets. */
const VIRTUAL_NODE_SELF: readonly PolicyRule[] = [
  WATCH_SELF_AS_TARGET,
  rule('', ['pods/log'], ['get']),
  rule('', STREAM_SUBRESOURCES, ['create', 'get']),
  rule(POD_METRICS.group, ['pods'], ['list']), // kubectl top
  rule('', ['resourcequotas'], ['list']), // shown on the virtual node of a Target
];

/** Renews the tokens of targets: peering grants write access to the one Secret. */
const PEERING_SOURCE: readonly PolicyRule[] = WATCH_TARGETS;
// Grants permissions to others, so it must be guarded best: it may bind only these roles, and request tokens only where
// it has bound that role.
const PEERING_TARGET: readonly PolicyRule[] = [
  READ_CLUSTER_ID,
  // of invited sources, which may delete themselves
  rule(ADMIRALTY_GROUP, ['sources', 'clustersources'], [...READ, ...WRITE]),
  rule(ADMIRALTY_GROUP, ['sources/status', 'clustersources/status'], ['patch']),
  rule(ISTHMUS_GROUP, ['invitations', 'joinrequests'], [...READ, 'delete']),
  rule(ISTHMUS_GROUP, ['invitations/status', 'joinrequests/status'], ['patch']),
  rule('events.k8s.io', ['events'], ['create', 'patch']),
  rule('', ['serviceaccounts'], [...READ, ...WRITE]),
  rule(RBAC_GROUP, ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'], [...READ, ...WRITE]),
  onlyNamed(rule(RBAC_GROUP, ['clusterroles'], ['bind']), [
    SOURCE_ROLE, SOURCE_ELSEWHERE_ROLE, SOURCE_STREAMS_ROLE, CLUSTER_SUMMARY_VIEWER_ROLE, TOKEN_REQUESTER_ROLE,
  ]),
  rule('', ['namespaces'], ['list', 'watch']), // their labels admit sources
  // grants each source the verb `own` on its cluster: RBAC lets nobody grant what they do not have
  ownerRule(undefined),
  // checks that the policies limiting sources exist; policies do not protect policies, so it may not delete any
  rule(ADMISSION_GROUP, ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'], READ),
];

/** Registries of other tools, and the targets that are made of them. Secrets are read where administrators allow it. */
const DISCOVERY: readonly PolicyRule[] = [
  READ_CLUSTER_ID,
  ...READ_OWN_CIDRS,
  rule('', ['nodes'], ['list']), // addresses of the own cluster, where no registered one may be
  onlyNamed(rule('coordination.k8s.io', ['leases'], ['list', 'watch']), ADMIRALTY_SOURCE_LEASES), // detects Admiralty
  rule(ISTHMUS_GROUP, ['targetdiscoveries'], ['list', 'watch']),
  rule(ISTHMUS_GROUP, ['targetdiscoveries/status'], ['patch']),
  rule(ADMIRALTY_GROUP, ['clustertargets'], ['list', 'watch', ...WRITE]),
  // which kinds are served
  onlyNamed(rule('apiextensions.k8s.io', ['customresourcedefinitions'], ['list', 'watch']), REGISTRY_CRDS),
  ...REGISTRY_KINDS.map(({ group, plurals }) => rule(group, plurals, ['list', 'watch'])),
];

/** All components' permissions, one ClusterRole per entry. */
export const COMPONENT_PERMISSIONS: readonly ComponentPermissions[] = [
  { component: 'isthmus-webhook', side: 'source', name: 'isthmus-webhook', rules: WEBHOOK },
  { component: 'isthmus-scheduler', side: 'source', name: 'isthmus-scheduler', rules: SCHEDULER },
  { component: 'isthmus-scheduler', side: 'self', name: 'isthmus-scheduler-self', rules: SCHEDULER_SELF },
  {
    component: 'isthmus-delegate-controller', side: 'source', name: 'isthmus-delegate-controller-source',
    rules: DELEGATE_CONTROLLER_SOURCE,
  },
  {
    component: 'isthmus-delegate-controller', side: 'target', name: 'isthmus-delegate-controller',
    rules: DELEGATE_CONTROLLER_TARGET,
  },
  {
    component: 'isthmus-delegate-controller', side: 'self', name: 'isthmus-delegate-controller-self',
    rules: DELEGATE_CONTROLLER_SELF,
  },
  { component: 'isthmus-virtual-node', side: 'source', name: 'isthmus-virtual-node', rules: VIRTUAL_NODE },
  { component: 'isthmus-virtual-node', side: 'self', name: 'isthmus-virtual-node-self', rules: VIRTUAL_NODE_SELF },
  { component: 'isthmus-peering', side: 'source', name: 'isthmus-peering-source', rules: PEERING_SOURCE },
  { component: 'isthmus-peering', side: 'target', name: 'isthmus-peering', rules: PEERING_TARGET },
  { component: 'isthmus-discovery', side: 'source', name: 'isthmus-discovery', rules: DISCOVERY },
];

/** Names of all components' ServiceAccounts. */
export const COMPONENT_ACCOUNTS: readonly ComponentAccount[] =
  [...new Set(COMPONENT_PERMISSIONS.map(({ component }) => component))];

/** The sides of a component. */
export function sidesOf(component: ComponentAccount): readonly Side[] {
  return COMPONENT_PERMISSIONS.filter((permissions) => permissions.component === component).map(({ side }) => side);
}

// What each component does in a cluster, told apart by what the cluster is: a source (its own pods may run elsewhere), a target (it runs pods of others),
// or both, which may have a target that is the cluster itself (`spec.self: true`). A component gets what it uses there, and nothing that it uses elsewhere.
import { ADMIRALTY_GROUP, ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import { POD_METRICS } from '../../api/resource-types.ts';
import { CLUSTER_SUMMARY_VIEWER_ROLE, SOURCE_ELSEWHERE_ROLE, SOURCE_ROLE, SOURCE_STREAMS_ROLE, TOKEN_REQUESTER_ROLE, type ComponentAccount } from '../../model/access/component-accounts.ts';
import { ADMIRALTY_SOURCE_LEASES } from '../../model/naming/live-admiralty.ts';
import { onlyNamed, rule, type PolicyRule } from '../../model/access/rbac-objects.ts';
import { ownerRule } from '../../model/access/source-marks.ts';
import { WEBHOOK_CONFIGURATION_NAME } from './webhook-configuration.ts';

/** Where rights are needed: in sources, in targets, in sources that are their own target, or wherever something of ours runs. */
export type Side = 'source' | 'target' | 'self' | 'either';

/** What a cluster is. */
export type InstallRole = 'source' | 'target' | 'both';

/** Whether a cluster of this role needs what is for that side. */
export function isNeeded(side: Side, role: InstallRole): boolean {
  return side === 'either' || role === 'both' || side === role;
}

/** The rights of one component on one side; `name` is that of its ClusterRole. */
export interface ComponentRights {
  readonly component: ComponentAccount;
  readonly side: Exclude<Side, 'either'>;
  readonly name: string;
  readonly rules: readonly PolicyRule[];
}

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'patch', 'delete'];
const RBAC_GROUP = 'rbac.authorization.k8s.io';
const ADMISSION_GROUP = 'admissionregistration.k8s.io';

/** The UID of kube-system is a cluster's identity. */
export const READ_CLUSTER_ID = onlyNamed(rule('', ['namespaces'], ['get']), ['kube-system']);

/** Following targets, and the proxy pods that may run there. */
const FOLLOW_TARGETS: readonly PolicyRule[] = [
  rule(ADMIRALTY_GROUP, ['targets', 'clustertargets'], READ),
  rule('', ['pods'], READ),
  READ_CLUSTER_ID,
  onlyNamed(rule('coordination.k8s.io', ['leases'], ['list', 'watch']), ADMIRALTY_SOURCE_LEASES), // whether an Admiralty works here
];
/** The ranges of its own cluster, in which no target of a tenant is, and no pod of a target; of its nodes they are read as well. */
const KNOW_OWN_RANGES: readonly PolicyRule[] = [
  rule('networking.k8s.io', ['servicecidrs'], ['list']),
  onlyNamed(rule('discovery.k8s.io', ['endpointslices'], ['get']), ['kubernetes']), // where the API servers are
];
/** Following this very cluster as a target. */
const FOLLOW_ITSELF = rule(ADMIRALTY_GROUP, ['podchaperons', 'clustersummaries'], READ);
/** What kubectl exec, attach and port-forward use. */
export const STREAMED = ['pods/exec', 'pods/attach', 'pods/portforward'];

/** By virtual nodes, namespaces and what policies say of them it is decided where a pod may run. */
const PLACEMENT_INPUTS: readonly PolicyRule[] = [
  rule('', ['nodes', 'namespaces'], ['list', 'watch']),
  rule(ISTHMUS_GROUP, ['placementpolicies', 'clusterplacementpolicies'], ['list', 'watch']),
];

const WEBHOOK: readonly PolicyRule[] = [
  // Writes the certificate authority that it made for itself.
  onlyNamed(rule(ADMISSION_GROUP, ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'], [...READ, 'patch']), [WEBHOOK_CONFIGURATION_NAME]),
  rule(ADMISSION_GROUP, ['mutatingwebhookconfigurations'], ['list']), // whether an Admiralty is asked about the same pods
  rule('events.k8s.io', ['events'], ['create', 'patch']), // a certificate that cannot be used, elected pods that passed it by
  rule('', ['pods', 'namespaces'], ['list']), // elected pods that passed it by while it was away
  rule(ISTHMUS_GROUP, ['namespaceelections'], READ),
  rule(ADMIRALTY_GROUP, ['clustertargets'], ['list', 'watch']), // those that are this cluster
];

const SCHEDULER: readonly PolicyRule[] = [
  ...FOLLOW_TARGETS,
  ...KNOW_OWN_RANGES,
  ...PLACEMENT_INPUTS,
  rule('', ['pods'], ['patch', 'delete']), // takes the finalizer off; has a pod replaced whose target was lost before its verdict
  rule('', ['pods/binding'], ['create']),
  rule('', ['pods/eviction'], ['create']), // has pods go back to a target that was lost
  rule('', ['pods/status'], ['patch']),
  rule('events.k8s.io', ['events'], ['create', 'patch']),
  rule(ISTHMUS_GROUP, ['placementpolicies/status', 'clusterplacementpolicies/status'], ['patch']),
];
const SCHEDULER_SELF: readonly PolicyRule[] = [FOLLOW_ITSELF, rule(ADMIRALTY_GROUP, ['podchaperons'], WRITE)]; // candidates

/** Feedback, what follows pods, failover. */
const DELEGATE_CONTROLLER_SOURCE: readonly PolicyRule[] = [
  ...FOLLOW_TARGETS,
  ...KNOW_OWN_RANGES,
  ...PLACEMENT_INPUTS, // a Service goes only where its pods may run
  rule('', ['pods'], ['patch', 'delete']),
  rule('', ['pods/status'], ['patch']),
  rule('events.k8s.io', ['events'], ['create', 'patch']),
  rule('', ['services'], [...READ, 'patch']), // marks those that follow elected pods
  rule('networking.k8s.io', ['ingresses'], [...READ, 'patch']),
  rule(ADMIRALTY_GROUP, ['clustersummaries'], [...READ, ...WRITE]), // of targets that have nothing of ours in them
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
  rule(ADMIRALTY_GROUP, ['sources', 'clustersources'], ['list', 'watch']), // what their pods may ask for
  // Gives sources the right to streams of their own delegates, pod by pod: nobody may give a right that he has not.
  rule(RBAC_GROUP, ['roles', 'rolebindings'], ['list', 'watch', ...WRITE]),
  rule('', ['pods/log'], ['get']),
  rule('', STREAMED, ['create', 'get']),
  rule(ISTHMUS_GROUP, ['secretcopies'], ['list', 'watch', ...WRITE]), // what sources may know of the Secrets that they wrote
];
const DELEGATE_CONTROLLER_SELF: readonly PolicyRule[] = [
  rule(ADMIRALTY_GROUP, ['podchaperons'], ['delete']),
  rule('events.k8s.io', ['events'], ['list', 'watch']), // shown on proxy pods
  rule(ISTHMUS_GROUP, ['sourceleases'], ['create', 'delete']), // its sign of life
];

const VIRTUAL_NODE: readonly PolicyRule[] = [
  ...FOLLOW_TARGETS,
  ...KNOW_OWN_RANGES,
  rule('', ['nodes'], [...READ, ...WRITE]),
  rule('', ['nodes/status'], ['patch']),
  rule(ADMIRALTY_GROUP, ['targets/status', 'clustertargets/status'], ['patch']),
  rule(ADMIRALTY_GROUP, ['targets', 'clustertargets'], ['patch']), // the finalizer of one that is drained before it goes
  rule('', ['pods/eviction'], ['create']),
  // The kubelet API: who may do what, and its own serving certificate, which somebody else approves.
  rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
  rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  rule('certificates.k8s.io', ['certificatesigningrequests'], ['create', 'get']),
];
/** What a source's identity may see and do in other targets. */
const VIRTUAL_NODE_SELF: readonly PolicyRule[] = [
  FOLLOW_ITSELF,
  rule('', ['pods/log'], ['get']),
  rule('', STREAMED, ['create', 'get']),
  rule(POD_METRICS.group, ['pods'], ['list']), // kubectl top
  rule('', ['resourcequotas'], ['list']), // shown on the virtual node of a Target
];

/** Keeps the tokens of targets alive: peering with a target gives the right to write the one Secret. */
const PEERING_SOURCE: readonly PolicyRule[] = FOLLOW_TARGETS;
// Gives rights to others, so it is the one to guard best: it may bind these roles and no others, and ask for tokens only where it has bound that role.
const PEERING_TARGET: readonly PolicyRule[] = [
  READ_CLUSTER_ID,
  rule(ADMIRALTY_GROUP, ['sources', 'clustersources'], [...READ, ...WRITE]), // of those who were invited; each may remove itself
  rule(ADMIRALTY_GROUP, ['sources/status', 'clustersources/status'], ['patch']),
  rule(ISTHMUS_GROUP, ['invitations', 'joinrequests'], [...READ, 'delete']),
  rule(ISTHMUS_GROUP, ['invitations/status', 'joinrequests/status'], ['patch']),
  rule('events.k8s.io', ['events'], ['create', 'patch']),
  rule('', ['serviceaccounts'], [...READ, ...WRITE]),
  rule(RBAC_GROUP, ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'], [...READ, ...WRITE]),
  onlyNamed(rule(RBAC_GROUP, ['clusterroles'], ['bind']), [SOURCE_ROLE, SOURCE_ELSEWHERE_ROLE, SOURCE_STREAMS_ROLE, CLUSTER_SUMMARY_VIEWER_ROLE, TOKEN_REQUESTER_ROLE]),
  rule('', ['namespaces'], ['list', 'watch']), // by their labels they let sources in
  ownerRule(undefined), // gives each source the mark of its own cluster: nobody may give a right that he has not
  rule(ADMISSION_GROUP, ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'], READ), // that what limits sources is there; policies do not guard policies, so it may not delete any
];

/** All rights of components, a ClusterRole for each line. */
export const COMPONENT_RIGHTS: readonly ComponentRights[] = [
  { component: 'isthmus-webhook', side: 'source', name: 'isthmus-webhook', rules: WEBHOOK },
  { component: 'isthmus-scheduler', side: 'source', name: 'isthmus-scheduler', rules: SCHEDULER },
  { component: 'isthmus-scheduler', side: 'self', name: 'isthmus-scheduler-self', rules: SCHEDULER_SELF },
  { component: 'isthmus-delegate-controller', side: 'source', name: 'isthmus-delegate-controller-source', rules: DELEGATE_CONTROLLER_SOURCE },
  { component: 'isthmus-delegate-controller', side: 'target', name: 'isthmus-delegate-controller', rules: DELEGATE_CONTROLLER_TARGET },
  { component: 'isthmus-delegate-controller', side: 'self', name: 'isthmus-delegate-controller-self', rules: DELEGATE_CONTROLLER_SELF },
  { component: 'isthmus-virtual-node', side: 'source', name: 'isthmus-virtual-node', rules: VIRTUAL_NODE },
  { component: 'isthmus-virtual-node', side: 'self', name: 'isthmus-virtual-node-self', rules: VIRTUAL_NODE_SELF },
  { component: 'isthmus-peering', side: 'source', name: 'isthmus-peering-source', rules: PEERING_SOURCE },
  { component: 'isthmus-peering', side: 'target', name: 'isthmus-peering', rules: PEERING_TARGET },
];

/** Names of all components' ServiceAccounts. */
export const COMPONENT_ACCOUNTS: readonly ComponentAccount[] = [...new Set(COMPONENT_RIGHTS.map(({ component }) => component))];

/** The sides that a component is on. */
export function sidesOf(component: ComponentAccount): readonly Side[] {
  return COMPONENT_RIGHTS.filter((rights) => rights.component === component).map(({ side }) => side);
}

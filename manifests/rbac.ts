// Who may do what: one ServiceAccount for each component with the rights that its code exercises and no others (design §8,
// Admiralty contract §5.2). No rule has a wildcard. Only what follows elected pods is read in the whole cluster, by a binding of its own.
import type { KubernetesObject } from '../api/core.ts';
import { ADMIRALTY_GROUP, ISTHMUS_GROUP, POD_METRICS } from '../api/resource-types.ts';
import { GIVEN_CERTIFICATE_SECRET, INVITATION_KEY_SECRET, SCHEDULER_SETTINGS_CONFIG_MAP, SIGNING_KEYS_SECRET, WEBHOOK_CERTIFICATES_SECRET } from '../api/keys.ts';
import {
  CLUSTER_SUMMARY_VIEWER_ROLE, componentHolders, COPIED_SECRET_READER_ROLE, FOLLOWED_READER_ROLE, SOURCE_POD_MODE_ROLE, SOURCE_ROLE, TARGET_SECRET_READER_ROLE, TARGET_USERS,
  targetSecretReaderBinding, TOKEN_REQUESTER_ROLE, type ComponentAccount,
} from '../model/component-accounts.ts';
import {
  clusterRole, clusterRoleBinding, onlyNamed, role, roleBinding, rule, serviceAccount, type PolicyRule, type RoleObject,
} from '../model/rbac-objects.ts';
import { WEBHOOK_CONFIGURATION_NAME } from './webhook-configuration.ts';

/** Where kubelets keep their Leases (Kubernetes "Leases", node heartbeats). */
const NODE_LEASE_NAMESPACE = 'kube-node-lease';
const READ = ['get', 'list', 'watch'];
const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** The UID of kube-system is a cluster's identity. */
const READ_CLUSTER_ID = onlyNamed(rule('', ['namespaces'], ['get']), ['kube-system']);

/** Following targets, and with `spec.self: true` following this very cluster as one. */
const USE_TARGETS: readonly PolicyRule[] = [
  rule(ADMIRALTY_GROUP, ['targets', 'clustertargets'], READ),
  rule('', ['pods'], READ),
  rule(ADMIRALTY_GROUP, ['podchaperons', 'clustersummaries'], READ),
  READ_CLUSTER_ID,
];

/** What kubectl exec, attach and port-forward use. */
const STREAMED = ['pods/exec', 'pods/attach', 'pods/portforward'];

const COMPONENT_RULES: Readonly<Record<ComponentAccount, readonly PolicyRule[]>> = {
  // Writes the certificate authority that it made for itself.
  'isthmus-webhook': [
    onlyNamed(
      rule('admissionregistration.k8s.io', ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'], [...READ, 'patch']),
      [WEBHOOK_CONFIGURATION_NAME],
    ),
    rule('events.k8s.io', ['events'], ['create', 'patch']), // a certificate that cannot be used, elected pods that passed it by
    rule('', ['pods', 'namespaces'], ['list']), // elected pods that passed it by while it was away
    rule(ISTHMUS_GROUP, ['namespaceelections'], READ),
    rule(ADMIRALTY_GROUP, ['clustertargets'], ['list', 'watch']), // those that are this cluster
  ],
  'isthmus-scheduler': [
    ...USE_TARGETS,
    rule('', ['pods'], ['patch', 'delete']), // takes the finalizer off; has a pod replaced whose target was lost before its verdict
    rule('', ['pods/binding'], ['create']),
    rule('', ['pods/eviction'], ['create']), // has pods go back to a target that was lost
    rule('', ['pods/status'], ['patch']),
    rule('events.k8s.io', ['events'], ['create', 'patch']),
    rule('', ['nodes', 'namespaces'], ['list', 'watch']), // labels and taints of virtual nodes, labels of namespaces
    rule(ISTHMUS_GROUP, ['placementpolicies', 'clusterplacementpolicies'], ['list', 'watch']),
    rule(ISTHMUS_GROUP, ['placementpolicies/status', 'clusterplacementpolicies/status'], ['patch']),
    rule(ADMIRALTY_GROUP, ['podchaperons'], ['create', 'patch', 'delete']), // the candidate in a target that is this cluster
  ],
  // In the source: feedback. In the target: chaperons and the summary.
  'isthmus-delegate-controller': [
    ...USE_TARGETS,
    rule('', ['pods'], ['create', 'patch', 'delete']),
    rule('', ['pods/status', 'pods/resize'], ['patch']),
    rule(ADMIRALTY_GROUP, ['podchaperons'], ['update', 'patch', 'delete']),
    rule(ADMIRALTY_GROUP, ['podchaperons/status'], ['patch']),
    rule(ADMIRALTY_GROUP, ['podchaperons/finalizers'], ['update']), // an owner reference that blocks its owner's deletion
    rule('events.k8s.io', ['events'], ['list', 'watch', 'create', 'patch']), // read of a target that is this cluster
    rule('', ['services'], [...READ, 'patch']), // marks those that follow elected pods
    rule('networking.k8s.io', ['ingresses'], [...READ, 'patch']),
    rule('', ['nodes'], READ),
    rule('', ['namespaces'], ['list', 'watch']), // by their labels policies select them
    rule(ISTHMUS_GROUP, ['placementpolicies', 'clusterplacementpolicies'], ['list', 'watch']), // a Service goes only where its pods may run
    rule(ISTHMUS_GROUP, ['resourceshares'], ['list', 'watch']),
    rule(ISTHMUS_GROUP, ['resourceshares/status'], ['patch']),
    rule(ISTHMUS_GROUP, ['sourceleases'], [...READ, 'create', 'patch', 'delete']), // written where a target is this cluster
    rule(ISTHMUS_GROUP, ['sourceleases/status'], ['patch']),
    rule(ISTHMUS_GROUP, ['secretcopies'], ['list', 'watch', 'create', 'patch', 'delete']), // what sources may know of the Secrets that they wrote
    rule(ADMIRALTY_GROUP, ['clustersummaries'], ['create', 'update', 'patch', 'delete']), // its own, and those of targets that have nothing of ours in them
  ],
  'isthmus-virtual-node': [
    ...USE_TARGETS,
    rule('', ['nodes'], [...READ, 'create', 'patch', 'delete']),
    rule('', ['nodes/status'], ['patch']),
    rule(ADMIRALTY_GROUP, ['targets/status', 'clustertargets/status'], ['patch']),
    rule(ADMIRALTY_GROUP, ['targets', 'clustertargets'], ['patch']), // the finalizer of one that is drained before it goes
    rule('', ['pods/eviction'], ['create']),
    // The kubelet API: who may do what, its own serving certificate, which somebody else approves, and streams of a target that is this cluster.
    rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
    rule('authentication.k8s.io', ['tokenreviews'], ['create']),
    rule('certificates.k8s.io', ['certificatesigningrequests'], ['create', 'get']),
    rule('', ['pods/log'], ['get']),
    rule('', STREAMED, ['create', 'get']),
    rule(POD_METRICS.group, ['pods'], ['list']), // kubectl top, of a target that is this cluster
    rule('', ['resourcequotas'], ['list']), // the same, of a Target
  ],
  // Gives rights to others, so it is the one to guard best: it may bind these roles and no others, and ask for tokens only where it has bound that role.
  'isthmus-peering': [
    ...USE_TARGETS,
    rule(ADMIRALTY_GROUP, ['sources', 'clustersources'], [...READ, 'create', 'patch', 'delete']), // of those who were invited; each may remove itself
    rule(ADMIRALTY_GROUP, ['sources/status', 'clustersources/status'], ['patch']),
    rule(ISTHMUS_GROUP, ['invitations', 'joinrequests'], [...READ, 'delete']),
    rule(ISTHMUS_GROUP, ['invitations/status', 'joinrequests/status'], ['patch']),
    rule('events.k8s.io', ['events'], ['create', 'patch']),
    rule('', ['serviceaccounts'], [...READ, 'create', 'patch', 'delete']),
    rule(RBAC_GROUP, ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'], [...READ, 'create', 'patch', 'delete']),
    onlyNamed(rule(RBAC_GROUP, ['clusterroles'], ['bind']), [SOURCE_ROLE, CLUSTER_SUMMARY_VIEWER_ROLE, TOKEN_REQUESTER_ROLE]),
    rule('admissionregistration.k8s.io', ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'], [...READ, 'create', 'patch', 'delete']),
  ],
};

/** Names of all components' ServiceAccounts. */
export const COMPONENT_ACCOUNTS = Object.keys(COMPONENT_RULES) as readonly ComponentAccount[];

const SOURCE_RULES: readonly PolicyRule[] = [
  rule(ADMIRALTY_GROUP, ['podchaperons'], [...READ, 'create', 'update', 'patch', 'delete', 'deletecollection']),
  rule(ISTHMUS_GROUP, ['sourceleases'], ['get', 'create', 'patch', 'delete']), // its sign of life, where its pods may be moved
  rule('', ['pods'], READ),
  rule('', ['pods/log'], ['get']),
  rule('events.k8s.io', ['events'], ['list', 'watch']), // shown on proxy pods
  rule('', STREAMED, ['create', 'get']), // over a WebSocket an exec is a GET
  rule(POD_METRICS.group, ['pods'], ['list']), // kubectl top
  rule('', ['resourcequotas'], ['list']), // shown on the virtual node of a Target
  // Copies of what elected pods need. No Secret can be read, and none patched: what a patch is answered shows the object (ADR 0024).
  rule('', ['configmaps', 'services'], [...READ, 'create', 'patch', 'delete']),
  rule('', ['secrets'], ['create', 'update', 'delete']),
  rule(ISTHMUS_GROUP, ['secretcopies'], ['list', 'watch']),
  rule('networking.k8s.io', ['ingresses'], [...READ, 'create', 'patch', 'delete']),
];

const SOURCE_POD_MODE_RULES: readonly PolicyRule[] = [
  rule('', ['pods'], [...READ, 'create', 'patch', 'delete']),
  rule('', ['pods/status', 'pods/resize'], ['patch']), // readiness gates, changes of running pods
  rule('', ['nodes'], ['list', 'watch']), // what is free there
];

const CLUSTER_SUMMARY_VIEWER_RULES: readonly PolicyRule[] = [rule(ADMIRALTY_GROUP, ['clustersummaries'], READ), READ_CLUSTER_ID];

/** All ClusterRoles: one for each component, and those that peering binds. */
export function clusterRoles(): readonly RoleObject[] {
  return [
    ...COMPONENT_ACCOUNTS.map((name) => clusterRole(name, COMPONENT_RULES[name])),
    clusterRole(SOURCE_ROLE, SOURCE_RULES),
    clusterRole(SOURCE_POD_MODE_ROLE, SOURCE_POD_MODE_RULES),
    clusterRole(CLUSTER_SUMMARY_VIEWER_ROLE, CLUSTER_SUMMARY_VIEWER_RULES),
    clusterRole(FOLLOWED_READER_ROLE, [rule('', ['configmaps', 'secrets'], READ)]),
    clusterRole(COPIED_SECRET_READER_ROLE, [rule('', ['secrets'], ['list', 'watch'])]),
    clusterRole(TARGET_SECRET_READER_ROLE, [rule('', ['secrets'], READ)]),
    clusterRole(TOKEN_REQUESTER_ROLE, [rule('', ['serviceaccounts/token'], ['create'])]),
  ];
}

/** ServiceAccounts, roles and bindings of an installation in `installNamespace`, roles before their bindings. */
export function rbacManifests(installNamespace: string): readonly KubernetesObject[] {
  return [
    ...componentHolders(COMPONENT_ACCOUNTS, installNamespace).map(serviceAccount),
    ...clusterRoles(),
    ...COMPONENT_ACCOUNTS.map((name) => clusterRoleBinding(name, name, componentHolders([name], installNamespace))),
    clusterRoleBinding(FOLLOWED_READER_ROLE, FOLLOWED_READER_ROLE, componentHolders(['isthmus-delegate-controller'], installNamespace)),
    clusterRoleBinding(COPIED_SECRET_READER_ROLE, COPIED_SECRET_READER_ROLE, componentHolders(['isthmus-delegate-controller'], installNamespace)),
    targetSecretReaderBinding(installNamespace, installNamespace),
    ...webhookSecretManifests(installNamespace),
    ...invitationKeyManifests(installNamespace),
    ...leaderElectionManifests(installNamespace),
    ...nodeLeaseManifests(installNamespace),
    clientAuthorityReader(installNamespace),
    ...schedulerSettingsManifests(installNamespace),
    ...podPlaneReaderManifests(installNamespace),
  ];
}

/** The webhook's own keys and certificates, which its replicas share. */
function webhookSecretManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-webhook';
  return [
    role(installNamespace, name, [
      rule('', ['secrets'], ['create']), // a create cannot be limited to a name
      onlyNamed(rule('', ['secrets'], [...READ, 'patch']), [SIGNING_KEYS_SECRET, WEBHOOK_CERTIFICATES_SECRET]),
      onlyNamed(rule('', ['secrets'], READ), [GIVEN_CERTIFICATE_SECRET]),
    ]),
    roleBinding({ namespace: installNamespace, name, roleKind: 'Role', roleName: name }, componentHolders([name], installNamespace)),
  ];
}

/** What tells an invitation from a forged one. Administrators write it. */
function invitationKeyManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-peering';
  return [
    role(installNamespace, name, [onlyNamed(rule('', ['secrets'], ['get']), [INVITATION_KEY_SECRET])]),
    roleBinding({ namespace: installNamespace, name, roleKind: 'Role', roleName: name }, componentHolders([name], installNamespace)),
  ];
}

/** Replicas of a component elect one that acts, by a Lease in the install namespace. */
function leaderElectionManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-leader-election';
  return [
    role(installNamespace, name, [rule('coordination.k8s.io', ['leases'], ['get', 'create', 'patch'])]),
    roleBinding({ namespace: installNamespace, name, roleKind: 'Role', roleName: name }, componentHolders(TARGET_USERS, installNamespace)),
  ];
}

/** The scheduler shows which weights it was given. */
function schedulerSettingsManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-scheduler';
  return [
    role(installNamespace, name, [
      rule('', ['configmaps'], ['create']), // a create cannot be limited to a name
      onlyNamed(rule('', ['configmaps'], ['get', 'patch']), [SCHEDULER_SETTINGS_CONFIG_MAP]),
    ]),
    roleBinding({ namespace: installNamespace, name, roleKind: 'Role', roleName: name }, componentHolders([name], installNamespace)),
  ];
}

/** Under which addresses delegates are reached is what the members of the clusterset tell. */
function podPlaneReaderManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-delegate-controller';
  return [
    role(installNamespace, name, [rule(ISTHMUS_GROUP, ['clusters', 'endpoints'], ['list', 'watch'])]),
    roleBinding({ namespace: installNamespace, name, roleKind: 'Role', roleName: name }, componentHolders([name], installNamespace)),
  ];
}

/** Whose client certificates to believe is published for servers like the kubelet API; Kubernetes itself has the Role to read it. */
function clientAuthorityReader(installNamespace: string): KubernetesObject {
  const name = { namespace: 'kube-system', name: 'isthmus-virtual-node', roleKind: 'Role', roleName: 'extension-apiserver-authentication-reader' } as const;
  return roleBinding(name, componentHolders(['isthmus-virtual-node'], installNamespace));
}

function nodeLeaseManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-virtual-node';
  return [
    role(NODE_LEASE_NAMESPACE, name, [rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update', 'patch'])]),
    roleBinding({ namespace: NODE_LEASE_NAMESPACE, name, roleKind: 'Role', roleName: name }, componentHolders([name], installNamespace)),
  ];
}

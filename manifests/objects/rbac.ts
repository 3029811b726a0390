// Who may do what: one ServiceAccount for each component with the rights that its code exercises and no others (design §8,
// Admiralty contract §5.2). No rule has a wildcard. Only what follows elected pods is read in the whole cluster, by a binding of its own.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ADMIRALTY_GROUP, ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import { POD_METRICS } from '../../api/resource-types.ts';
import { GIVEN_CERTIFICATE_SECRET, INVITATION_KEY_SECRET, MIGRATION_CONFIG_MAP, SCHEDULER_SETTINGS_CONFIG_MAP, WEBHOOK_CERTIFICATES_SECRET } from '../../api/objects/keys.ts';
import {
  ALL_COMPONENTS_ACCOUNT, CLUSTER_SUMMARY_VIEWER_ROLE, componentSubjects, COPIED_SECRET_READER_ROLE, FOLLOWED_READER_ROLE, SOURCE_ELSEWHERE_ROLE, SOURCE_POD_MODE_ROLE, SOURCE_ROLE, SOURCE_STREAMS_ROLE,
  TARGET_SECRET_READER_ROLE,
  TARGET_USERS, targetSecretReaderBinding, TOKEN_REQUESTER_ROLE, type ComponentAccount,
} from '../../model/access/component-accounts.ts';
import {
  clusterRole, clusterRoleBinding, onlyNamed, role, roleBinding, rule, serviceAccount, type PolicyRule, type RoleObject,
} from '../../model/access/rbac-objects.ts';
import { CONFINED_RULE } from '../../model/access/source-marks.ts';
import { COMPONENT_ACCOUNTS, COMPONENT_RIGHTS, isNeeded, READ_CLUSTER_ID, sidesOf, STREAMED, type InstallRole, type Side } from './component-rights.ts';
import { peeringPolicies } from './peering-policy.ts';
import { sourcePolicies } from './source-policy.ts';

/** Where kubelets keep their Leases (Kubernetes "Leases", node heartbeats). */
const NODE_LEASE_NAMESPACE = 'kube-node-lease';
const READ = ['get', 'list', 'watch'];

const SOURCE_RULES: readonly PolicyRule[] = [
  CONFINED_RULE,
  rule(ADMIRALTY_GROUP, ['podchaperons'], [...READ, 'create', 'update', 'patch', 'delete', 'deletecollection']),
  rule(ISTHMUS_GROUP, ['sourceleases'], ['get', 'create', 'patch', 'delete']), // its sign of life, where its pods may be moved
  rule('', ['pods'], READ),
  rule('events.k8s.io', ['events'], ['list', 'watch']), // shown on proxy pods
  rule(POD_METRICS.group, ['pods'], ['list']), // kubectl top
  rule('', ['resourcequotas'], ['list']), // shown on the virtual node of a Target
  // Copies of what elected pods need. No Secret can be read, and none patched: what a patch is answered shows the object (ADR 0024).
  // An Admiralty that is the source updates what it has copied; it reads Secrets first, and so none follow from there.
  rule('', ['configmaps', 'services'], [...READ, 'create', 'update', 'patch', 'delete']),
  rule('', ['secrets'], ['create', 'update', 'delete']),
  rule(ISTHMUS_GROUP, ['secretcopies'], ['list', 'watch']),
  rule('networking.k8s.io', ['ingresses'], [...READ, 'create', 'update', 'patch', 'delete']),
];

/** Over a WebSocket an exec is a GET. */
const STREAM_RULES: readonly PolicyRule[] = [rule('', ['pods/log'], ['get']), rule('', STREAMED, ['create', 'get'])];

const SOURCE_ELSEWHERE_RULES: readonly PolicyRule[] = [
  CONFINED_RULE,
  rule(ADMIRALTY_GROUP, ['podchaperons'], [...READ, 'patch', 'delete', 'deletecollection']),
  rule(ISTHMUS_GROUP, ['sourceleases'], ['get', 'delete']),
  rule('', ['pods'], READ),
  rule('events.k8s.io', ['events'], ['list', 'watch']),
  rule(POD_METRICS.group, ['pods'], ['list']),
  rule('', ['configmaps', 'services'], [...READ, 'delete']),
  rule('', ['secrets'], ['delete']),
  rule(ISTHMUS_GROUP, ['secretcopies'], ['list', 'watch']),
  rule('networking.k8s.io', ['ingresses'], [...READ, 'delete']),
];

const SOURCE_POD_MODE_RULES: readonly PolicyRule[] = [
  CONFINED_RULE,
  rule('', ['pods'], [...READ, 'create', 'patch', 'delete']),
  rule('', ['pods/status', 'pods/resize'], ['patch']), // readiness gates, changes of running pods
  rule('', ['nodes'], ['list', 'watch']), // what is free there
  ...STREAM_RULES,
];

const CLUSTER_SUMMARY_VIEWER_RULES: readonly PolicyRule[] = [rule(ADMIRALTY_GROUP, ['clustersummaries'], READ), READ_CLUSTER_ID];

/** ClusterRoles that are bound one by one, in targets. */
const TARGET_ROLES: readonly RoleObject[] = [
  clusterRole(SOURCE_ROLE, SOURCE_RULES),
  clusterRole(SOURCE_ELSEWHERE_ROLE, SOURCE_ELSEWHERE_RULES),
  clusterRole(SOURCE_STREAMS_ROLE, [CONFINED_RULE, ...STREAM_RULES]),
  clusterRole(SOURCE_POD_MODE_ROLE, SOURCE_POD_MODE_RULES),
  clusterRole(CLUSTER_SUMMARY_VIEWER_ROLE, CLUSTER_SUMMARY_VIEWER_RULES),
  clusterRole(COPIED_SECRET_READER_ROLE, [rule('', ['secrets'], ['list', 'watch'])]),
  clusterRole(TOKEN_REQUESTER_ROLE, [rule('', ['serviceaccounts/token'], ['create'])]),
];

/** The same, in sources. */
const SOURCE_SIDE_ROLES: readonly RoleObject[] = [
  clusterRole(FOLLOWED_READER_ROLE, [rule('', ['configmaps', 'secrets'], READ)]),
  clusterRole(TARGET_SECRET_READER_ROLE, [rule('', ['secrets'], READ)]),
];

/** All ClusterRoles: one for each side of each component, and those that are bound one by one. */
export function clusterRoles(): readonly RoleObject[] {
  return [...COMPONENT_RIGHTS.map(({ name, rules }) => clusterRole(name, rules)), ...TARGET_ROLES, ...SOURCE_SIDE_ROLES];
}

/** An object of the access rules, and where it is needed. */
export interface AccessPart {
  readonly object: KubernetesObject;
  readonly side: Side;
  /** The one component that it is for; missing for what is for several. */
  readonly component?: ComponentAccount;
}

/**
 * ClusterRoles by the names that Admiralty's chart gives them in a release named `admiralty`, for bindings that were made by hand. They say what ours
 * say; where a release of Admiralty is, it has its own.
 */
export function admiraltyRoles(): readonly RoleObject[] {
  return [clusterRole('admiralty-source', SOURCE_RULES), clusterRole('admiralty-cluster-summary-viewer', CLUSTER_SUMMARY_VIEWER_RULES)];
}

/** ServiceAccounts, roles and bindings of an installation in `installNamespace`, roles before their bindings. */
export function accessParts(installNamespace: string): readonly AccessPart[] {
  const of = (side: Side, objects: readonly KubernetesObject[], component?: ComponentAccount): readonly AccessPart[] => objects.map((object) => ({ object, side, ...(component && { component }) }));
  const followed = (name: string) => [clusterRoleBinding(name, name, componentSubjects(['isthmus-delegate-controller'], installNamespace))];
  return [
    ...of('target', [...sourcePolicies(installNamespace), ...peeringPolicies(installNamespace)]), // before any right that they limit
    ...COMPONENT_ACCOUNTS.flatMap((name) => of(accountSide(name), [serviceAccount({ namespace: installNamespace, name })], name)),
    ...of('either', [serviceAccount({ namespace: installNamespace, name: ALL_COMPONENTS_ACCOUNT })]),
    ...COMPONENT_RIGHTS.flatMap(({ component, side, name, rules }) => of(side, [clusterRole(name, rules)], component)),
    ...of('target', TARGET_ROLES),
    ...of('source', SOURCE_SIDE_ROLES),
    ...COMPONENT_RIGHTS.flatMap(({ component, side, name }) => of(side, [clusterRoleBinding(name, name, componentSubjects([component], installNamespace))], component)),
    ...of('source', followed(FOLLOWED_READER_ROLE)),
    ...of('target', followed(COPIED_SECRET_READER_ROLE)),
    ...of('source', [targetSecretReaderBinding(installNamespace, installNamespace)]),
    ...of('source', webhookSecretManifests(installNamespace), 'isthmus-webhook'),
    ...of('target', invitationKeyManifests(installNamespace), 'isthmus-peering'),
    ...of('either', leaderElectionManifests(installNamespace)),
    ...of('source', nodeLeaseManifests(installNamespace), 'isthmus-virtual-node'),
    ...of('source', [clientAuthorityReader(installNamespace)], 'isthmus-virtual-node'),
    ...of('source', schedulerSettingsManifests(installNamespace), 'isthmus-scheduler'),
    ...of('source', podPlaneReaderManifests(installNamespace), 'isthmus-delegate-controller'),
  ];
}

/** A component that is on two sides runs wherever something of ours runs. */
function accountSide(component: ComponentAccount): Side {
  return sidesOf(component).includes('target') ? 'either' : 'source';
}

/** The objects that a cluster of this role needs. */
export function rbacManifests(installNamespace: string, role: InstallRole = 'both'): readonly KubernetesObject[] {
  return accessParts(installNamespace).filter(({ side }) => isNeeded(side, role)).map(({ object }) => object);
}

/** The webhook's own keys and certificates, which its replicas share. */
function webhookSecretManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-webhook';
  return [
    role(installNamespace, name, [
      rule('', ['secrets'], ['create']), // a create cannot be limited to a name
      onlyNamed(rule('', ['secrets'], [...READ, 'patch']), [WEBHOOK_CERTIFICATES_SECRET]),
      onlyNamed(rule('', ['secrets'], READ), [GIVEN_CERTIFICATE_SECRET]),
      onlyNamed(rule('', ['configmaps'], READ), [MIGRATION_CONFIG_MAP]),
    ]),
    roleBinding({ namespace: installNamespace, name, roleKind: 'Role', roleName: name }, componentSubjects([name], installNamespace)),
  ];
}

/** What tells an invitation from a forged one. Administrators write it. */
function invitationKeyManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-peering';
  return [
    role(installNamespace, name, [onlyNamed(rule('', ['secrets'], ['get']), [INVITATION_KEY_SECRET])]),
    roleBinding({ namespace: installNamespace, name, roleKind: 'Role', roleName: name }, componentSubjects([name], installNamespace)),
  ];
}

/** Replicas of a component elect one that acts, by a Lease in the install namespace. */
function leaderElectionManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-leader-election';
  return [
    role(installNamespace, name, [
      rule('coordination.k8s.io', ['leases'], ['get', 'create', 'patch']),
      onlyNamed(rule('', ['configmaps'], READ), [MIGRATION_CONFIG_MAP]),
    ]),
    roleBinding({ namespace: installNamespace, name, roleKind: 'Role', roleName: name }, componentSubjects(TARGET_USERS, installNamespace)),
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
    roleBinding({ namespace: installNamespace, name, roleKind: 'Role', roleName: name }, componentSubjects([name], installNamespace)),
  ];
}

/** Under which addresses delegates are reached is what the members of the clusterset tell. */
function podPlaneReaderManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-delegate-controller';
  return [
    role(installNamespace, name, [rule(ISTHMUS_GROUP, ['clusters', 'endpoints'], ['list', 'watch'])]),
    roleBinding({ namespace: installNamespace, name, roleKind: 'Role', roleName: name }, componentSubjects([name], installNamespace)),
  ];
}

/** Whose client certificates to believe is published for servers like the kubelet API; Kubernetes itself has the Role to read it. */
function clientAuthorityReader(installNamespace: string): KubernetesObject {
  const name = { namespace: 'kube-system', name: 'isthmus-virtual-node', roleKind: 'Role', roleName: 'extension-apiserver-authentication-reader' } as const;
  return roleBinding(name, componentSubjects(['isthmus-virtual-node'], installNamespace));
}

function nodeLeaseManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-virtual-node';
  return [
    role(NODE_LEASE_NAMESPACE, name, [rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update', 'patch'])]),
    roleBinding({ namespace: NODE_LEASE_NAMESPACE, name, roleKind: 'Role', roleName: name }, componentSubjects([name], installNamespace)),
  ];
}

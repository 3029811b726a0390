// RBAC: one ServiceAccount per component with only the permissions that its code uses. No rule has a wildcard. Only
// what follows elected pods is read cluster-wide, by a separate binding.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ADMIRALTY_GROUP, ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import { CLUSTER_PROFILES, PLACEMENT_DECISIONS, POD_METRICS } from '../../api/resource-types.ts';
import {
  GIVEN_CERTIFICATE_SECRET, MIGRATION_CONFIG_MAP, SCHEDULER_SETTINGS_CONFIG_MAP,
} from '../../api/objects/own-names.ts';
import {
  ALL_COMPONENTS_ACCOUNT, CLUSTER_SUMMARY_VIEWER_ROLE, componentSubjects, COPIED_SECRET_READER_ROLE,
  FOLLOWED_READER_ROLE, PROFILE_WRITER_ROLE, REGISTRY_SECRET_READER_ROLE, SOURCE_ELSEWHERE_ROLE, SOURCE_POD_MODE_ROLE,
  SOURCE_ROLE, SOURCE_STREAMS_ROLE, TARGET_SECRET_READER_ROLE, TARGET_KUBECONFIG_READERS, targetSecretReaderBinding,
  TOKEN_REQUESTER_ROLE, type ComponentAccount,
} from '../../model/access/component-accounts.ts';
import {
  boundRole, clusterRole, clusterRoleBinding, onlyNamed, READ, roleBinding, rule, serviceAccount, type PolicyRule,
  type RoleObject, type ServiceAccountName,
} from '../../model/access/rbac-objects.ts';
import { SOURCE_MARKER_RULE } from '../../model/access/confinement-rules.ts';
import { POD_MODE_RULES, STREAM_RULES } from '../../model/access/pod-mode-rules.ts';
import { CLUSTER_NAMESPACE, NODE_LEASE_NAMESPACE } from '../../model/access/system-namespaces.ts';
import {
  COMPONENT_ACCOUNTS, COMPONENT_PERMISSIONS, isNeeded, READ_CLUSTER_ID, sidesOf, type InstallRole, type Side,
} from './component-permissions.ts';
import { discoveredTargetsManifests } from './discovered-namespace.ts';
import { invitationKeyManifests, keyNamespaceManifest, webhookKeyManifests } from './key-namespace.ts';
import { discoveryPolicy } from '../policies/discovery-policy.ts';
import { flowControlManifests } from './flow-control.ts';
import { POD_PLANE } from './pod-plane.ts';
import { SERVICE_DISCOVERY } from './service-discovery.ts';
import { peeringPolicies } from '../policies/peering-policy.ts';
import { sourcePolicies } from '../policies/source-policy.ts';


/**
 * Of a source where its pods may run; also of `admiralty-source`: see {@link admiraltyRoles}. The first rule grants
 * nothing: it lets the admission policies recognize a source.
 */
const SOURCE_RULES: readonly PolicyRule[] = [
  SOURCE_MARKER_RULE,
  rule(ADMIRALTY_GROUP, ['podchaperons'], [...READ, 'create', 'update', 'patch', 'delete', 'deletecollection']),
  // its heartbeat, where its pods may be moved
  rule(ISTHMUS_GROUP, ['sourceleases'], ['get', 'create', 'patch', 'delete']),
  rule('', ['pods'], READ),
  rule('events.k8s.io', ['events'], ['list', 'watch']), // shown on proxy pods
  rule(POD_METRICS.group, ['pods'], ['list']), // kubectl top
  rule('', ['resourcequotas'], ['list']), // shown on the virtual node of a Target
  // Copies of what elected pods need. No Secret can be read or patched: the response to a patch contains the object
  // (ADR 0024). An Admiralty source updates its copies but reads Secrets first, so no Secret follows from there.
  rule('', ['configmaps', 'services'], [...READ, 'create', 'update', 'patch', 'delete']),
  rule('', ['secrets'], ['create', 'update', 'delete']),
  rule(ISTHMUS_GROUP, ['secretcopies'], ['list', 'watch']),
  rule('networking.k8s.io', ['ingresses'], [...READ, 'create', 'update', 'patch', 'delete']),
];

/** In namespaces where its pods may not, or may no longer, run: it only cleans up what it left there. */
const SOURCE_ELSEWHERE_RULES: readonly PolicyRule[] = [
  SOURCE_MARKER_RULE,
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

const CLUSTER_SUMMARY_VIEWER_RULES: readonly PolicyRule[] =
  [rule(ADMIRALTY_GROUP, ['clustersummaries'], READ), READ_CLUSTER_ID];

const PROFILE_WRITER_RULES: readonly PolicyRule[] = [
  rule(
    CLUSTER_PROFILES.group, [CLUSTER_PROFILES.plural, PLACEMENT_DECISIONS.plural],
    ['list', 'watch', 'create', 'patch', 'delete'],
  ),
  rule(CLUSTER_PROFILES.group, [`${CLUSTER_PROFILES.plural}/status`], ['patch']),
];

/** ClusterRoles bound one by one, in targets. */
const TARGET_ROLES: readonly RoleObject[] = [
  clusterRole(SOURCE_ROLE, SOURCE_RULES),
  clusterRole(SOURCE_ELSEWHERE_ROLE, SOURCE_ELSEWHERE_RULES),
  clusterRole(SOURCE_STREAMS_ROLE, [SOURCE_MARKER_RULE, ...STREAM_RULES]),
  clusterRole(SOURCE_POD_MODE_ROLE, [SOURCE_MARKER_RULE, ...POD_MODE_RULES]),
  clusterRole(CLUSTER_SUMMARY_VIEWER_ROLE, CLUSTER_SUMMARY_VIEWER_RULES),
  clusterRole(COPIED_SECRET_READER_ROLE, [rule('', ['secrets'], ['list', 'watch'])]),
  clusterRole(TOKEN_REQUESTER_ROLE, [rule('', ['serviceaccounts/token'], ['create'])]),
];

/** The same, in sources. */
const SOURCE_SIDE_ROLES: readonly RoleObject[] = [
  clusterRole(FOLLOWED_READER_ROLE, [rule('', ['configmaps', 'secrets'], READ)]),
  clusterRole(TARGET_SECRET_READER_ROLE, [rule('', ['secrets'], READ)]),
  clusterRole(REGISTRY_SECRET_READER_ROLE, [rule('', ['secrets'], ['list', 'watch'])]),
  clusterRole(PROFILE_WRITER_ROLE, PROFILE_WRITER_RULES),
];

/** An RBAC object, and where it is needed. */
export interface RbacObject {
  readonly object: KubernetesObject;
  readonly side: Side;
  /** The component that it is for; missing when shared. */
  readonly component?: ComponentAccount;
}

/**
 * ClusterRoles with the names of Admiralty's chart in a release named `admiralty`, for manual bindings. Same rules as
 * ours; where Admiralty is installed, it has its own.
 */
export function admiraltyRoles(): readonly RoleObject[] {
  return [clusterRole('admiralty-source', SOURCE_RULES), clusterRole(
    'admiralty-cluster-summary-viewer', CLUSTER_SUMMARY_VIEWER_RULES,
  )];
}

/** ServiceAccounts, roles and bindings of an installation in `installNamespace`, roles before their bindings. */
export function rbacObjects(installNamespace: string): readonly RbacObject[] {
  const of = (side: Side, objects: readonly KubernetesObject[], component?: ComponentAccount): readonly RbacObject[] =>
    objects.map((object) => ({ object, side, ...(component && { component }) }));
  const followed = (name: string) =>
    [clusterRoleBinding(name, name, componentSubjects(['isthmus-delegate-controller'], installNamespace))];
  return [
    ...of('either', [keyNamespaceManifest(installNamespace)]),
    // before the permissions that they limit
    ...of('target', [...sourcePolicies(installNamespace), ...peeringPolicies(installNamespace)]),
    ...of('source', discoveryPolicy(installNamespace), 'isthmus-discovery'),
    ...COMPONENT_ACCOUNTS.flatMap(
      (name) => of(accountSide(name), [serviceAccount({ namespace: installNamespace, name })], name),
    ),
    ...of('either', [serviceAccount({ namespace: installNamespace, name: ALL_COMPONENTS_ACCOUNT })]),
    ...COMPONENT_PERMISSIONS.flatMap(
      ({ component, side, name, rules }) => of(side, [clusterRole(name, rules)], component),
    ),
    ...of('target', TARGET_ROLES),
    ...of('source', SOURCE_SIDE_ROLES),
    ...COMPONENT_PERMISSIONS.flatMap(({ component, side, name }) => of(
      side, [clusterRoleBinding(name, name, componentSubjects([component], installNamespace))], component,
    )),
    ...of('source', followed(FOLLOWED_READER_ROLE)),
    ...of('target', followed(COPIED_SECRET_READER_ROLE)),
    ...of('source', [targetSecretReaderBinding(installNamespace, installNamespace)]),
    ...of(
      'source', [...webhookManifests(installNamespace), ...webhookKeyManifests(installNamespace)], 'isthmus-webhook',
    ),
    ...of('target', invitationKeyManifests(installNamespace), 'isthmus-peering'),
    ...of('either', [
      ...leaderElectionManifests(installNamespace),
      ...flowControlManifests(installNamespace, leaseHolders(installNamespace)),
    ]),
    ...of('source', nodeLeaseManifests(installNamespace), 'isthmus-virtual-node'),
    ...of('source', [clientAuthorityReader(installNamespace)], 'isthmus-virtual-node'),
    ...of('source', schedulerSettingsManifests(installNamespace), 'isthmus-scheduler'),
    ...of('source', podPlaneReaderManifests(installNamespace), 'isthmus-delegate-controller'),
    ...of('source', discoveredTargetsManifests(installNamespace), 'isthmus-discovery'),
  ];
}

/** A component with two sides runs everywhere. */
function accountSide(component: ComponentAccount): Side {
  return sidesOf(component).includes('target') ? 'either' : 'source';
}

/** The objects that a cluster of this role needs. */
export function rbacManifests(installNamespace: string, role: InstallRole = 'both'): readonly KubernetesObject[] {
  return rbacObjects(installNamespace).filter(({ side }) => isNeeded(side, role)).map(({ object }) => object);
}

/** What the webhook uses of the install namespace: a certificate of another issuer, and how far a migration is. */
function webhookManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-webhook';
  const rules = [
    onlyNamed(rule('', ['secrets'], READ), [GIVEN_CERTIFICATE_SECRET]),
    onlyNamed(rule('', ['configmaps'], READ), [MIGRATION_CONFIG_MAP]),
  ];
  return boundRole({ namespace: installNamespace, name }, rules, componentSubjects([name], installNamespace));
}

/** Leader election by a Lease in the install namespace. */
function leaderElectionManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-leader-election';
  const rules = [
    rule('coordination.k8s.io', ['leases'], ['get', 'create', 'patch']),
    onlyNamed(rule('', ['configmaps'], READ), [MIGRATION_CONFIG_MAP]),
  ];
  const holders = componentSubjects([...TARGET_KUBECONFIG_READERS, 'isthmus-discovery'], installNamespace);
  return boundRole({ namespace: installNamespace, name }, rules, holders);
}

/** The scheduler publishes its score weights. */
function schedulerSettingsManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-scheduler';
  const rules = [
    rule('', ['configmaps'], ['create']), // create cannot be limited to a name
    onlyNamed(rule('', ['configmaps'], ['get', 'patch']), [SCHEDULER_SETTINGS_CONFIG_MAP]),
  ];
  return boundRole({ namespace: installNamespace, name }, rules, componentSubjects([name], installNamespace));
}

/** Members of the clusterset announce the addresses of delegates. */
function podPlaneReaderManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-delegate-controller';
  const rules = [rule(ISTHMUS_GROUP, ['clustersetmembers', 'clustersetendpoints'], ['list', 'watch'])];
  return boundRole({ namespace: installNamespace, name }, rules, componentSubjects([name], installNamespace));
}

/** The client CA for servers like the kubelet API is published; Kubernetes provides the Role to read it. */
function clientAuthorityReader(installNamespace: string): KubernetesObject {
  const name = {
    namespace: CLUSTER_NAMESPACE, name: 'isthmus-virtual-node', roleKind: 'Role',
    roleName: 'extension-apiserver-authentication-reader',
  } as const;
  return roleBinding(name, componentSubjects(['isthmus-virtual-node'], installNamespace));
}

function nodeLeaseManifests(installNamespace: string): readonly KubernetesObject[] {
  const name = 'isthmus-virtual-node';
  const rules = [rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update', 'patch'])];
  return boundRole({ namespace: NODE_LEASE_NAMESPACE, name }, rules, componentSubjects([name], installNamespace));
}

/** Every account whose processes elect a leader, whether or not they are installed. */
function leaseHolders(namespace: string): readonly ServiceAccountName[] {
  return [
    ...componentSubjects(COMPONENT_ACCOUNTS, namespace), { namespace, name: 'isthmus-gateway' },
    { namespace, name: SERVICE_DISCOVERY }, { namespace: POD_PLANE, name: POD_PLANE },
  ];
}

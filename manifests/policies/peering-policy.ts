// ValidatingAdmissionPolicies (Kubernetes ≥ 1.30) that limit the peering component in a target beyond RBAC. It creates
// accounts and grants permissions, so its token would allow privilege escalation: the policies restrict it to labelled
// objects, to the roles of sources, and to accounts without further permissions.
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  ALL_COMPONENTS_ACCOUNT, CLUSTER_SUMMARY_VIEWER_ROLE,
  componentSubjects, PEERING_POLICY, PEERING_TOKEN_POLICY, SOURCE_ELSEWHERE_ROLE, SOURCE_ROLE,
  SOURCE_STREAMS_ROLE, TOKEN_REQUESTER_ROLE,
} from '../../model/access/component-accounts.ts';
import { discoveredNamespace, keyNamespace } from '../../model/access/key-namespace.ts';
import { RBAC_GROUP } from '../../model/access/rbac-objects.ts';
import { celIsSystemNamespace } from '../../model/access/system-namespaces.ts';
import { admissionPolicy, validation, type Validation } from './admission-policy.ts';

const WRITES = ['CREATE', 'UPDATE', 'DELETE'];
const PERMISSIONS = [
  {
    apiGroups: [RBAC_GROUP], apiVersions: ['*'],
    resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'], operations: WRITES,
  },
  { apiGroups: [''], apiVersions: ['*'], resources: ['serviceaccounts'], operations: WRITES },
];
const TOKENS = [{ apiGroups: [''], apiVersions: ['*'], resources: ['serviceaccounts/token'], operations: ['CREATE'] }];
/** Label and name prefix of everything that peering creates (Admiralty 0.17's names). */
const COMPONENT = { key: 'app.kubernetes.io/component', value: 'source-identity' };
/** The same for the delegate controller, which may share the account: permissions for streams of named pods. */
const STREAMS_COMPONENT = 'source-streams';
/** Roles that are bound to sources. */
const BOUND_ROLES = [SOURCE_ROLE, SOURCE_ELSEWHERE_ROLE, SOURCE_STREAMS_ROLE, CLUSTER_SUMMARY_VIEWER_ROLE];
const NAME_PREFIX = 'admiralty-';
/** Allowed in roles that peering creates: named objects, and the permission `own` of a source's cluster. */
const OWN_ROLE_RESOURCES = [
  'serviceaccounts/token', 'clustersources', 'sources', 'sourceidentities', 'pods/log', 'pods/exec', 'pods/attach',
  'pods/portforward',
];

/**
 * Permissions that allow privilege escalation: an account with one of these is never bound to a source's role, and no
 * token of it is requested. One check per expression: the API server stops an expression at a million cost units, and a
 * check costs 350,000.
 */
const ESCALATING_PERMISSIONS: readonly string[] = [
  "group('').resource('secrets').check('get')",
  "group('').resource('serviceaccounts').subresource('token').check('create')",
  "group('').resource('nodes').subresource('proxy').check('get')",
  "group('').resource('users').check('impersonate')",
  `group('${RBAC_GROUP}').resource('clusterroles').check('escalate')`,
  `group('${RBAC_GROUP}').resource('clusterrolebindings').check('create')`,
];
const TOO_POWERFUL = 'may do more than a source: name another one';

/** The policies and their bindings (`admissionregistration.k8s.io/v1`) for peering in `installNamespace`. */
export function peeringPolicies(installNamespace: string): readonly KubernetesObject[] {
  return [
    ...policy(PEERING_POLICY, PERMISSIONS, installNamespace, [
      ...objectValidations(installNamespace), ...bindingValidations(installNamespace),
      ...roleValidations(installNamespace),
    ]),
    ...policy(PEERING_TOKEN_POLICY, TOKENS, installNamespace, tokenValidations(installNamespace)),
  ];
}

function policy(
  name: string, resourceRules: readonly object[], installNamespace: string, validations: readonly Validation[],
): readonly KubernetesObject[] {
  const users = componentSubjects(['isthmus-peering'], installNamespace).map(
    ({ namespace, name: account }) => `'system:serviceaccount:${namespace}:${account}'`,
  );
  const matchConditions = [{ name: 'by-peering', expression: `request.userInfo.username in [${users.join(', ')}]` }];
  return admissionPolicy(name, { resourceRules, matchConditions, validations });
}

function objectValidations(installNamespace: string): readonly Validation[] {
  const written = "(request.operation == 'DELETE' ? oldObject : object)";
  return [
    validation(
      `(request.operation == 'DELETE' || ${hasComponentLabel('object')}) && (request.operation == 'CREATE' || ` +
        `${hasComponentLabel('oldObject')})`,
      `peering writes only objects with label ${COMPONENT.key}=${COMPONENT.value}`,
    ),
    validation(
      `!has(request.namespace) || !(${isSystemNamespace('request.namespace', installNamespace)})`,
      'peering writes nothing into kube-* namespaces, and those of keys and of discovered targets',
    ),
    validation(
      `request.resource.resource == 'serviceaccounts' || ${written}.metadata.name.startsWith('${NAME_PREFIX}')`,
      `peering writes only roles and bindings whose names begin with ${NAME_PREFIX}`,
    ),
    validation(
      `request.resource.resource != 'serviceaccounts'` +
        ` || !(${isComponent('request.namespace', `${written}.metadata.name`, installNamespace)})`,
      'peering writes no account of a component',
    ),
  ];
}

function hasComponentLabel(object: string): string {
  return `(has(${object}.metadata.labels) && '${COMPONENT.key}' in ${object}.metadata.labels && ` +
    `${object}.metadata.labels['${COMPONENT.key}'] in ['${COMPONENT.value}', '${STREAMS_COMPONENT}'])`;
}

/** CEL: a namespace of the cluster's own, of our keys, or of discovered targets. */
function isSystemNamespace(namespace: string, installNamespace: string): string {
  return celIsSystemNamespace(namespace, [keyNamespace(installNamespace), discoveredNamespace(installNamespace)]);
}

/**
 * CEL: an account created by an installation or an invitation. A target named `isthmus` has sources with a UID prefix
 * after the name.
 */
function isComponent(namespace: string, name: string, installNamespace: string): string {
  return `${namespace} == '${installNamespace}' && (${name} == '${ALL_COMPONENTS_ACCOUNT}' || ` +
    `(${name}.startsWith('isthmus-') && !${name}.matches('^isthmus-[0-9a-f]{8}$')))`;
}

/** An unchanged binding may predate the policy. */
function bindingValidations(installNamespace: string): readonly Validation[] {
  const isOther =
    "!(request.resource.resource in ['rolebindings', 'clusterrolebindings']) || request.operation == 'DELETE' || " +
      "(request.operation == 'UPDATE' && object.roleRef == oldObject.roleRef && object.subjects == oldObject.subjects)";
  const isTokenRequester = `object.roleRef.name == '${TOKEN_REQUESTER_ROLE}'`;
  const ours =
    `s.kind == 'ServiceAccount' && s.namespace == '${installNamespace}' && s.name in ['isthmus-peering', ` +
      `'${ALL_COMPONENTS_ACCOUNT}']`;
  const isAccount =
    `s.kind == 'ServiceAccount' && !(${isSystemNamespace('s.namespace', installNamespace)}) && ` +
      `!(${isComponent('s.namespace', 's.name', installNamespace)})`;
  const isUser = "s.kind == 'User' && !s.name.startsWith('system:')";
  const isSources = `object.subjects.all(s, (${isAccount}) || (${isUser}))`;
  return [
    validation(
      `${isOther} || object.roleRef.name in [${BOUND_ROLES.map((name) => `'${name}'`).join(', ')}]` +
        ' || object.roleRef.name == object.metadata.name' +
        ` || (request.resource.resource == 'rolebindings' && ${isTokenRequester})`,
      'peering may bind only the roles of sources',
    ),
    validation(
      `${isOther} || (has(object.subjects) && (${isTokenRequester} ? object.subjects.all(s, ${ours}) : ${isSources}))`,
      'peering may grant the permissions of sources only to users, and to ServiceAccounts that belong neither to a ' +
        'component nor to a kube-* namespace, and may grant the permission to request tokens only to itself',
    ),
    ...ESCALATING_PERMISSIONS.map((power) => validation(
      `${isOther} || ${isTokenRequester} || object.subjects.all(s, s.kind != 'ServiceAccount' || ` +
        `!authorizer.serviceAccount(s.namespace, s.name).${power}.allowed())`,
      `the account ${TOO_POWERFUL}`,
    )),
  ];
}

function roleValidations(installNamespace: string): readonly Validation[] {
  const isOther =
    "!(request.resource.resource in ['roles', 'clusterroles']) || request.operation == 'DELETE' || " +
      "(request.operation == 'UPDATE' && object.rules == oldObject.rules)";
  const allowed = OWN_ROLE_RESOURCES.map((resource) => `'${resource}'`).join(', ');
  const isNamed =
    "(has(r.resourceNames) && size(r.resourceNames) > 0) || (has(r.resources) && r.resources == ['sourceidentities'])";
  const ofTokens = (holds: string) =>
    `object.rules.all(r, !('serviceaccounts/token' in r.resources) || r.resourceNames.all(n, ${holds}))`;
  return [
    validation(
      `${isOther} || (has(object.rules) && !has(object.aggregationRule) && object.rules.all(r, has(r.resources) && ` +
        `r.resources.all(x, x in [${allowed}]) && (${isNamed})))`,
      `peering may create roles only for named objects of ${OWN_ROLE_RESOURCES.join(', ')}`,
    ),
    validation(
      `${isOther} || request.resource.resource == 'roles' || object.rules.all(r, !('serviceaccounts/token' in ` +
        'r.resources))',
      'peering may grant permission to request tokens only within a namespace',
    ),
    validation(
      `${isOther} || ${ofTokens(`!(${isComponent('request.namespace', 'n', installNamespace)})`)}`,
      'peering may not grant permission to request tokens of a component',
    ),
    ...ESCALATING_PERMISSIONS.map((power) => validation(
      `${isOther} || request.resource.resource == 'clusterroles'` +
        ` || ${ofTokens(`!authorizer.serviceAccount(request.namespace, n).${power}.allowed()`)}`,
      `the account ${TOO_POWERFUL}`,
    )),
  ];
}

function tokenValidations(installNamespace: string): readonly Validation[] {
  return [
    validation(
      `!(${isSystemNamespace('request.namespace', installNamespace)}) && ` +
        `!(${isComponent('request.namespace', 'request.name', installNamespace)})`,
      'peering asks for no tokens of components and of kube-* namespaces',
    ),
    ...ESCALATING_PERMISSIONS.map((power) => validation(
      `!authorizer.serviceAccount(request.namespace, request.name).${power}.allowed()`, `the account ${TOO_POWERFUL}`,
    )),
  ];
}

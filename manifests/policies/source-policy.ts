// ValidatingAdmissionPolicies (Kubernetes ≥ 1.30) that limit sources in a target beyond RBAC, which cannot check labels
// or contents. Installed once, they apply to every account whose RBAC has the verb `confined`
// (model/access/confinement-rules.ts).
import { invitationAccount, MAX_JOIN_REQUESTS } from '../../api/kinds/invitation.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  SENT_CHANGES_ANNOTATION, CHAPERON_FINALIZER, PARENT_CLUSTER_LABEL, PARENT_UID_LABEL, RUN_ONCE_FINALIZER,
} from '../../api/objects/keys.ts';
import { ADMIRALTY_GROUP, ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import { discoveredNamespace, keyNamespace } from '../../model/access/key-namespace.ts';
import { celIsSystemNamespace, ownNamespaces } from '../../model/access/system-namespaces.ts';
import {
  CONFINED_VERB, MAX_OWN_TOKEN_SECONDS, OWN_VERB, SOURCE_IDENTITIES, UNCONFINED_VERB,
} from '../../model/access/confinement-rules.ts';
import { candidateLeaseName } from '../../model/delegate/confirmation.ts';
import { leaseName } from '../../model/pod/source-lease.ts';
import { INVITATION_POLICY, SOURCE_OBJECT_POLICY, SOURCE_TOKEN_POLICY } from '../../model/access/component-accounts.ts';
import {
  admissionPolicy, breaksOneOf, validation, type NamedExpression, type Validation,
} from './admission-policy.ts';

/** Secret types that pods use and that neither contain fields filled in by the API server nor allow a login. */
const ALLOWED_SECRET_TYPES = [
  'Opaque', 'kubernetes.io/dockerconfigjson',
  'kubernetes.io/dockercfg', 'kubernetes.io/basic-auth', 'kubernetes.io/ssh-auth', 'kubernetes.io/tls',
] as const;

const WRITES = ['CREATE', 'UPDATE', 'DELETE'];
/** What a source may write in a target; reads are limited by RBAC. */
const GUARDED_RESOURCES = [
  { apiGroups: [ADMIRALTY_GROUP], apiVersions: ['*'], resources: ['podchaperons'], operations: WRITES },
  { apiGroups: [''], apiVersions: ['*'], resources: ['pods', 'configmaps', 'secrets', 'services'], operations: WRITES },
  // A write of a status may change labels: with them any pod would become the source's own.
  { apiGroups: [''], apiVersions: ['*'], resources: ['pods/status', 'pods/resize'], operations: ['UPDATE'] },
  { apiGroups: ['networking.k8s.io'], apiVersions: ['*'], resources: ['ingresses'], operations: WRITES },
  { apiGroups: [ISTHMUS_GROUP], apiVersions: ['*'], resources: ['sourceleases'], operations: WRITES },
];
const TOKEN_REQUESTS =
  [{ apiGroups: [''], apiVersions: ['*'], resources: ['serviceaccounts/token'], operations: ['CREATE'] }];
const JOIN_REQUESTS_MADE =
  [{ apiGroups: [ISTHMUS_GROUP], apiVersions: ['*'], resources: ['joinrequests'], operations: ['CREATE'] }];
const ALLOWED_FINALIZERS = [CHAPERON_FINALIZER, RUN_ONCE_FINALIZER];
const SERVICE_ACCOUNT_ANNOTATION = 'kubernetes.io/service-account.name';

/** CEL: whether the requester has a verb on SourceIdentities, which only sources get. */
const IDENTITY_CHECK =
  `authorizer.group('${ISTHMUS_GROUP}').resource('${SOURCE_IDENTITIES}').namespace(request.namespace)`;
/** One expression, since every condition is evaluated: the permissions of a source, and not all permissions. */
const IS_CONFINED = {
  name: 'is-a-source',
  expression:
    `${IDENTITY_CHECK}.check('${CONFINED_VERB}').allowed() && ` +
      `!${IDENTITY_CHECK}.check('${UNCONFINED_VERB}').allowed()`,
};

const OWN_ONLY = `a source may only write objects with its own identity in label ${PARENT_CLUSTER_LABEL}`;

/** The policies and their bindings (`admissionregistration.k8s.io/v1`). */
export function sourcePolicies(installNamespace: string): readonly KubernetesObject[] {
  const validations = objectValidations(installNamespace);
  return [
    ...policy(
      SOURCE_OBJECT_POLICY, GUARDED_RESOURCES, validations, [IS_CONFINED, isNoRightCandidate(validations)],
    ),
    ...policy(SOURCE_TOKEN_POLICY, TOKEN_REQUESTS, [
      validation(
        `has(object.spec.expirationSeconds) && object.spec.expirationSeconds <= ${MAX_OWN_TOKEN_SECONDS}`,
        `a source may ask for tokens of at most ${MAX_OWN_TOKEN_SECONDS} s`,
      ),
    ]),
    ...policy(INVITATION_POLICY, JOIN_REQUESTS_MADE, bearerValidations(), [
      {
        name: 'is-the-bearer-of-an-invitation',
        expression: `request.userInfo.username.startsWith('${bearerPrefix(installNamespace)}')`,
      },
    ]),
  ];
}

/** The holder of an invitation's token may ask only for itself, and no more often than there are names. */
function bearerValidations(): readonly Validation[] {
  const invitation = `request.userInfo.username.split(':')[3].replace('${invitationAccount('')}', '', 1)`;
  const isNamed = `object.metadata.name.matches('^' + ${invitation} + '-[0-${MAX_JOIN_REQUESTS - 1}]$')`;
  return [
    validation(
      `object.spec.invitation == ${invitation} && ${isNamed} && !has(object.metadata.finalizers) && ` +
        '!has(object.metadata.ownerReferences)',
      'with an invitation JoinRequests may be made for it alone, named INVITATION-0 to ' +
        `INVITATION-${MAX_JOIN_REQUESTS - 1}, without finalizers and owners`,
    ),
  ];
}

function bearerPrefix(installNamespace: string): string {
  return `system:serviceaccount:${installNamespace}:${invitationAccount('invitation-')}`;
}

function policy(
  name: string, resourceRules: readonly object[], validations: readonly Validation[],
  matchConditions: readonly NamedExpression[] = [IS_CONFINED],
): readonly KubernetesObject[] {
  return admissionPolicy(name, { resourceRules, matchConditions, validations });
}

/**
 * False for a candidate that breaks no rule, which spares it the rest of the policy: a burst creates one for each pod.
 * Others' pods are told by an owner or by the missing label before the authorizer, the last, is asked for them. One
 * expression may ask it twice, which is what a create needs.
 */
function isNoRightCandidate(validations: readonly Validation[]): NamedExpression {
  const isCandidate = "request.operation == 'CREATE' && request.resource.resource in ['podchaperons', 'pods']";
  return {
    name: 'is-no-candidate-as-it-should-be',
    expression: `!(${isCandidate}) || !${hasLabel('object', PARENT_CLUSTER_LABEL)} || ` +
      breaksOneOf(validations.toReversed()),
  };
}

function objectValidations(installNamespace: string): readonly Validation[] {
  return [
    // An authorizer check costs a third of an expression's budget: old and new object are checked separately.
    validation(`request.operation == 'CREATE' || (${isOwn('oldObject')})`, OWN_ONLY),
    validation(`request.operation == 'DELETE' || (${isOwn('object')})`, OWN_ONLY),
    validation(
      isNoSystemNamespace(installNamespace),
      `NamespaceNotAllowed: no source may write into kube-* namespaces, ${installNamespace}, ` +
        `${keyNamespace(installNamespace)} or ${discoveredNamespace(installNamespace)}`,
    ),
    validation(
      keepsWhatRuns(), 'NamespaceNotAllowed: this source may not change a PodChaperon here any more, only delete it',
    ),
    validation(
      onlyFor('podchaperons', keepsFinalizer()),
      `a source may not take finalizer ${CHAPERON_FINALIZER} off; delete the PodChaperon, and the target removes it`,
    ),
    validation(
      onlyFor('secrets', beforeAndAfter(isHarmlessSecret)),
      `a source may only write Secrets of the types ${ALLOWED_SECRET_TYPES.join(', ')}, without annotation ` +
        SERVICE_ACCOUNT_ANNOTATION,
    ),
    validation(
      unlessDeleted(addsNoFinalizer()), `a source may add no finalizer but ${ALLOWED_FINALIZERS.join(' and ')}`,
    ),
    validation(unlessDeleted(addsNoOwner()), 'a source may set no owner references'),
    validation(
      onlyFor('services', unlessDeleted('!has(object.spec.externalIPs) || size(object.spec.externalIPs) == 0')),
      'a source may set no externalIPs',
    ),
    validation(
      onlyFor('sourceleases', unlessDeleted(isNoLeaseOfAnother())),
      'a source may write no SourceLease under the name of another source, whose pods would stop when it expires',
    ),
  ];
}

function onlyFor(resource: string, expression: string): string {
  return `request.resource.resource != '${resource}' || (${expression})`;
}

function unlessDeleted(expression: string): string {
  return `request.operation == 'DELETE' || (${expression})`;
}

/** What must hold for both the old and the new object. */
function beforeAndAfter(holds: (object: string) => string): string {
  return `(request.operation == 'DELETE' || (${holds('object')})) && (request.operation == 'CREATE' || ` +
    `(${holds('oldObject')}))`;
}

/** Without a known cluster (Admiralty's form) any object counts as own; Secrets only if some source created them. */
function isOwn(object: string): string {
  const isNamed =
    `${hasLabel(object, PARENT_CLUSTER_LABEL)} && ` +
      `${IDENTITY_CHECK}.name(${object}.metadata.labels['${PARENT_CLUSTER_LABEL}']).check('${OWN_VERB}').allowed()`;
  const isCopy = `${hasLabel(object, PARENT_CLUSTER_LABEL)} || ${hasLabel(object, PARENT_UID_LABEL)}`;
  return `(${isNamed}) || ((request.resource.resource != 'secrets' || ${isCopy}) && ` +
    `${IDENTITY_CHECK}.check('${OWN_VERB}').allowed())`;
}

function hasLabel(object: string, key: string): string {
  return `(has(${object}.metadata.labels) && '${key}' in ${object}.metadata.labels)`;
}

/** Existing objects can be deleted, and a PodChaperon released. */
function isNoSystemNamespace(installNamespace: string): string {
  const isLettingGo =
    "request.operation == 'UPDATE' && request.resource.resource == 'podchaperons' && object.spec == oldObject.spec";
  return `request.operation == 'DELETE' || (${isLettingGo}) || ` +
    `!(${celIsSystemNamespace('request.namespace', ownNamespaces(installNamespace))})`;
}

/** A source that may not (or no longer) create PodChaperons may not change what they run either. */
function keepsWhatRuns(): string {
  const carried = (object: string) =>
    `(has(${object}.metadata.annotations) && '${SENT_CHANGES_ANNOTATION}' in ${object}.metadata.annotations ? ` +
      `${object}.metadata.annotations['${SENT_CHANGES_ANNOTATION}'] : '')`;
  const mayMake =
    `authorizer.group('${ADMIRALTY_GROUP}').resource('podchaperons').namespace(request.namespace)` +
      `.check('create').allowed()`;
  return `request.operation != 'UPDATE' || request.resource.resource != 'podchaperons' || (object.spec == ` +
    `oldObject.spec && ${carried('object')} == ${carried('oldObject')}) || ${mayMake}`;
}

/** Until the finalizer is removed, the target knows that a delegate may exist, and revokes what it granted for it. */
function keepsFinalizer(): string {
  const held = (object: string) =>
    `(has(${object}.metadata.finalizers) && '${CHAPERON_FINALIZER}' in ${object}.metadata.finalizers)`;
  return `request.operation != 'UPDATE' || !${held('oldObject')} || ${held('object')}`;
}

function isHarmlessSecret(object: string): string {
  const types = ALLOWED_SECRET_TYPES.map((type) => `'${type}'`).join(', ');
  const isBound =
    `has(${object}.metadata.annotations) && '${SERVICE_ACCOUNT_ANNOTATION}' in ${object}.metadata.annotations`;
  return `(!has(${object}.type) || ${object}.type in [${types}]) && !(${isBound})`;
}

function addsNoFinalizer(): string {
  const allowed = ALLOWED_FINALIZERS.map((finalizer) => `'${finalizer}'`).join(', ');
  const wasThere =
    "(request.operation == 'UPDATE' && has(oldObject.metadata.finalizers) && finalizer in " +
      "oldObject.metadata.finalizers)";
  return `!has(object.metadata.finalizers) || object.metadata.finalizers.all(finalizer, finalizer in [${allowed}] || ` +
    `${wasThere})`;
}

function addsNoOwner(): string {
  const isSame =
    "(request.operation == 'UPDATE' && has(oldObject.metadata.ownerReferences) && object.metadata.ownerReferences == " +
      "oldObject.metadata.ownerReferences)";
  return `!has(object.metadata.ownerReferences) || ${isSame}`;
}

/** The target finds the leases of a source by their names. */
function isNoLeaseOfAnother(): string {
  const label = `object.metadata.labels['${PARENT_CLUSTER_LABEL}']`;
  const prefixes = [leaseName(''), candidateLeaseName('')].map((prefix) => `'${prefix}'`);
  const isPlain = prefixes.map((prefix) => `!object.metadata.name.startsWith(${prefix})`).join(' && ');
  const own = prefixes.map((prefix) => `${prefix} + ${label}`).join(', ');
  return `(${isPlain}) || (${hasLabel('object', PARENT_CLUSTER_LABEL)} && object.metadata.name in [${own}])`;
}

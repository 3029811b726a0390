// Admission policies in the source. Two protect proxy pods: only in opted-in namespaces, and only as the webhook left
// them; pods of other schedulers are not matched. The third warns of an election that has no effect.
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  ADMISSION_RECORD_ANNOTATION, DELEGATE_NAME_ANNOTATION, ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL,
  NAMESPACE_OPT_IN_VALUE, NOT_ELECTED, ADMIRALTY_PREFIX, PROXY_SCHEDULER, SOURCE_MANIFEST_ANNOTATION, TARGET_ANNOTATION,
} from '../../api/objects/keys.ts';
import { celIsOneOf, neverElectedNamespaces } from '../../model/access/system-namespaces.ts';
import { admissionPolicy, breaksOneOf } from './admission-policy.ts';
import { electionPolicy, NOT_OPTED_IN } from './election-policy.ts';

/** Policy about proxy pods wherever they are. */
const PROXY_POLICY = 'isthmus-proxy-pods';
/** Policy about proxy pods where none may be created. */
const NAMESPACE_POLICY = 'isthmus-proxy-namespaces';
/** Names of the policies that protect proxy pods, and of their bindings. */
export const PROXY_POLICY_NAMES: readonly string[] = [NAMESPACE_POLICY, PROXY_POLICY];

const has = (object: string, annotation: string): string =>
  `(has(${object}.metadata.annotations) && '${annotation}' in ${object}.metadata.annotations)`;
const valueOf = (object: string, annotation: string): string =>
  `(${has(object, annotation)} ? ${object}.metadata.annotations['${annotation}'] : '')`;
const isElectedIn = (object: string): string =>
  `${has(object, ELECT_ANNOTATION)} && ${valueOf(object, ELECT_ANNOTATION)} != '${NOT_ELECTED}'`;
/** Admiralty's proxy pods, which exist during a migration, have a manifest instead of a record. */
const HAS_PROXY_ANNOTATIONS =
  `${isElectedIn('object')} && (${has('object', ADMISSION_RECORD_ANNOTATION)} || ` +
    `${has('object', SOURCE_MANIFEST_ANNOTATION)})`;
const IS_HELD =
  `has(object.metadata.finalizers) && object.metadata.finalizers.exists(f, f.startsWith('${ADMIRALTY_PREFIX}'))`;

const IS_PROXY = `has(object.spec.schedulerName) && object.spec.schedulerName == '${PROXY_SCHEDULER}'`;

/** The ValidatingAdmissionPolicies with their bindings (`admissionregistration.k8s.io/v1`). */
export function proxyPolicyManifests(installNamespace: string): readonly KubernetesObject[] {
  const rule = (resources: readonly string[], operations: readonly string[]): object =>
    ({ apiGroups: [''], apiVersions: ['v1'], resources, operations, scope: 'Namespaced' });
  const validations = [NO_EPHEMERAL_CONTAINERS, ...createValidations(installNamespace), ...UPDATE_VALIDATIONS];
  return [
    // First, for versions before this policy had its rule in the other one: an upgrade that stops leaves one in force.
    ...admissionPolicy(NAMESPACE_POLICY, {
      resourceRules: [rule(['pods'], ['CREATE'])],
      namespaceSelector: { matchExpressions: NOT_OPTED_IN },
      matchConditions: [{ name: 'is-proxy-pod', expression: IS_PROXY }],
      validations: [{ expression: 'false', message: NOT_HERE, reason: 'Forbidden' }],
    }),
    ...admissionPolicy(PROXY_POLICY, {
      resourceRules: [rule(['pods', 'pods/ephemeralcontainers'], ['CREATE', 'UPDATE'])],
      // One expression, since every condition is evaluated for every pod.
      matchConditions: [
        { name: 'is-no-proxy-pod-as-it-should-be', expression: `${IS_PROXY} && ${breaksOneOf(validations)}` },
      ],
      validations,
    }),
    ...electionPolicy(installNamespace),
  ];
}

const NOT_HERE =
  `schedulerName ${PROXY_SCHEDULER} is for pods of namespaces that opted in: label the namespace ` +
    `${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}, or take the schedulerName out`;
const DELEGATE_IS =
  `${has('object', DELEGATE_NAME_ANNOTATION)} ? ': debug pod ' + ` +
    `${valueOf('object', DELEGATE_NAME_ANNOTATION)} + ' in ' + ${valueOf('object', TARGET_ANNOTATION)} : ''`;
/** They would stay on the proxy pod, which no kubelet runs, and `kubectl debug` would wait for them indefinitely. */
const NO_EPHEMERAL_CONTAINERS = {
  expression: "!has(request.subResource) || request.subResource != 'ephemeralcontainers'",
  message:
    'an elected pod runs in another cluster, where ephemeral containers are not carried; debug its delegate there',
  messageExpression:
    `'pod ' + object.metadata.name + ' runs in another cluster, where ephemeral containers are not carried' + ` +
      `(${DELEGATE_IS})`,
  reason: 'Forbidden',
};

const updated = (expression: string): string => `request.operation != 'UPDATE' || (${expression})`;
const UPDATE_VALIDATIONS = [
  {
    expression: updated(
      `${has('object', ELECT_ANNOTATION)} == ${has('oldObject', ELECT_ANNOTATION)} && ` +
        `${valueOf('object', ELECT_ANNOTATION)} == ${valueOf('oldObject', ELECT_ANNOTATION)}`,
    ),
    message:
      `annotation ${ELECT_ANNOTATION} cannot be changed after the pod was admitted; delete the pod and create it ` +
        'again',
    reason: 'Invalid',
  },
  {
    expression: updated(
      `!${has('oldObject', ADMISSION_RECORD_ANNOTATION)} || ${valueOf('object', ADMISSION_RECORD_ANNOTATION)} == ` +
        valueOf('oldObject', ADMISSION_RECORD_ANNOTATION),
    ),
    message:
      `annotation ${ADMISSION_RECORD_ANNOTATION} is written at admission and cannot be changed; delete the pod and ` +
        'create it again',
    reason: 'Invalid',
  },
];

function createValidations(installNamespace: string) {
  const created = (expression: string): string => `request.operation != 'CREATE' || (${expression})`;
  return [
    {
      expression: created(`!(${celIsOneOf('request.namespace', neverElectedNamespaces(installNamespace))})`),
      message: NOT_HERE,
      reason: 'Forbidden',
    },
    {
      expression: created(`${HAS_PROXY_ANNOTATIONS} && ${IS_HELD} && !has(object.spec.nodeName)`),
      message:
        `schedulerName ${PROXY_SCHEDULER} is set by Isthmus, on pods with annotation ${ELECT_ANNOTATION}; set that ` +
          'annotation in its place',
      reason: 'Forbidden',
    },
  ];
}

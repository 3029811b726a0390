// Admission policies in the source. One protects proxy pods: only in opted-in namespaces, and only as the webhook left
// them; pods of other schedulers are not matched. The other warns of an election that has no effect.
import { ELECTING_LABELS } from '../../api/admission-rules.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  ADMISSION_RECORD_ANNOTATION, DELEGATE_NAME_ANNOTATION, ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL,
  NAMESPACE_OPT_IN_VALUE, NOT_ELECTED, OWN_PREFIX, PROXY_SCHEDULER, SOURCE_MANIFEST_ANNOTATION, TARGET_ANNOTATION,
} from '../../api/objects/keys.ts';
import { celIsOneOf, neverElectedNamespaces } from '../../model/access/system-namespaces.ts';
import { admissionPolicy } from './admission-policy.ts';
import { electionPolicy } from './election-policy.ts';

/** Name of the policy and of its binding. */
export const PROXY_POLICY_NAME = 'isthmus-proxy-pods';

const has = (object: string, annotation: string): string =>
  `(has(${object}.metadata.annotations) && '${annotation}' in ${object}.metadata.annotations)`;
const valueOf = (object: string, annotation: string): string =>
  `(${has(object, annotation)} ? ${object}.metadata.annotations['${annotation}'] : '')`;
const isElectedIn = (object: string): string =>
  `${has(object, ELECT_ANNOTATION)} && ${valueOf(object, ELECT_ANNOTATION)} != '${NOT_ELECTED}'`;
const hasLabel = ([label, value]: readonly [string, string]): string =>
  `('${label}' in namespaceObject.metadata.labels && namespaceObject.metadata.labels['${label}'] == '${value}')`;
const OPTED_IN = [[NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE] as const, ...Object.values(ELECTING_LABELS)]
  .map(hasLabel)
  .join(' || ');
/** Admiralty's proxy pods, which exist during a migration, have a manifest instead of a record. */
const IS_MARKED =
  `${isElectedIn('object')} && (${has('object', ADMISSION_RECORD_ANNOTATION)} || ` +
    `${has('object', SOURCE_MANIFEST_ANNOTATION)})`;
const IS_HELD =
  `has(object.metadata.finalizers) && object.metadata.finalizers.exists(f, f.startsWith('${OWN_PREFIX}'))`;

/** The ValidatingAdmissionPolicies, each with its binding (`admissionregistration.k8s.io/v1`). */
export function proxyPolicyManifests(installNamespace: string): readonly KubernetesObject[] {
  const policy = admissionPolicy(PROXY_POLICY_NAME, {
    resourceRules: [{
      apiGroups: [''], apiVersions: ['v1'], resources: ['pods', 'pods/ephemeralcontainers'],
      operations: ['CREATE', 'UPDATE'], scope: 'Namespaced',
    }],
    matchConditions: [{
      name: 'is-proxy-pod',
      expression: `has(object.spec.schedulerName) && object.spec.schedulerName == '${PROXY_SCHEDULER}'`,
    }],
    validations: validations(installNamespace),
  });
  return [...policy, ...electionPolicy(installNamespace)];
}

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

function validations(installNamespace: string) {
  const created = (expression: string): string => `request.operation != 'CREATE' || (${expression})`;
  const updated = (expression: string): string => `request.operation != 'UPDATE' || (${expression})`;
  return [
    NO_EPHEMERAL_CONTAINERS,
    {
      expression: created(
        `!(${celIsOneOf('request.namespace', neverElectedNamespaces(installNamespace))}) && ` +
          `has(namespaceObject.metadata.labels) && ` +
          `(${OPTED_IN})`,
      ),
      message:
        `schedulerName ${PROXY_SCHEDULER} is for pods of namespaces that opted in: label the namespace ` +
          `${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}, or take the schedulerName out`,
      reason: 'Forbidden',
    },
    {
      expression: created(`${IS_MARKED} && ${IS_HELD} && !has(object.spec.nodeName)`),
      message:
        `schedulerName ${PROXY_SCHEDULER} is set by Isthmus, on pods with annotation ${ELECT_ANNOTATION}; set that ` +
          'annotation in its place',
      reason: 'Forbidden',
    },
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
}

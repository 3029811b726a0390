// An admission policy in the source that warns whoever elects pods where that has no effect: without it they run in the
// source and nothing says why. It denies nothing, and asks no webhook.
import { ELECTING_LABELS } from '../../api/admission-rules.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  ELECT_ANNOTATION,
  NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, NOT_ELECTED,
} from '../../api/objects/keys.ts';
import {
  apiVersionOf, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../api/resource-types.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';

const NAME = 'isthmus-election';
const WRITES = ['CREATE', 'UPDATE'];
const rule = (group: string, resources: readonly string[], operations: readonly string[]): object => ({
  apiGroups: [group], apiVersions: ['v1'], resources, operations, scope: '*',
});
const RULES = [
  rule('', ['pods'], ['CREATE']), rule('', ['namespaces'], WRITES),
  rule('apps', ['deployments', 'statefulsets', 'daemonsets'], WRITES), rule('batch', ['jobs', 'cronjobs'], WRITES),
];

const orEmpty = (path: string): string => `(has(${path}) ? ${path} : {})`;
/** Metadata of the pods: of the pod itself, or of the template. */
const MARKS = `request.kind.kind == 'Pod' ? object.metadata : request.kind.kind == 'CronJob'
  ? ${orEmpty('object.spec.jobTemplate.spec.template.metadata')} : ${orEmpty('object.spec.template.metadata')}`;
const OPTED_IN = [[NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE] as const, ...Object.values(ELECTING_LABELS)];

/** The variables of the validations. `dyn` because the policy is about several kinds. */
const VARIABLES = [
  { name: 'marks', expression: MARKS.replaceAll('object.', 'dyn(object).').replaceAll(/\s+/g, ' ') },
  { name: 'annotations', expression: orEmpty('variables.marks.annotations') },
  { name: 'labels', expression: orEmpty('variables.marks.labels') },
  {
    name: 'elects',
    expression:
      `'${ELECT_ANNOTATION}' in variables.annotations && variables.annotations['${ELECT_ANNOTATION}'] != ` +
        `'${NOT_ELECTED}'`,
  },
  { name: 'namespaceLabels', expression: orEmpty('namespaceObject.metadata.labels') },
  {
    name: 'optedIn',
    expression: OPTED_IN.map(
      ([label, value]) =>
        `('${label}' in variables.namespaceLabels && variables.namespaceLabels['${label}'] == '${value}')`,
    ).join(' || '),
  },
];

/** The ValidatingAdmissionPolicy and its binding. */
export function electionPolicy(installNamespace: string): readonly KubernetesObject[] {
  const metadata = { name: NAME, labels: PART_OF };
  const policy = {
    apiVersion: apiVersionOf(VALIDATING_ADMISSION_POLICIES),
    kind: VALIDATING_ADMISSION_POLICIES.kind,
    metadata,
    spec: {
      failurePolicy: 'Ignore',
      matchConstraints: { resourceRules: RULES },
      // The creator of the owner was already warned; controllers read no warnings.
      matchConditions: [{ name: 'has-no-owner', expression: '!has(object.metadata.ownerReferences)' }],
      variables: VARIABLES,
      validations: [...workloadHints(installNamespace), ...namespaceHints()],
    },
  };
  const binding = {
    apiVersion: apiVersionOf(VALIDATING_ADMISSION_POLICY_BINDINGS),
    kind: VALIDATING_ADMISSION_POLICY_BINDINGS.kind,
    metadata,
    spec: { policyName: NAME, validationActions: ['Warn'] },
  };
  return [policy, binding];
}

function workloadHints(installNamespace: string) {
  const system = `request.namespace in ['kube-system', '${installNamespace}']`;
  const unless = (expression: string): string => `request.kind.kind == 'Namespace' || ${expression}`;
  return [
    {
      expression: unless(
        `request.kind.kind == 'Pod' || !has(object.metadata.annotations) || !('${ELECT_ANNOTATION}' in ` +
          `object.metadata.annotations) || '${ELECT_ANNOTATION}' in variables.annotations`,
      ),
      messageExpression:
        `'annotation ${ELECT_ANNOTATION} of a ' + request.kind.kind + ' elects nothing: it belongs in the ` +
          `annotations of the pod template'`,
    },
    {
      expression:
        unless(`!('${ELECT_ANNOTATION}' in variables.labels) || '${ELECT_ANNOTATION}' in variables.annotations`),
      message: `label ${ELECT_ANNOTATION} elects nothing: it has to be an annotation of the pods`,
    },
    {
      expression: unless(`!variables.elects || !(${system})`),
      messageExpression: `'pods of namespace ' + request.namespace + ' are never elected, so they run in this cluster'`,
    },
    {
      expression: unless(`!variables.elects || variables.optedIn || ${system}`),
      messageExpression:
        `'the pods ask to be elected, but namespace ' + request.namespace + ' has not opted in, so they run in this ` +
          `cluster: kubectl label namespace ' + request.namespace + ' ` +
          `${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE} --overwrite, then create them again'`,
    },
    {
      expression: `request.kind.kind != 'DaemonSet' || !variables.elects`,
      message:
        'pods of a DaemonSet belong to nodes of this cluster and are refused when they are elected: take annotation ' +
          `${ELECT_ANNOTATION} out of the template`,
    },
  ];
}

/** A label whose value means nothing; those that say no are no mistake. */
function namespaceHints() {
  const hint = (label: string, value: string, refusals: readonly string[]): object => ({
    expression:
      `request.kind.kind != 'Namespace' || !has(object.metadata.labels) || !('${label}' in object.metadata.labels) ` +
        `|| object.metadata.labels['${label}'] in ${JSON.stringify([value, ...refusals]).replaceAll('"', "'")}`,
    messageExpression:
      `'label ${label}=' + object.metadata.labels['${label}'] + ' has no effect: the value has to be ${value}'`,
  });
  return [
    hint(NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, ['disabled', 'false']),
    hint(NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE, ['none', 'false']),
  ];
}

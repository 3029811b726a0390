// An admission policy in the source that warns users who elect pods where that has no effect: without it they run in
// the source and nothing says why. It only warns, and calls no webhook.
import { ELECTING_LABELS } from '../../api/admission-rules.ts';
import {
  ELECTION_LABELS, LABEL_ELECTS_NOTHING, meaninglessLabel, misplacedElection, neverElected, notOptedIn,
  type ElectionLabel,
} from '../../api/election-hints.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, NOT_ELECTED,
} from '../../api/objects/keys.ts';
import { celIsOneOf, neverElectedNamespaces } from '../../model/access/system-namespaces.ts';
import { admissionPolicy, type PartialBinding } from './admission-policy.ts';

const NAME = 'isthmus-election';
/** Label of every Namespace with its name. */
const NAMESPACE_NAME = 'kubernetes.io/metadata.name';
const WRITES = ['CREATE', 'UPDATE'];
const rule = (group: string, resources: readonly string[], operations: readonly string[]): object => ({
  apiGroups: [group], apiVersions: ['v1'], resources, operations, scope: '*',
});
const PODS_RULES = [rule('', ['pods'], ['CREATE'])];
const OTHER_RULES = [
  rule('', ['namespaces'], WRITES),
  rule('apps', ['deployments', 'statefulsets', 'daemonsets'], WRITES), rule('batch', ['jobs', 'cronjobs'], WRITES),
];

const orEmpty = (path: string): string => `(has(${path}) ? ${path} : {})`;
/** Metadata of the pods: of the pod itself, or of the template. */
const POD_METADATA = `request.kind.kind == 'Pod' ? object.metadata : request.kind.kind == 'CronJob'
  ? ${orEmpty('object.spec.jobTemplate.spec.template.metadata')} : ${orEmpty('object.spec.template.metadata')}`;
const OPTED_IN = [[NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE] as const, ...Object.values(ELECTING_LABELS)];
/** `meta/v1` LabelSelectorRequirements: namespaces that have not opted in. */
export const NOT_OPTED_IN: readonly object[] =
  OPTED_IN.map(([key, value]) => ({ key, operator: 'NotIn', values: [value] }));
/** Labels that Kubernetes' controllers give to their pods. */
const OF_CONTROLLERS = ['pod-template-hash', 'controller-revision-hash', 'batch.kubernetes.io/controller-uid'];

/** The variables of the validations. `dyn` because the policy is about several kinds. */
const VARIABLES = [
  { name: 'podMetadata', expression: POD_METADATA.replaceAll('object.', 'dyn(object).').replaceAll(/\s+/g, ' ') },
  { name: 'annotations', expression: orEmpty('variables.podMetadata.annotations') },
  { name: 'labels', expression: orEmpty('variables.podMetadata.labels') },
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

/** Pods that neither the annotation nor the label mentions need no hint. */
const MENTIONS = ['annotations', 'labels'].map(
  (field) => `(has(object.metadata.${field}) && '${ELECT_ANNOTATION}' in object.metadata.${field})`,
).join(' || ');

/** The ValidatingAdmissionPolicy and its bindings. */
export function electionPolicy(installNamespace: string): readonly KubernetesObject[] {
  return admissionPolicy(NAME, {
    resourceRules: [...PODS_RULES, ...OTHER_RULES],
    matchConditions: [
      // The creator of the owner was already warned; controllers read no warnings.
      { name: 'has-no-owner', expression: '!has(object.metadata.ownerReferences)' },
      { name: 'mentions-election', expression: `request.kind.kind != 'Pod' || ${MENTIONS}` },
    ],
    variables: VARIABLES,
    validations: [...workloadHints(installNamespace), ...namespaceHints()],
    action: 'Warn',
    bindings: bindings(neverElectedNamespaces(installNamespace)),
  });
}

/**
 * Selectors cost next to nothing, expressions the conversion of each pod. So they are not evaluated for pods of
 * controllers, nor for pods in namespaces that opted in, which are right as they are, but for those with the label. No
 * pod is evaluated twice.
 */
function bindings(system: readonly string[]): readonly PartialBinding[] {
  const isSystem = (operator: 'In' | 'NotIn'): object => ({ key: NAMESPACE_NAME, operator, values: system });
  const withLabel = { matchExpressions: [{ key: ELECT_ANNOTATION, operator: 'Exists' }] };
  const unlabelled =
    { matchExpressions: [ELECT_ANNOTATION, ...OF_CONTROLLERS].map((key) => ({ key, operator: 'DoesNotExist' })) };
  const unlabelledIn = (...matchExpressions: readonly object[]): object =>
    ({ resourceRules: PODS_RULES, namespaceSelector: { matchExpressions }, objectSelector: unlabelled });
  return [
    { suffix: '', matchResources: { resourceRules: OTHER_RULES } },
    { suffix: '-of-pods', matchResources: unlabelledIn(isSystem('NotIn'), ...NOT_OPTED_IN) },
    { suffix: '-of-system-pods', matchResources: unlabelledIn(isSystem('In')) },
    { suffix: '-of-labelled-pods', matchResources: { resourceRules: PODS_RULES, objectSelector: withLabel } },
  ];
}

function workloadHints(installNamespace: string) {
  const system = celIsOneOf('request.namespace', neverElectedNamespaces(installNamespace));
  const unless = (expression: string): string => `request.kind.kind == 'Namespace' || ${expression}`;
  return [
    {
      expression: unless(
        `request.kind.kind == 'Pod' || !has(object.metadata.annotations) || !('${ELECT_ANNOTATION}' in ` +
          `object.metadata.annotations) || '${ELECT_ANNOTATION}' in variables.annotations`,
      ),
      messageExpression: `'${misplacedElection(spliced('request.kind.kind'))}'`,
    },
    {
      expression:
        unless(`!('${ELECT_ANNOTATION}' in variables.labels) || '${ELECT_ANNOTATION}' in variables.annotations`),
      message: LABEL_ELECTS_NOTHING,
    },
    {
      expression: unless(`!variables.elects || !(${system})`),
      messageExpression: `'${neverElected(spliced('request.namespace'))}'`,
    },
    {
      expression: unless(`!variables.elects || variables.optedIn || ${system}`),
      messageExpression: `'${notOptedIn(spliced('request.namespace'))}'`,
    },
    {
      expression: `request.kind.kind != 'DaemonSet' || !variables.elects`,
      message:
        'pods of a DaemonSet belong to nodes of this cluster and are denied when they are elected: take annotation ' +
          `${ELECT_ANNOTATION} out of the template`,
    },
  ];
}

/** A label whose value means nothing; those that say no are no mistake. */
function namespaceHints() {
  const hint = (label: ElectionLabel): object => {
    const values = JSON.stringify([label.value, ...label.refusals]).replaceAll('"', "'");
    return {
      expression:
        `request.kind.kind != 'Namespace' || !has(object.metadata.labels) || !('${label.key}' in ` +
          `object.metadata.labels) || object.metadata.labels['${label.key}'] in ${values}`,
      messageExpression: `'${meaninglessLabel(label, spliced(`object.metadata.labels['${label.key}']`))}'`,
    };
  };
  return ELECTION_LABELS.map(hint);
}

/** An expression within a text of a policy. */
function spliced(expression: string): string {
  return `' + ${expression} + '`;
}

// An admission policy in the source that warns whoever elects pods where that has no effect: without it they run in the
// source and nothing says why. It denies nothing, and asks no webhook.
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
import { admissionPolicy } from './admission-policy.ts';

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
  return admissionPolicy(NAME, {
    resourceRules: RULES,
    // The creator of the owner was already warned; controllers read no warnings.
    matchConditions: [{ name: 'has-no-owner', expression: '!has(object.metadata.ownerReferences)' }],
    variables: VARIABLES,
    validations: [...workloadHints(installNamespace), ...namespaceHints()],
    action: 'Warn',
  });
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

// Node selectors and required node affinity, as kube-scheduler's NodeAffinity filter reads them
// (`k8s.io/component-helpers/scheduling/corev1/nodeaffinity`). Label keys come from users: only own properties count.
// A term that Kubernetes could not parse (unknown operator, wrong number of values) matches no node.

import type { PodSpec, StringMap } from '../../api/objects/core.ts';
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../api/objects/selectors.ts';

const INTEGER = /^[+-]?\d{1,63}$/;

/** The known properties of a node, or of a group of equal nodes. */
interface NodeFacts {
  readonly labels: StringMap;
  readonly nodeName: string | undefined;
  readonly unknownValues: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** The label whose value is normally the node's name. */
export const HOSTNAME_LABEL = 'kubernetes.io/hostname';

/**
 * Whether the pod's `nodeSelector` and required node affinity match a node with these labels. Without `nodeName`, as
 * for a node group, `matchFields` are ignored, as in Kubernetes. `unknownValues` are label keys of the node with
 * unknown values: what some value satisfies counts as satisfied.
 */
export function matchesNodeSelector(
  spec: Pick<PodSpec, 'nodeSelector' | 'affinity'>,
  labels: StringMap,
  nodeName?: string,
  unknownValues: ReadonlySet<string> = NONE,
): boolean {
  const node: NodeFacts = { labels, nodeName, unknownValues };
  const hasAllLabels = Object.entries(spec.nodeSelector ?? {})
    .every(([key, value]) => isUnknown(node, key) || labelOf(node.labels, key) === value);
  if (!hasAllLabels) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  // A missing selector matches every node; one without terms, or with empty terms only, matches none.
  return required === undefined || (required.nodeSelectorTerms ?? []).some((term) => matchesTerm(term, node));
}

/**
 * The node names in the pod's selector and required affinity, by hostname label or field; for a pod without any, nodes
 * need not be distinguished by name.
 */
export function namedNodes(spec: Pick<PodSpec, 'nodeSelector' | 'affinity'>): ReadonlySet<string> {
  const selected = labelOf(spec.nodeSelector ?? {}, HOSTNAME_LABEL);
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return new Set([...(selected === undefined ? [] : [selected]), ...terms.flatMap(namesInTerm)]);
}

function namesInTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): string[] {
  const byName = [...matchFields, ...matchExpressions.filter(({ key }) => key === HOSTNAME_LABEL)];
  return byName.flatMap(({ values = [] }) => values);
}

function isUnknown({ unknownValues }: NodeFacts, key: string): boolean {
  return unknownValues.has(key);
}

/** The value of a label; only own properties count, because keys come from users. */
export function labelOf(labels: StringMap, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** Whether a node with this name and labels matches one term, for example of preferred affinity. */
export function matchesNodeSelectorTerm(term: NodeSelectorTerm, labels: StringMap, nodeName: string): boolean {
  return matchesTerm(term, { labels, nodeName, unknownValues: NONE });
}

function matchesTerm(term: NodeSelectorTerm, node: NodeFacts): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => matchesExpression(requirement, node)) &&
    matchFields.every((requirement) => matchesField(requirement, node.nodeName))
  );
}

function matchesExpression(requirement: NodeSelectorRequirement, node: NodeFacts): boolean {
  return isUnknown(node, requirement.key)
    ? someValueMatches(requirement)
    : matchesLabel(requirement, labelOf(node.labels, requirement.key));
}

function someValueMatches({ operator, values = [] }: NodeSelectorRequirement): boolean {
  if (operator === 'Gt' || operator === 'Lt') return values.length === 1 && parseInt64(values[0]) !== undefined;
  return ['In', 'NotIn', 'Exists'].includes(operator) && hasFittingValues(operator, values.length);
}

function matchesLabel({ operator, values = [] }: NodeSelectorRequirement, label: string | undefined): boolean {
  switch (hasFittingValues(operator, values.length) ? operator : 'unparsable') {
    case 'In':
      return label !== undefined && values.includes(label);
    case 'NotIn':
      return label === undefined || !values.includes(label);
    case 'Exists':
      return label !== undefined;
    case 'DoesNotExist':
      return label === undefined;
    case 'Gt':
      return compareIntegers(label, values[0]) === 'greater';
    case 'Lt':
      return compareIntegers(label, values[0]) === 'less';
    default:
      return false;
  }
}

function hasFittingValues(operator: string, count: number): boolean {
  if (operator === 'In' || operator === 'NotIn') return count > 0;
  if (operator === 'Gt' || operator === 'Lt') return count === 1;
  return count === 0;
}

function compareIntegers(left: string | undefined, right: string | undefined): 'less' | 'equal' | 'greater'
  | 'incomparable' {
  const a = parseInt64(left);
  const b = parseInt64(right);
  if (a === undefined || b === undefined) return 'incomparable';
  if (a === b) return 'equal';
  return a < b ? 'less' : 'greater';
}

function parseInt64(text: string | undefined): bigint | undefined {
  if (text === undefined || !INTEGER.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

// Kubernetes has one field, `metadata.name`, and allows one value for it; any other field of a node reads as empty.
function matchesField({ key, operator, values = [] }: NodeSelectorRequirement, nodeName: string | undefined): boolean {
  if (values.length !== 1 || (operator !== 'In' && operator !== 'NotIn')) return false;
  if (nodeName === undefined) return true;
  const field = key === 'metadata.name' ? nodeName : '';
  return values.includes(field) === (operator === 'In');
}

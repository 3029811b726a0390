// Node selectors and required node affinity, as kube-scheduler's NodeAffinity filter reads them
// (`k8s.io/component-helpers/scheduling/corev1/nodeaffinity`). Label keys come from users: only own properties count.
// A term that Kubernetes could not parse (unknown operator, wrong number of values) matches no node.

import type { NodeSelectorRequirement, NodeSelectorTerm, PodSpec, StringMap } from '../api/core.ts';

const INTEGER = /^[+-]?\d{1,63}$/;

/**
 * Whether the pod's `nodeSelector` and required node affinity allow a node with these labels.
 * Without `nodeName`, as for a group of nodes, `matchFields` are not asked, as in Kubernetes.
 */
export function matchesNodeSelector(
  spec: Pick<PodSpec, 'nodeSelector' | 'affinity'>,
  labels: StringMap,
  nodeName?: string,
): boolean {
  const hasAllLabels = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labelOf(labels, key) === value);
  if (!hasAllLabels) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  // An absent selector allows every node; one without terms, or with empty terms only, allows none.
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, labels, nodeName));
}

function labelOf(labels: StringMap, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function matchesTerm(term: NodeSelectorTerm, labels: StringMap, nodeName: string | undefined): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => matchesLabel(requirement, labelOf(labels, requirement.key))) &&
    matchFields.every((requirement) => matchesField(requirement, nodeName))
  );
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

function compareIntegers(left: string | undefined, right: string | undefined): 'less' | 'equal' | 'greater' | 'incomparable' {
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

// Kubernetes knows one field, `metadata.name`, and allows one value for it; any other field of a node reads as empty.
function matchesField({ key, operator, values = [] }: NodeSelectorRequirement, nodeName: string | undefined): boolean {
  if (values.length !== 1 || (operator !== 'In' && operator !== 'NotIn')) return false;
  if (nodeName === undefined) return true;
  const field = key === 'metadata.name' ? nodeName : '';
  return values.includes(field) === (operator === 'In');
}

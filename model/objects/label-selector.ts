// Label selectors as in Kubernetes (`meta/v1` LabelSelector, `k8s.io/apimachinery/pkg/labels`). Keys come from users:
// only own properties count. A requirement that Kubernetes would reject matches nothing and is reported.
import type { StringMap } from '../../api/objects/core.ts';
import type { LabelSelector, NodeSelectorRequirement } from '../../api/objects/selectors.ts';
import { isRecord } from './json-values.ts';

/** Whether labels match a selector. A missing selector matches nothing, an empty one everything, as in Kubernetes. */
export function matchesLabelSelector(selector: LabelSelector | undefined, labels: StringMap): boolean {
  if (selector === undefined) return false;
  return (
    Object.entries(selector.matchLabels ?? {})
      .every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value) &&
    (selector.matchExpressions ?? []).every(
      (requirement) => meets(requirement, Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined),
    )
  );
}

function meets({ operator, values = [] }: NodeSelectorRequirement, label: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label);
    case 'NotIn': // Kubernetes rejects the selector without values
      return values.length > 0 && (label === undefined || !values.includes(label));
    case 'Exists':
      return values.length === 0 && label !== undefined;
    case 'DoesNotExist':
      return values.length === 0 && label === undefined;
    default:
      return false;
  }
}

/** The selector with other keys of labels. */
export function selectorWithKeys(
  { matchLabels, matchExpressions }: LabelSelector, keyOf: (key: string) => string,
): LabelSelector {
  return {
    ...(matchLabels && {
      matchLabels: Object.fromEntries(Object.entries(matchLabels).map(([key, value]) => [keyOf(key), value])),
    }),
    ...(matchExpressions && { matchExpressions: matchExpressions.map((each) => ({ ...each, key: keyOf(each.key) })) }),
  };
}

/** What is wrong with a selector of any shape; undefined when it is valid. */
export function selectorProblem(selector: unknown): string | undefined {
  if (!isRecord(selector)) return 'is not a label selector';
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (!isRecord(matchLabels) || !Object.values(matchLabels).every((value) => typeof value === 'string')) {
    return 'has matchLabels that are not strings';
  }
  if (!Array.isArray(matchExpressions)) return 'has matchExpressions that are not a list';
  for (const requirement of matchExpressions as unknown[]) {
    const problem = requirementProblem(requirement);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function requirementProblem(requirement: unknown): string | undefined {
  if (!isRecord(requirement) || typeof requirement['key'] !== 'string') return 'has an expression without a key';
  const { key, operator, values = [] } = requirement;
  const isText = Array.isArray(values) && values.every((value) => typeof value === 'string');
  return isText ? valuesProblem(key, operator, values.length) : `has values of ${key} that are not strings`;
}

function valuesProblem(key: string, operator: unknown, count: number): string | undefined {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return count > 0 ? undefined : `needs values for ${key} ${operator}`;
    case 'Exists':
    case 'DoesNotExist':
      return count === 0 ? undefined : `takes no values for ${key} ${operator}`;
    default:
      return `has no operator ${JSON.stringify(operator)}; use In, NotIn, Exists or DoesNotExist`;
  }
}

/** A selector in the notation of `kubectl -l`; `everything` for an empty one. */
export function formatSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equalities = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...equalities, ...matchExpressions.map(formatRequirement)].join(',') || 'everything';
}

function formatRequirement({ key, operator, values = [] }: NodeSelectorRequirement): string {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `!${key}`;
  return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`;
}

/**
 * The selector with an additional requirement for each of these keys that the labels have, as for `matchLabelKeys`;
 * `NotIn` for `mismatchLabelKeys`.
 */
export function withLabelKeys(
  selector: LabelSelector | undefined, keys: readonly string[] | undefined, labels: StringMap,
  operator: 'In' | 'NotIn' = 'In',
): LabelSelector | undefined {
  const added =
    (keys ?? []).flatMap((key) => (Object.hasOwn(labels, key) ? [{ key, operator, values: [labels[key] ?? ''] }] : []));
  return selector === undefined || added.length === 0
    ? selector
    : { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...added] };
}

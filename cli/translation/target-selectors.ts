// Selectors of targets: clusters that other systems name become the names of ClusterTargets.
import { CLUSTER_TARGET_NAME_LABEL } from '../../api/objects/keys.ts';
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { isDnsSubdomain } from '../../model/naming/label-syntax.ts';
import { MAX_LABEL_LENGTH } from '../../model/naming/names.ts';
import type { Report } from './report.ts';

/** Operators that a target without the label meets. */
const EXCLUDING: ReadonlySet<string> = new Set(['NotIn', 'DoesNotExist']);

/** Only the ClusterTargets of these names. */
export function named(names: readonly string[]): LabelSelector {
  const [only] = names;
  if (only !== undefined && names.length === 1) return { matchLabels: { [CLUSTER_TARGET_NAME_LABEL]: only } };
  return { matchExpressions: [{ key: CLUSTER_TARGET_NAME_LABEL, operator: 'In', values: names }] };
}

/** All targets but the ClusterTargets of these names. */
export function notNamed(names: readonly string[]): LabelSelector {
  return { matchExpressions: [{ key: CLUSTER_TARGET_NAME_LABEL, operator: 'NotIn', values: names }] };
}

/** Targets that all of the selectors match; undefined where nothing is required. */
export function allOf(selectors: readonly (LabelSelector | undefined)[]): LabelSelector | undefined {
  const given = selectors.filter((selector) => selector !== undefined && !isEmpty(selector));
  const [only] = given;
  if (given.length <= 1) return only;
  const labels = given.flatMap((selector) => Object.entries(selector?.matchLabels ?? {}));
  const isUnique = new Set(labels.map(([key]) => key)).size === labels.length;
  const expressions = given.flatMap((selector) => selector?.matchExpressions ?? []);
  const equal = labels.map(([key, value]) => ({ key, operator: 'In', values: [value] }));
  return {
    ...(labels.length > 0 && isUnique && { matchLabels: Object.fromEntries(labels) }),
    ...((expressions.length > 0 || !isUnique) && { matchExpressions: [...(isUnique ? [] : equal), ...expressions] }),
  };
}

/** Whether it selects everything. */
export function isEmpty({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/**
 * Says that labels must be set on ClusterTargets. Where a label excludes, one that is missing would admit the target,
 * so that is reported as lost. `owners` are the objects that have the labels in the other system.
 */
export function reportLabels(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector, owners: string, { field, report }: ReportedField,
): void {
  const excluding = matchExpressions.filter(({ operator }) => EXCLUDING.has(operator));
  if (Object.keys(matchLabels).length + matchExpressions.length > excluding.length) {
    report.note(field, `it matches labels of ${owners}, and of ClusterTargets here: set the same labels on those`);
  }
  for (const { key, operator } of excluding) {
    report.lost(
      field,
      `${key} ${operator}: labels of ${owners} are not those of ClusterTargets, and one without the label would be ` +
        'allowed; label them, then go on with --keep-going',
    );
  }
}

/** Where a finding belongs. */
export interface ReportedField {
  readonly field: string;
  readonly report: Report;
}

/** The names without repetition, if each can be the name of a ClusterTarget; reports those that cannot. */
export function clusterNames(names: readonly string[], field: string, report: Report): readonly string[] | undefined {
  const wrong = names.find((name) => !isDnsSubdomain(name) || name.length > MAX_LABEL_LENGTH);
  if (wrong === undefined) return [...new Set(names)];
  report.unreadable(
    field,
    `${JSON.stringify(wrong)} cannot be selected: a name has lower-case letters, digits, dashes and dots, at most ` +
      `${MAX_LABEL_LENGTH} characters`,
  );
  return undefined;
}

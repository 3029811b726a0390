// Karmada's ClusterAffinity as a selector of targets.
import type { LabelSelector, NodeSelectorRequirement } from '../../api/objects/selectors.ts';
import type { FieldReader } from '../translation/field-reader.ts';
import type { Report } from '../translation/report.ts';
import { allOf, clusterNames, isEmpty, named, notNamed, reportLabels } from '../translation/target-selectors.ts';

/** Clusters that an affinity allows. */
export interface Affinity {
  /** Undefined when it allows all. */
  readonly selector?: LabelSelector;
  /** All of them, where their names are known. */
  readonly names?: readonly string[];
}

/** Labels of ClusterTargets for the fields of Karmada's Cluster. */
export const FIELD_LABELS: Readonly<Record<string, string>> =
  { region: 'topology.kubernetes.io/region', zone: 'topology.kubernetes.io/zone', provider: 'provider' };

/** A `ClusterAffinity`; all of its parts must hold. */
export function readAffinity(affinity: FieldReader, report: Report): Affinity {
  const labels = affinity.selector('labelSelector');
  const hasLabels = labels !== undefined && !isEmpty(labels);
  if (hasLabels) reportLabels(labels, 'Clusters in Karmada', { field: affinity.at('labelSelector'), report });
  const fields = readFieldSelector(affinity.part('fieldSelector'), report);
  const { allowed, excluded } = readNames(affinity, report);
  affinity.finish();
  const selector = allOf([
    labels, fields, allowed === undefined ? undefined : named(allowed),
    allowed === undefined && excluded.length > 0 ? notNamed(excluded) : undefined,
  ]);
  const isKnown = allowed !== undefined && !hasLabels && fields === undefined;
  return { ...(selector !== undefined && { selector }), ...(isKnown && { names: allowed }) };
}

interface ClusterNames {
  /** Undefined where all others are allowed. */
  readonly allowed?: readonly string[];
  readonly excluded: readonly string[];
}

function readNames(affinity: FieldReader, report: Report): ClusterNames {
  const names = clusterNames(affinity.texts('clusterNames'), affinity.at('clusterNames'), report);
  const excluded = clusterNames(affinity.texts('exclude'), affinity.at('exclude'), report) ?? [];
  if (names === undefined || names.length === 0) {
    if (excluded.length > 0) report.note(affinity.at('exclude'), "the ClusterTargets must have the clusters' names");
    return { excluded };
  }
  const allowed = names.filter((name) => !excluded.includes(name));
  if (allowed.length === 0) report.unreadable(affinity.at('clusterNames'), 'it allows no cluster');
  return { allowed, excluded };
}

/** Fields of Karmada's Cluster become labels; a ClusterTarget that has none is not allowed. */
function readFieldSelector(selector: FieldReader, report: Report): LabelSelector | undefined {
  const matchExpressions = selector.records('matchExpressions').flatMap((expression): NodeSelectorRequirement[] => {
    const [field = '', operator = '', values] =
      [expression.text('key'), expression.text('operator'), expression.texts('values')];
    expression.finish();
    const key = Object.hasOwn(FIELD_LABELS, field) ? FIELD_LABELS[field] : undefined;
    if (key === undefined || (operator !== 'In' && operator !== 'NotIn') || values.length === 0) {
      report.unreadable(expression.at('key'), 'it is not one of provider, region and zone with In or NotIn and values');
      return [];
    }
    report.note(expression.at('key'), `label each ClusterTarget with ${key}; one without the label gets no pods`);
    return [...(operator === 'NotIn' ? [{ key, operator: 'Exists' }] : []), { key, operator, values }];
  });
  selector.finish();
  return matchExpressions.length === 0 ? undefined : { matchExpressions };
}

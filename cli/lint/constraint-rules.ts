// Pod affinity and topology spread of elected pods. They choose the cluster where an annotation says so, with a target
// in place of a node; otherwise they choose a node within one target, where labels have a prefix.
import type { PodSpec, StringMap } from '../../api/objects/core.ts';
import { NO_PREFIX_LABEL_REGEXP_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION } from '../../api/objects/keys.ts';
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { toDelegateLabels } from '../../model/delegate/pod-chaperon.ts';
import { matchesLabelSelector, selectorProblem } from '../../model/objects/label-selector.ts';
import { HOST_NAME_LABEL } from '../../scheduler/snapshot/virtual-node-info.ts';
import { shownLabels } from '../../virtual-node/node/shown-labels.ts';
import { constraintsOf } from '../../webhook/proxy/scheduling-constraints.ts';
import type { Fields } from '../translation/manifest.ts';
import { mapAt } from '../translation/workloads.ts';
import type { LintedPods } from './linted-pods.ts';
import { listIn, textIn, warning, type Remark } from './remark.ts';

/** A term of pod affinity, or a topology spread constraint. */
interface Term {
  readonly field: string;
  /** Whether pods that it selects must be where the pod is. */
  readonly isTogether: boolean;
  /** Whether a place without the topology key is out of the question. */
  readonly needsKey: boolean;
  readonly topologyKey: string;
  readonly selector: LabelSelector | undefined;
}

/** Whether the pods' own constraints choose the cluster. */
export function choosesByOwnConstraints({ annotations }: LintedPods): boolean {
  return Object.hasOwn(annotations, USE_SPEC_CONSTRAINTS_ANNOTATION);
}

/** Remarks on the constraints of elected pods; `all` are the pods of all workloads. */
export function constraintRemarks(pods: LintedPods, all: readonly LintedPods[]): readonly Remark[] {
  const { annotations, spec, namespace } = pods;
  const chosen = constraintsOf({ metadata: { annotations }, spec: spec as unknown as PodSpec });
  const between = chosen.kind === 'constraints' ? termsOf({ ...chosen.constraints }) : [];
  const within = choosesByOwnConstraints(pods) ? [] : termsOf(spec);
  const neighbours = all.filter((other) => other.namespace === namespace);
  return [...between.flatMap(keyRemarks), ...within.flatMap((term) => selectionRemarks(term, pods, neighbours))];
}

function termsOf(spec: Fields): readonly Term[] {
  const affinity = mapAt(spec, 'affinity');
  const ofAffinity = (['podAffinity', 'podAntiAffinity'] as const).flatMap((kind) => {
    const required = listIn(mapAt(affinity, kind), 'requiredDuringSchedulingIgnoredDuringExecution');
    const preferred = listIn(mapAt(affinity, kind), 'preferredDuringSchedulingIgnoredDuringExecution')
      .map((each) => mapAt(each, 'podAffinityTerm'));
    return [
      ...required.map((term) => {
        const isTogether = kind === 'podAffinity';
        return toTerm(term, { field: `spec.affinity.${kind}`, isTogether, needsKey: isTogether });
      }),
      ...preferred.map((term) => toTerm(term, { field: `spec.affinity.${kind}`, isTogether: false, needsKey: false })),
    ];
  });
  const ofSpread = listIn(spec, 'topologySpreadConstraints').map((each) => toTerm(each, {
    field: 'spec.topologySpreadConstraints', isTogether: false, needsKey: each['whenUnsatisfiable'] === 'DoNotSchedule',
  }));
  return [...ofAffinity, ...ofSpread];
}

function toTerm(fields: Fields, of: Pick<Term, 'field' | 'isTogether' | 'needsKey'>): Term {
  const selector = mapAt(fields, 'labelSelector');
  const isValid = Object.hasOwn(fields, 'labelSelector') && selectorProblem(selector) === undefined;
  return { ...of, topologyKey: textIn(fields, 'topologyKey') ?? '', selector: isValid ? selector : undefined };
}

/** Targets are compared by labels that not all of them have. */
function keyRemarks({ field, topologyKey, needsKey }: Term): readonly Remark[] {
  if (topologyKey === HOST_NAME_LABEL || topologyKey === '') return [];
  const shown = shownLabels({ kind: 'ClusterTarget', name: 'any' }, { [topologyKey]: 'x' }, {});
  const isShown = Object.hasOwn(shown, topologyKey);
  return [warning(
    field,
    `it compares targets by their label ${topologyKey}; a target without it ` +
      `${needsKey ? 'gets none of these pods' : 'is not compared'}. ` +
      `${isShown ? 'Only targets whose nodes all have one value have it' : 'No target has it by itself'}: ` +
      'label the ClusterTargets',
  )];
}

/** Within a target, selectors meet the labels of delegates; one that matches the pods themselves meets their keys. */
function selectionRemarks(
  { field, isTogether, selector }: Term, own: LintedPods, neighbours: readonly LintedPods[],
): readonly Remark[] {
  const isOwn = matchesLabelSelector(selector, own.labels);
  const meant = neighbours.filter(({ labels }) => matchesLabelSelector(selector, labels));
  return meant.flatMap(({ workload, labels, annotations, elected }) => {
    const whose = `${workload.kind} ${workload.name}`;
    if (elected === undefined) return isTogether ? [warning(
      field,
      `it wants to be beside the pods of ${whose}, which are not elected and run in this cluster; elect them as well`,
    )] : [];
    if (isOwn || matchesLabelSelector(selector, toDelegateLabels(labels, annotations))) return [];
    return [warning(field, prefixed(whose, selector, labels))];
  });
}

function prefixed(
  whose: string, { matchLabels = {}, matchExpressions = [] }: LabelSelector = {}, labels: StringMap,
): string {
  const keys = [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)];
  const selected = Object.fromEntries(keys.filter((key) => Object.hasOwn(labels, key)).map((key) => [key, '']));
  return `in a target it selects none of the pods of ${whose}: their labels are ` +
    `${Object.keys(toDelegateLabels(selected, {})).join(', ')} there. To spread pods over clusters, write a ` +
    'PlacementPolicy; over the nodes of each target, keep the labels with annotation ' +
    `${NO_PREFIX_LABEL_REGEXP_ANNOTATION} on the pods`;
}

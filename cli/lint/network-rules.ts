// Services and NetworkPolicies that select elected pods.
import { toDelegateLabels } from '../../model/delegate/pod-chaperon.ts';
import { matchesLabelSelector, selectorProblem } from '../../model/objects/label-selector.ts';
import { isSelected } from '../../model/pod/pod-needs.ts';
import type { LabelSelector } from '../../api/objects/selectors.ts';
import type { Manifest } from '../translation/manifest.ts';
import { mapAt } from '../translation/workloads.ts';
import type { LintedPods } from './linted-pods.ts';
import { textsIn, warning, type Remark } from './remark.ts';

/** Remarks on an object that selects pods; `neighbours` are the pods of its namespace. */
export function networkRemarks(object: Manifest, neighbours: readonly LintedPods[]): readonly Remark[] {
  const { group, kind } = object;
  if (group === '' && kind === 'Service') return serviceRemarks(object, neighbours);
  if (group === 'networking.k8s.io' && kind === 'NetworkPolicy') return policyRemarks(object, neighbours);
  return [];
}

function serviceRemarks({ fields }: Manifest, neighbours: readonly LintedPods[]): readonly Remark[] {
  const spec = mapAt(fields, 'spec');
  const selected = neighbours.filter(({ labels }) => isSelected(textsIn(mapAt(spec, 'selector')), labels));
  const isElected = ({ elected }: LintedPods): boolean => elected !== undefined;
  if (!selected.some(isElected)) return [];
  const here = selected.filter((pods) => !isElected(pods)).map(({ workload }) => `${workload.kind} ${workload.name}`);
  const local = ['externalTrafficPolicy', 'internalTrafficPolicy'].filter((field) => spec[field] === 'Local');
  return [
    ...(here.length === 0 ? [] : [warning(
      'spec.selector',
      `it selects elected pods, and those of ${here.join(', ')} in this cluster: without a pod plane it no longer ` +
        'serves the latter; use two Services',
    )]),
    ...local.map((field) => warning(
      `spec.${field}`,
      'Local: elected pods are on no node of this cluster, so no node here takes traffic for them; use Cluster',
    )),
    ...(spec['clusterIP'] === 'None' ? [warning(
      'spec.clusterIP',
      'None: without a pod plane it leads only to pods of the same cluster; run the pod plane, or keep the pods in ' +
        'one target by a PlacementPolicy',
    )] : []),
  ];
}

/** It is not copied, and would select nothing there. */
function policyRemarks({ fields }: Manifest, neighbours: readonly LintedPods[]): readonly Remark[] {
  const selector = mapAt(mapAt(fields, 'spec'), 'podSelector');
  if (selectorProblem(selector) !== undefined) return [];
  return neighbours.filter(({ elected, labels }) =>
    elected !== undefined && matchesLabelSelector(selector as LabelSelector, labels))
    .map(({ workload, labels, annotations }) => warning(
      'spec.podSelector',
      `it does not follow the pods of ${workload.kind} ${workload.name}, so nothing isolates them in a target; ` +
        `create one there that selects their labels: ${Object.keys(toDelegateLabels(labels, annotations)).join(', ')}`,
    ));
}

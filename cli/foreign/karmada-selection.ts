// Which pods a Karmada policy is about: it selects objects, and a policy of Isthmus selects pods by their labels.
import type { StringMap } from '../../api/objects/core.ts';
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { formatSelector, matchesLabelSelector } from '../../model/objects/label-selector.ts';
import type { FieldReader } from '../translation/field-reader.ts';
import { titleOf, type Manifest } from '../translation/manifest.ts';
import type { Report } from '../translation/report.ts';
import { mapAt, podSelectorOf, workloadKind } from '../translation/workloads.ts';

/** Pods that a policy selects. */
export interface SelectedPods {
  /** Undefined for all elected pods of the namespace. */
  readonly podSelector?: LabelSelector;
  readonly namespace?: string;
  /** Distinguishes the policies that one becomes. */
  readonly suffix: string;
  readonly workload?: Manifest;
}

/** The policy, the input where its workloads may be, and the findings. */
export interface Selecting {
  readonly policy: Manifest;
  readonly all: readonly Manifest[];
  readonly report: Report;
}

/** A `ResourceSelector`. */
interface Selector {
  readonly group: string;
  readonly kind: string;
  /** Empty for any. */
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: LabelSelector;
}

/** Kinds that follow the pods that use them, or that every cluster has. */
const FOLLOWING: ReadonlySet<string> = new Set(['ConfigMap', 'Secret', 'Service', 'Ingress', 'Namespace']);

/** The pods of the objects that a `ResourceSelector` selects. */
export function selectedBy(fields: FieldReader, selecting: Selecting): readonly SelectedPods[] {
  const selector = readSelector(fields, selecting.policy);
  const { report } = selecting;
  if (!makesPods(selector, fields.at('kind'), report)) return [];
  const matching = selecting.all.filter((object) => isSelected(object, selector, selecting.policy));
  if (matching.length > 0) return matching.flatMap((workload) => podsOf(workload, report));
  const { kind, name, namespace, labels } = selector;
  if (name === '' && labels === undefined) {
    report.note(
      fields.at('kind'),
      `it selects all elected pods, not those of a ${kind} alone; elect them by an annotation in their templates`,
    );
    return [{ suffix: kind.toLowerCase(), ...(namespace !== undefined && { namespace }) }];
  }
  const which = name === '' ? `${kind} with ${formatSelector(labels ?? {})}` : `${kind} ${name}`;
  report.lost(
    fields.at(name === '' ? 'labelSelector' : 'name'),
    `no ${which} is in the input, so the labels of its pods are not known here; add its manifest with -f`,
  );
  return [];
}

function readSelector(fields: FieldReader, policy: Manifest): Selector {
  const [apiVersion = '', kind = '', name = ''] = ['apiVersion', 'kind', 'name'].map((field) => fields.text(field));
  const namespace = fields.text('namespace') ?? policy.namespace;
  const labels = fields.selector('labelSelector');
  fields.finish();
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [];
  return { group, kind, name, ...(namespace !== undefined && { namespace }), ...(labels && { labels }) };
}

/** Whether the kind makes pods that can be elected; says what is done with one that does not. */
function makesPods({ group, kind }: Selector, field: string, report: Report): boolean {
  if (FOLLOWING.has(kind)) {
    report.note(
      field, kind === 'Namespace'
        ? 'a namespace must exist in the targets: isthmus allow namespace NAME'
        : 'it follows the pods that use it, to the targets where they run',
    );
    return false;
  }
  if (kind === 'DaemonSet') {
    report.lost(field, 'a DaemonSet runs on the nodes of one cluster; create it in each target');
    return false;
  }
  if (workloadKind({ group, kind }) !== undefined) return true;
  report.lost(
    field,
    `kind ${kind} does not follow pods; if it makes some, annotate their template, else create it in each target`,
  );
  return false;
}

function isSelected(object: Manifest, { group, kind, name, namespace, labels }: Selector, policy: Manifest): boolean {
  if (object.kind !== kind || object.group !== group) return false;
  const isEverywhere = namespace === undefined && policy.kind === 'ClusterPropagationPolicy';
  if (!isEverywhere && object.namespace !== namespace) return false;
  return name === '' ? labels === undefined || matchesLabelSelector(labels, labelsOf(object)) : object.name === name;
}

function labelsOf({ fields }: Manifest): StringMap {
  return Object.fromEntries(
    Object.entries(mapAt(mapAt(fields, 'metadata'), 'labels')).map(([key, value]) => [key, String(value)]),
  );
}

function podsOf(workload: Manifest, report: Report): readonly SelectedPods[] {
  const podSelector = podSelectorOf(workload);
  const { namespace, name } = workload;
  if (podSelector !== undefined) {
    return [{ podSelector, suffix: name, workload, ...(namespace !== undefined && { namespace }) }];
  }
  report.lost(
    'spec.resourceSelectors',
    `the pods of ${titleOf(workload)} have no labels that a policy could select them by; add some`,
  );
  return [];
}

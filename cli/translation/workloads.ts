// Kinds of Kubernetes that make pods: where their pod template is, which labels select their pods, and how they are
// elected.
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { ELECT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION } from '../../api/objects/keys.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import { selectorProblem } from '../../model/objects/label-selector.ts';
import type { Election, Fields, Manifest } from './manifest.ts';
import { isEmpty } from './target-selectors.ts';

/** A kind that makes pods. */
interface WorkloadKind {
  readonly apiVersion: string;
  /** Path of the object that has the pod's metadata and spec. */
  readonly template: readonly string[];
  /** Whether several copies can be replaced by one with more replicas. */
  readonly isDivisible: boolean;
}

const TEMPLATE = ['spec', 'template'];
const KINDS: Readonly<Record<string, WorkloadKind>> = {
  Deployment: { apiVersion: 'apps/v1', template: TEMPLATE, isDivisible: true },
  ReplicaSet: { apiVersion: 'apps/v1', template: TEMPLATE, isDivisible: true },
  StatefulSet: { apiVersion: 'apps/v1', template: TEMPLATE, isDivisible: false },
  DaemonSet: { apiVersion: 'apps/v1', template: TEMPLATE, isDivisible: false },
  ReplicationController: { apiVersion: 'v1', template: TEMPLATE, isDivisible: true },
  Job: { apiVersion: 'batch/v1', template: TEMPLATE, isDivisible: false },
  CronJob: { apiVersion: 'batch/v1', template: ['spec', 'jobTemplate', ...TEMPLATE], isDivisible: false },
  Pod: { apiVersion: 'v1', template: [], isDivisible: false },
};
const JOB_NAME_LABEL = 'batch.kubernetes.io/job-name';

/** The kind, if it makes pods. */
export function workloadKind({ group, kind }: Pick<Manifest, 'group' | 'kind'>): WorkloadKind | undefined {
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  const [knownGroup = ''] = known?.apiVersion.includes('/') === true ? known.apiVersion.split('/') : [];
  return known !== undefined && (knownGroup === group || (group === 'extensions' && knownGroup === 'apps')) ? known
    : undefined;
}

/** `apiVersion` of a kind that makes pods, by its name alone. */
export function workloadVersion(kind: string): string | undefined {
  return Object.hasOwn(KINDS, kind) ? KINDS[kind]?.apiVersion : undefined;
}

/** The pod template of a workload, or the pod itself; empty where it is missing. */
export function templateOf({ fields, ...of }: Manifest): Fields {
  const path = workloadKind(of)?.template ?? [];
  return path.reduce<Fields>((at, name) => mapAt(at, name), fields);
}

/** `spec.replicas` of a workload that has it; 1 when it is missing, as in Kubernetes. */
export function replicasOf({ fields }: Manifest): number {
  const replicas = mapAt(fields, 'spec')['replicas'];
  return typeof replicas === 'number' && Number.isSafeInteger(replicas) && replicas >= 0 ? replicas : 1;
}

/** Labels of the pods that a workload makes; undefined where it cannot be known. */
export function podSelectorOf(manifest: Manifest): LabelSelector | undefined {
  const { kind, name, fields } = manifest;
  if (kind === 'Job' && name !== '') return { matchLabels: { [JOB_NAME_LABEL]: name } };
  const selector = mapAt(fields, 'spec')['selector'];
  const hasSelector = kind !== 'Pod' && kind !== 'CronJob' && isRecord(selector);
  const given = hasSelector ? (kind === 'ReplicationController' ? { matchLabels: selector } : selector)
    : { matchLabels: mapAt(mapAt(templateOf(manifest), 'metadata'), 'labels') };
  if (selectorProblem(given) !== undefined || isEmpty(given)) return undefined;
  return given;
}

/** The workload with the annotation that elects its pods, and what else its election says. */
export function elected(manifest: Manifest, { replicas, tolerations }: Election): Fields {
  const path = workloadKind(manifest)?.template ?? [];
  const constraints = tolerations === undefined || tolerations.length === 0
    ? {}
    : { [PROXY_CONSTRAINTS_ANNOTATION]: JSON.stringify({ tolerations }) };
  const changed = changeAt(manifest.fields, path, (template) => {
    const metadata = mapAt(template, 'metadata');
    const annotations = { ...mapAt(metadata, 'annotations'), [ELECT_ANNOTATION]: '', ...constraints };
    const { metadata: _replaced, ...rest } = template;
    const changed = { ...metadata, annotations };
    return Object.hasOwn(template, 'metadata') ? { ...template, metadata: changed } : { metadata: changed, ...rest };
  });
  return replicas === undefined ? changed : { ...changed, spec: { ...mapAt(changed, 'spec'), replicas } };
}

/** The object with its pod template changed. */
export function withTemplate(manifest: Manifest, change: (template: Fields) => Fields): Fields {
  return changeAt(manifest.fields, workloadKind(manifest)?.template ?? [], change);
}

function changeAt(fields: Fields, [name, ...rest]: readonly string[], change: (fields: Fields) => Fields): Fields {
  if (name === undefined) return change(fields);
  return { ...fields, [name]: changeAt(mapAt(fields, name), rest, change) };
}

/** A field that is an object; empty where it is not. */
export function mapAt(fields: Fields, name: string): Fields {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return isRecord(value) ? value : {};
}

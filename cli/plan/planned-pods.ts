// The pods of a manifest: Pods as they are, workloads by template and replicas.
import { parseAllDocuments, type Document } from 'yaml';
import type { KubernetesObject, ObjectMeta, Pod, PodSpec } from '../../api/objects/core.ts';
import { AppError } from '../../process/errors.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import { AS_KUBECTL_READS, asDocuments } from '../../model/objects/yaml-limits.ts';
import { isElected } from '../../model/pod/pod.ts';
import type { ManifestFile } from './manifest-files.ts';

/** Pods of a manifest. */
export interface PlannedPods {
  /** Elected pods, in order. */
  readonly pods: readonly Pod[];
  /** Objects whose pods run in the source, or that have none. */
  readonly skipped: readonly string[];
}

interface Workload extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly parallelism?: number;
    readonly completions?: number;
    readonly suspend?: boolean;
    readonly template?: { readonly metadata?: ObjectMeta; readonly spec?: PodSpec };
    readonly jobTemplate?: { readonly spec?: Workload['spec'] };
  };
}

/** Kinds of Kubernetes with a pod template; others may have templates of something else. */
const OF_KUBERNETES: ReadonlySet<string | undefined> = new Set(
  ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'ReplicationController', 'Job', 'CronJob'],
);

/** Most pods planned per object. */
const MOST_REPLICAS = 10_000;

/** Whether a namespace elects all of its pods. */
export type ElectsAll = (namespace: string) => boolean;

/**
 * Parses manifests, streams of YAML documents.
 * @throws AppError `BadInput` that names the file for invalid YAML, for what is not a Kubernetes object, for pods
 * without containers, and when there is no object at all.
 */
export function plannedPods(
  files: readonly ManifestFile[], namespace: string, electsAll: ElectsAll = () => false,
): PlannedPods {
  const pods: Pod[] = [];
  const skipped: string[] = [];
  const objects = files.flatMap(({ path, text }) => readObjects(text, path));
  if (objects.length === 0) {
    throw new AppError('BadInput', `There is no object in ${files.map(({ path }) => path).join(', ')}.`);
  }
  for (const [index, object] of objects.map(withName).entries()) {
    const made = isSuspended(object) ? [] : podsOf(object, namespace);
    const [first] = made;
    if (first === undefined) skipped.push(`${titleOf(objects[index] ?? object)} ${whyNone(object)}`);
    else if (isElected(first) || electsAll(first.metadata.namespace ?? '')) pods.push(...made);
    else skipped.push(
      `${titleOf(object)}: its pods lack the annotation multicluster.admiralty.io/elect and run in this cluster`,
    );
  }
  return { pods, skipped };
}

/** Names what the API server would name. */
function withName(object: Workload, index: number): Workload {
  const { name, generateName = 'workload-' } = object.metadata ?? {};
  return name === undefined ? { ...object, metadata: { ...object.metadata, name: `${generateName}${index}` } } : object;
}

function isSuspended({ spec }: Workload): boolean {
  return spec?.suspend === true || spec?.jobTemplate?.spec?.suspend === true;
}

/** Groups of Kubernetes have no dot, or end like this; kinds of others may make pods in ways of their own. */
const OF_KUBERNETES_GROUP = /^([^./]+\/)?[^./]+$|\.k8s\.io\//;

function whyNone(object: Workload): string {
  if (isSuspended(object)) return 'is suspended and makes no pods';
  return OF_KUBERNETES_GROUP.test(object.apiVersion ?? 'v1') || OF_KUBERNETES.has(object.kind)
    ? 'makes no pods' : 'is of a kind without a pod template; pods that its controller makes are not planned';
}

function readObjects(text: string, path: string): Workload[] {
  const documents = parseAllDocuments(asDocuments(text), { ...AS_KUBECTL_READS, logLevel: 'error' });
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) {
      throw new AppError('BadInput', `${path} is not valid YAML: ${error.message.split('\n')[0] ?? ''}`);
    }
    const value = valueOf(document, path);
    return value === null ? [] : objectsOf(value, path);
  });
}

/** An object, or those of a list of any kind: those of a typed one, as API servers print it, have none of their own. */
function objectsOf(value: unknown, path: string): Workload[] {
  const object = requireObject(value, path) as Workload & { readonly items?: unknown };
  const { apiVersion, kind = '', items } = object;
  if (!Array.isArray(items)) return kind === 'List' ? [] : [object];
  const typed = { apiVersion, kind: kind.replace(/List$/, '') };
  return items.flatMap((item: unknown) => objectsOf(isRecord(item) ? { ...typed, ...item } : item, path));
}

/** Throws AppError `BadInput` for aliases that would make a long text of a short one. */
function valueOf(document: Document, path: string): unknown {
  try {
    return document.toJS() as unknown;
  } catch {
    throw new AppError('BadInput', `${path} uses aliases too often, or ones that stand for nothing.`);
  }
}

function requireObject(value: unknown, path: string): Workload {
  if (!isRecord(value)) throw new AppError(
    'BadInput', `${path} is not a manifest: it holds ${JSON.stringify(value).slice(0, 40)}, not an object with a kind.`,
  );
  const { kind, metadata, spec = {} } = value;
  if (typeof kind !== 'string' || kind === '') {
    throw new AppError('BadInput', `${path} is not a manifest: an object in it has no kind.`);
  }
  if (kind !== 'List' && !isRecord(metadata)) {
    throw new AppError('BadInput', `${path}: a ${kind} in it has no metadata.`);
  }
  if (kind === 'Pod' && isRecord(spec)) requireContainers(spec, `${path}: Pod`);
  return value as unknown as Workload;
}

function requireContainers({ containers }: Readonly<Record<string, unknown>>, where: string): void {
  if (Array.isArray(containers) && containers.length > 0 && containers.every(isRecord)) return;
  throw new AppError('BadInput', `${where} has no containers.`);
}

function titleOf({ kind = 'object', metadata }: Workload): string {
  return `${kind}/${metadata?.name ?? metadata?.generateName ?? ''}`;
}

function podsOf(object: Workload, fallback: string): Pod[] {
  const namespace = object.metadata.namespace ?? fallback; // null, too, as a template leaves it
  if (object.kind === 'Pod') {
    const pod = object as unknown as Pod;
    return [{ ...pod, metadata: { ...pod.metadata, namespace } }];
  }
  const spec = object.spec?.jobTemplate?.spec ?? object.spec ?? {};
  const template: unknown = spec.template?.spec;
  if (!isRecord(template)) return [];
  if (!OF_KUBERNETES.has(object.kind) && !Object.hasOwn(template, 'containers')) return [];
  requireContainers(template, titleOf(object));
  return replicasOf(object, spec, namespace);
}

function replicasOf(
  { apiVersion = '', kind = '', metadata }: Workload,
  { replicas, parallelism, completions, template }: NonNullable<Workload['spec']>, namespace: string,
): Pod[] {
  const { name = '' } = metadata;
  const asked = Math.min(replicas ?? parallelism ?? 1, completions ?? MOST_REPLICAS);
  const count = Math.min(Math.max(0, Math.floor(asked) || 0), MOST_REPLICAS);
  const owner = { apiVersion, kind, name, uid: `${kind}/${namespace}/${name}`, controller: true };
  const spec = template?.spec ?? { containers: [] };
  return Array.from({ length: count }, (_, index) => (
    { metadata: { ...template?.metadata, namespace, name: `${name}-${index}`, ownerReferences: [owner] }, spec }
  ));
}

// The pods of a manifest: Pods as they are, workloads by template and replicas.
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject, ObjectMeta, Pod, PodSpec } from '../../api/objects/core.ts';
import { AppError } from '../../process/errors.ts';
import { isElected } from '../../model/pod/pod.ts';

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
    readonly template?: { readonly metadata?: ObjectMeta; readonly spec?: PodSpec };
    readonly jobTemplate?: { readonly spec?: Workload['spec'] };
  };
}

/** Most pods planned per object. */
const MOST_REPLICAS = 10_000;

/** Parses a stream of YAML documents. Throws AppError `BadInput` for invalid YAML. */
export function plannedPods(text: string, namespace: string): PlannedPods {
  const pods: Pod[] = [];
  const skipped: string[] = [];
  for (const object of readObjects(text)) {
    const made = podsOf(object, namespace);
    const [first] = made;
    if (first === undefined) skipped.push(`${titleOf(object)} makes no pods`);
    else if (isElected(first)) pods.push(...made);
    else skipped.push(
      `${titleOf(object)}: its pods lack the annotation multicluster.admiralty.io/elect and run in this cluster`,
    );
  }
  return { pods, skipped };
}

function readObjects(text: string): Workload[] {
  const documents = parseAllDocuments(text, { logLevel: 'error' });
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) {
      throw new AppError('BadInput', `The manifest is not valid YAML: ${error.message.split('\n')[0] ?? ''}`);
    }
    const value = document.toJS({ maxAliasCount: 10 }) as unknown;
    if (typeof value !== 'object' || value === null) return [];
    const object = value as Workload & { readonly items?: readonly Workload[] };
    return object.kind === 'List' ? [...(object.items ?? [])] : [object];
  });
}

function titleOf({ kind = 'object', metadata }: Workload): string {
  return `${kind}/${metadata?.name ?? metadata?.generateName ?? ''}`;
}

function podsOf(object: Workload, fallback: string): Pod[] {
  const namespace = object.metadata?.namespace ?? fallback;
  if (object.kind === 'Pod') {
    const pod = object as unknown as Pod;
    return [{ ...pod, metadata: { ...pod.metadata, namespace } }];
  }
  const spec = object.spec?.jobTemplate?.spec ?? object.spec;
  return spec?.template?.spec === undefined ? [] : replicasOf(object, spec, namespace);
}

function replicasOf(
  { apiVersion = '', kind = '', metadata }: Workload,
  { replicas, parallelism, template }: NonNullable<Workload['spec']>, namespace: string,
): Pod[] {
  const { name = 'workload' } = metadata;
  const count = Math.min(replicas ?? parallelism ?? 1, MOST_REPLICAS);
  const owner = { apiVersion, kind, name, uid: `${kind}/${namespace}/${name}`, controller: true };
  const spec = template?.spec ?? { containers: [] };
  return Array.from({ length: count }, (_, index) => (
    { metadata: { ...template?.metadata, namespace, name: `${name}-${index}`, ownerReferences: [owner] }, spec }
  ));
}

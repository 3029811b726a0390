// The pods of manifests: Pods as they are, workloads by template and replicas.
import type { ObjectMeta, Pod, PodSpec } from '../../api/objects/core.ts';
import { AppError } from '../../process/errors.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import { isElected } from '../../model/pod/pod.ts';
import type { Manifest } from '../translation/manifest.ts';
import { mapAt } from '../translation/workloads.ts';
import type { ManifestFile } from './manifest-files.ts';
import { objectsIn } from './read-objects.ts';

/** Pods of manifests. */
export interface PlannedPods {
  /** Elected pods, in order. */
  readonly pods: readonly Pod[];
  /** Objects whose pods run in the source, or that have none. */
  readonly skipped: readonly string[];
}

/** The spec of a workload; that of its jobs for a CronJob. */
interface WorkloadSpec {
  readonly replicas?: number;
  readonly parallelism?: number;
  readonly completions?: number;
  readonly template?: { readonly metadata?: ObjectMeta; readonly spec?: PodSpec };
}

/** Kinds of Kubernetes with a pod template; others may have templates of something else. */
const OF_KUBERNETES: ReadonlySet<string> = new Set(
  ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'ReplicationController', 'Job', 'CronJob'],
);
/** Groups of Kubernetes have no dot, or end like this; kinds of others may make pods in ways of their own. */
const OF_KUBERNETES_GROUP = /^[^.]*$|\.k8s\.io$/;

/** Most pods planned per object. */
const MOST_REPLICAS = 10_000;

/** Whether a namespace elects all of its pods. */
export type ElectsAll = (namespace: string) => boolean;

/**
 * Reads manifests, streams of YAML documents.
 * @throws AppError `BadInput` that names the file for what is not a manifest, for pods without containers, and when
 * there is no object at all.
 */
export function plannedPods(
  files: readonly ManifestFile[], namespace: string, electsAll: ElectsAll = () => false,
): PlannedPods {
  const pods: Pod[] = [];
  const skipped: string[] = [];
  const objects = files.flatMap(objectsIn);
  if (objects.length === 0) {
    throw new AppError('BadInput', `There is no object in ${files.map(({ path }) => path).join(', ')}.`);
  }
  for (const [index, object] of objects.entries()) {
    const made = isSuspended(object) ? [] : podsOf(withName(object, index), namespace);
    const [first] = made;
    if (first === undefined) skipped.push(`${titleOf(object)} ${whyNone(object)}`);
    else if (isElected(first) || electsAll(first.metadata.namespace ?? '')) pods.push(...made);
    else skipped.push(
      `${titleOf(object)}: its pods lack the annotation multicluster.admiralty.io/elect and run in this cluster`,
    );
  }
  return { pods, skipped };
}

function generateNameOf({ fields }: Manifest): string | undefined {
  return (mapAt(fields, 'metadata') as ObjectMeta).generateName;
}

/** Names what the API server would name. */
function withName(object: Manifest, index: number): Manifest {
  return object.name === '' ? { ...object, name: `${generateNameOf(object) ?? 'workload-'}${index}` } : object;
}

function isSuspended({ fields }: Manifest): boolean {
  const spec = mapAt(fields, 'spec');
  return spec['suspend'] === true || mapAt(mapAt(spec, 'jobTemplate'), 'spec')['suspend'] === true;
}

function whyNone(object: Manifest): string {
  if (isSuspended(object)) return 'is suspended and makes no pods';
  return OF_KUBERNETES_GROUP.test(object.group) || OF_KUBERNETES.has(object.kind)
    ? 'makes no pods' : 'is of a kind without a pod template; pods that its controller makes are not planned';
}

function titleOf(object: Manifest): string {
  return `${object.kind}/${object.name || (generateNameOf(object) ?? '')}`;
}

function podsOf(object: Manifest, fallback: string): Pod[] {
  const { fields, kind, name, namespace = fallback } = object;
  const own = mapAt(fields, 'spec');
  if (kind === 'Pod') {
    requireContainers(own, titleOf(object));
    return [{ ...fields, metadata: { ...mapAt(fields, 'metadata'), name, namespace } } as unknown as Pod];
  }
  const spec = (isRecord(own['jobTemplate']) ? mapAt(own['jobTemplate'], 'spec') : own) as WorkloadSpec;
  const template: unknown = spec.template?.spec;
  if (!isRecord(template)) return [];
  if (!OF_KUBERNETES.has(kind) && !Object.hasOwn(template, 'containers')) return [];
  requireContainers(template, titleOf(object));
  return replicasOf(object, spec, namespace);
}

function requireContainers({ containers }: Readonly<Record<string, unknown>>, where: string): void {
  if (Array.isArray(containers) && containers.length > 0 && containers.every(isRecord)) return;
  throw new AppError('BadInput', `${where} has no containers.`);
}

function replicasOf(
  { fields, kind, name }: Manifest, { replicas, parallelism, completions, template }: WorkloadSpec, namespace: string,
): Pod[] {
  const asked = Math.min(replicas ?? parallelism ?? 1, completions ?? MOST_REPLICAS);
  const count = Math.min(Math.max(0, Math.floor(asked) || 0), MOST_REPLICAS);
  const apiVersion = String(fields['apiVersion']);
  const owner = { apiVersion, kind, name, uid: `${kind}/${namespace}/${name}`, controller: true };
  const spec = template?.spec ?? { containers: [] };
  return Array.from({ length: count }, (_, index) => (
    { metadata: { ...template?.metadata, namespace, name: `${name}-${index}`, ownerReferences: [owner] }, spec }
  ));
}

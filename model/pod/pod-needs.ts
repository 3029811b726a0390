// What a pod needs in its cluster: the Secrets and ConfigMaps that it refers to, and the Services whose selectors match
// its labels. Pods of one template have equal needs, which are stored once, and controllers count templates instead of
// pods.
import type { Pod, PodSpec, StringMap, VolumeMount } from '../../api/objects/core.ts';
import { fieldPath, valuesAt, type FieldPath } from '../objects/field-path.ts';

/** The needs of a pod. */
export interface PodNeeds {
  /** Objects of its namespace that it refers to, as `plural/name`, without duplicates. */
  readonly references: readonly string[];
  readonly labels: StringMap;
}

/**
 * Where a pod refers to objects of its namespace, by plural (`core/v1` PodSpec). `containers` means containers of
 * every kind.
 */
const REFERENCE_PATHS: Readonly<Record<string, readonly string[]>> = {
  configmaps: [
    'volumes[].configMap.name',
    'volumes[].projected.sources[].configMap.name',
    'containers[].envFrom[].configMapRef.name',
    'containers[].env[].valueFrom.configMapKeyRef.name',
  ],
  secrets: [
    'volumes[].secret.secretName',
    'volumes[].projected.sources[].secret.name',
    'containers[].envFrom[].secretRef.name',
    'containers[].env[].valueFrom.secretKeyRef.name',
    'imagePullSecrets[].name',
    'volumes[].csi.nodePublishSecretRef.name',
    'volumes[].flexVolume.secretRef.name',
    'volumes[].iscsi.secretRef.name',
    'volumes[].cephfs.secretRef.name',
    'volumes[].rbd.secretRef.name',
    'volumes[].cinder.secretRef.name',
    'volumes[].scaleIO.secretRef.name',
    'volumes[].storageos.secretRef.name',
    'volumes[].azureFile.secretName',
  ],
};

/**
 * Every cluster publishes its own CA under this name in every namespace (kube-controller-manager,
 * root-ca-certificate-publisher).
 */
const CLUSTER_LOCAL: ReadonlySet<string> = new Set(['configmaps/kube-root-ca.crt']);

const PATHS: readonly { readonly plural: string; readonly path: FieldPath }[] =
  Object.entries(REFERENCE_PATHS).flatMap(([plural, texts]) =>
  texts.flatMap(forEveryContainerList).map((text) => ({ plural, path: fieldPath(text) })),
);

function forEveryContainerList(path: string): string[] {
  if (!path.startsWith('containers')) return [path];
  return ['containers', 'initContainers', 'ephemeralContainers']
    .map((listName) => path.replace('containers', listName));
}

/** OpenShift puts a ConfigMap of its own into the volume of the token. */
function withoutTokenVolume(spec: PodSpec): PodSpec {
  const names = tokenVolumesOf(spec);
  return names.size === 0 ? spec : { ...spec, volumes: spec.volumes?.filter(({ name }) => !names.has(name)) ?? [] };
}

/** The objects that a pod refers to, as `plural/name`, sorted. */
export function podReferences(pod: Pod): readonly string[] {
  const spec = withoutTokenVolume(pod.spec);
  let references: Set<string> | undefined; // most pods have none
  for (const { plural, path } of PATHS) {
    for (const name of valuesAt(spec, path)) {
      if (typeof name === 'string' && name !== '') (references ??= new Set()).add(`${plural}/${name}`);
    }
  }
  return references === undefined
    ? []
    : [...references].filter((reference) => !CLUSTER_LOCAL.has(reference)).toSorted();
}

/** Maximum number of interned needs; above it they are just not shared. */
const MAX_INTERNED = 4_096;
const interned = new Map<string, PodNeeds>();

/** The needs of a pod. */
export function podNeeds(pod: Pod): PodNeeds {
  const needs: PodNeeds = { references: podReferences(pod), labels: pod.metadata.labels ?? {} };
  const text = JSON.stringify(needs);
  const known = interned.get(text);
  if (known !== undefined) return known;
  if (interned.size >= MAX_INTERNED) interned.clear();
  interned.set(text, needs);
  return needs;
}

/**
 * Whether labels match an equality-based selector; the empty selector matches none, as a Service's (`core/v1`
 * ServiceSpec).
 */
export function isSelected(selector: StringMap, labels: StringMap): boolean {
  const terms = Object.entries(selector);
  return terms.length > 0 && terms.every(([key, value]) => labels[key] === value);
}

/**
 * Where the API server mounts the token of the pod's ServiceAccount (admission plugin ServiceAccount). The token is the
 * source cluster's and invalid in a target: the delegate does not get it, and has one of its own cluster.
 */
const SERVICE_ACCOUNT_MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Prefix of the name of its volume. Any other at that path is the user's own, and so is one so named elsewhere. */
const SERVICE_ACCOUNT_VOLUME_PREFIX = 'kube-api-access-';

/** Whether a container mounts the token there. */
export function isTokenMount({ mountPath, name }: VolumeMount): boolean {
  return mountPath === SERVICE_ACCOUNT_MOUNT_PATH && name.startsWith(SERVICE_ACCOUNT_VOLUME_PREFIX);
}

/** Names of the volumes that the delegate does not get. Lists may be null, as a template leaves them. */
export function tokenVolumesOf({ containers, initContainers }: PodSpec): ReadonlySet<string> {
  return new Set([...containers, ...(initContainers ?? [])].flatMap(
    ({ volumeMounts }) => (volumeMounts ?? []).filter(isTokenMount).map(({ name }) => name),
  ));
}

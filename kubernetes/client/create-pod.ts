// Creates a pod in another cluster than the one that took it: that one may have a feature which this one lacks.
import type { Container, Pod, PodSpec, Volume, VolumeMount } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import { fieldPath, valuesAt } from '../../model/objects/field-path.ts';
import { ApiError } from '../flow/api-error.ts';
import type { ClusterClient } from './cluster-client.ts';

/** Fields that no type of ours has, since nothing reads them. */
interface OptionalFields {
  readonly hostUsers?: boolean;
  readonly resourceClaims?: readonly object[];
  readonly securityContext?: { readonly supplementalGroupsPolicy?: string };
}

interface OptionalContainerFields {
  readonly securityContext?: { readonly procMount?: string };
  readonly lifecycle?: { readonly stopSignal?: string };
  readonly restartPolicyRules?: readonly object[];
}

/** Optional fields of volumes. */
const OF_VOLUMES = ['image', 'projected.sources[].clusterTrustBundle', 'projected.sources[].podCertificate']
  .map((text) => ({ text, path: fieldPath(text) }));

/**
 * Creates a pod. An API server drops fields whose feature is off, or that it does not know, and says nothing: a pod
 * would run without its device, or with more groups than its user allows. So a pod that has any is tried first.
 * @throws ApiError 422 that names what would be dropped; what the calls throw.
 */
export async function createPod(client: ClusterClient, pod: Pod, signal: AbortSignal): Promise<Pod> {
  const wanted = optionalFieldsOf(pod.spec);
  if (wanted.length > 0) {
    const kept = new Set(optionalFieldsOf((await client.dryRunCreate<Pod>(PODS, pod, signal)).spec));
    const dropped = wanted.filter((field) => !kept.has(field));
    if (dropped.length > 0) {
      throw new ApiError(
        422, 'Invalid', `its API server drops ${dropped.join(', ')}: the feature is off there, or not known`,
      );
    }
  }
  return client.metadataOnly().create<Pod>(PODS, pod, signal);
}

/**
 * Paths of a pod's fields that some supported version drops (`dropDisabledFields` in `pkg/api/pod/util.go`) and that
 * change what the pod may do, what it finds in its volumes, or where it runs.
 */
export function optionalFieldsOf(spec: PodSpec & OptionalFields): readonly string[] {
  // an order may have null for what is not set: no API server has printed it
  const { supplementalGroupsPolicy } = spec.securityContext ?? {};
  return [
    ...(spec.hostUsers === false ? ['spec.hostUsers'] : []),
    ...(Object.keys(spec.resources ?? {}).length > 0 ? ['spec.resources'] : []),
    ...((spec.resourceClaims ?? []).length > 0 ? ['spec.resourceClaims'] : []),
    ...((spec.hostnameOverride ?? '') === '' ? [] : ['spec.hostnameOverride']),
    ...((supplementalGroupsPolicy ?? 'Merge') === 'Merge' ? [] : ['spec.securityContext.supplementalGroupsPolicy']),
    ...optionalFieldsOfParts(spec),
  ];
}

function optionalFieldsOfParts({ volumes, initContainers, containers }: PodSpec): readonly string[] {
  return [
    ...(volumes ?? []).flatMap(optionalFieldsOfVolume),
    ...[...(initContainers ?? []), ...containers].flatMap(optionalFieldsOfContainer),
  ];
}

/** An API server that does not know the image of a volume makes it an empty folder. */
function optionalFieldsOfVolume(volume: Volume): readonly string[] {
  return OF_VOLUMES.filter(({ path }) => valuesAt(volume, path).length > 0)
    .map(({ text }) => `${text} of volume ${volume.name}`);
}

function optionalFieldsOfContainer(
  { name, securityContext, lifecycle, restartPolicyRules, volumeMounts }: Container & OptionalContainerFields,
): readonly string[] {
  const { procMount } = securityContext ?? {};
  const { stopSignal } = lifecycle ?? {};
  return [
    ...((procMount ?? 'Default') === 'Default' ? [] : [`securityContext.procMount of container ${name}`]),
    ...((stopSignal ?? '') === '' ? [] : [`lifecycle.stopSignal of container ${name}`]),
    ...((restartPolicyRules ?? []).length === 0 ? [] : [`restartPolicyRules of container ${name}`]),
    ...(volumeMounts ?? []).flatMap((mount: VolumeMount & { readonly recursiveReadOnly?: string }) => (
      (mount.recursiveReadOnly ?? 'Disabled') === 'Disabled'
        ? []
        : [`recursiveReadOnly of volume ${mount.name} in container ${name}`]
    )),
  ];
}

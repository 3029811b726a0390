// The volume with the token of a pod's ServiceAccount, which an API server adds (admission plugin ServiceAccount). The
// token is the source cluster's and invalid in a target, so the delegate does not get it: it has one of its own cluster.
import type { PodSpec, VolumeMount } from '../../api/objects/core.ts';

/** Where the API server mounts it. */
const SERVICE_ACCOUNT_MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Prefix of its name; any other volume at that path is the user's own, and so is one of that name elsewhere. */
const SERVICE_ACCOUNT_VOLUME_PREFIX = 'kube-api-access-';

/** Whether a container mounts the token there. */
export function isTokenMount({ mountPath, name }: VolumeMount): boolean {
  return mountPath === SERVICE_ACCOUNT_MOUNT_PATH && name.startsWith(SERVICE_ACCOUNT_VOLUME_PREFIX);
}

/** Names of the volumes that the delegate does not get. */
export function tokenVolumesOf({ containers, initContainers = [] }: PodSpec): ReadonlySet<string> {
  return new Set([...containers, ...initContainers].flatMap(
    ({ volumeMounts = [] }) => volumeMounts.filter(isTokenMount).map(({ name }) => name),
  ));
}

// Uncached reads in the target, made before a write that relies on the absence of a chaperon or of its delegate.
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { TargetPod } from '../target-cache/target-pod.ts';
import { splitKey } from '../../model/pod/pod.ts';

/** Whether a delegate's own chaperon exists. Throws what API calls throw. */
export async function chaperonExists(
  client: ClusterClient, { key, chaperonUid }: TargetPod, signal: AbortSignal,
): Promise<boolean> {
  const chaperon = await client.get(POD_CHAPERONS, splitKey(key), signal).catch(unless(isNotFound));
  return chaperon !== undefined && chaperon.metadata.uid === chaperonUid;
}

/** Whether a delegate of this chaperon exists. Throws what API calls throw. */
export async function delegateExists(
  client: ClusterClient, { metadata }: PodChaperon, signal: AbortSignal,
): Promise<boolean> {
  const at = { namespace: metadata.namespace, name: metadata.name ?? '' };
  const pod = await client.get(PODS, at, signal).catch(unless(isNotFound));
  return pod?.metadata.ownerReferences?.some((owner) => owner.uid === metadata.uid) ?? false;
}

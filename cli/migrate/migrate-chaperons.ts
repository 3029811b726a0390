// What a migration does with PodChaperons and delegates in the cluster that is migrated itself, as a target: lets go
// what Isthmus holds, and drops candidates that wait for a scheduler that has ended.
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  CANDIDATE_SCHEDULER, CHAPERON_FINALIZER, PARENT_UID_LABEL, RUN_ONCE_FINALIZER,
} from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { controllerOf } from '../../model/pod/pod.ts';
import { removeFinalizers } from '../clusters/own-objects.ts';
import { listIfServed } from '../clusters/served-objects.ts';
import type { Migration } from './migration.ts';

/** Removes Isthmus' finalizers from chaperons and delegates of this cluster, which nothing would remove when they are
 * deleted. */
export async function releaseChaperons({ client, signal, tell }: Migration): Promise<void> {
  let count = 0;
  const release = async (type: ResourceType, object: KubernetesObject, finalizer: string): Promise<void> => {
    if (await removeFinalizers(client, { type, object }, new Set([finalizer]), signal)) count += 1;
  };
  for (const chaperon of await listIfServed(client, POD_CHAPERONS, signal)) {
    await release(POD_CHAPERONS, chaperon, CHAPERON_FINALIZER);
  }
  for (const delegate of await client.list(PODS, { labelSelector: PARENT_UID_LABEL }, signal)) {
    await release(PODS, delegate, RUN_ONCE_FINALIZER);
  }
  if (count > 0) tell(`  ${count} finalizers removed from PodChaperons and delegates`);
}

/**
 * PodChaperons whose delegates have no node and wait for Admiralty's candidate scheduler, which has ended: their
 * sources make others.
 */
export async function deletePendingCandidates({ client, signal, tell }: Migration): Promise<void> {
  let count = 0;
  for (const { metadata, spec } of await client.list(
    PODS, { fieldSelector: `spec.schedulerName=${CANDIDATE_SCHEDULER},spec.nodeName=` }, signal,
  )) {
    const owner = controllerOf(metadata);
    if (owner?.kind !== 'PodChaperon' || (spec.nodeName ?? '') !== '') continue;
    count += 1;
    await client.delete(
      POD_CHAPERONS, { namespace: metadata.namespace, name: owner.name },
      { preconditions: { uid: owner.uid }, propagation: 'Background' }, signal,
    ).catch(ignoreStale);
  }
  if (count > 0) tell(`  ${count} candidates`);
}

// What a migration does with PodChaperons and delegates in the cluster that is migrated itself, as a target: lets go
// what Isthmus holds, and drops candidates that wait for a scheduler that has ended.
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  CANDIDATE_SCHEDULER, CHAPERON_FINALIZER, PARENT_UID_LABEL, RUN_ONCE_FINALIZER,
} from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { controllerOf } from '../../model/pod/pod.ts';
import { listIfServed } from '../clusters/served-objects.ts';
import type { Migration } from './migration.ts';

/** Removes Isthmus' finalizers from chaperons and delegates of this cluster, which nothing would remove when they are
 * deleted. */
export async function releaseChaperons({ client, signal, tell }: Migration): Promise<void> {
  let count = 0;
  for (const chaperon of await listIfServed(client, POD_CHAPERONS, signal)) {
    if (chaperon.metadata.finalizers?.includes(CHAPERON_FINALIZER) !== true) continue;
    count += 1;
    await executePlan(client, planRelease(POD_CHAPERONS, chaperon, CHAPERON_FINALIZER), signal).catch(ignoreStale);
  }
  for (const delegate of await client.list(PODS, { labelSelector: PARENT_UID_LABEL }, signal)) {
    if (delegate.metadata.finalizers?.includes(RUN_ONCE_FINALIZER) !== true) continue;
    count += 1;
    await executePlan(client, planRelease(PODS, delegate, RUN_ONCE_FINALIZER), signal).catch(ignoreStale);
  }
  if (count > 0) tell(`  ${count} finalizers removed from PodChaperons and delegates`);
}

function planRelease(
  type: ResourceType, { metadata: { namespace, name = '', uid, finalizers = [] } }: KubernetesObject, finalizer: string,
): Plan {
  const patch = { metadata: { uid, finalizers: finalizers.filter((one) => one !== finalizer) } };
  return [{ kind: 'patch', type, at: { namespace, name }, patchType: 'merge', patch }];
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

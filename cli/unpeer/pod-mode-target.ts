// Unpeering a target without Isthmus: `isthmus peer --delegation Pod` created plain objects there, and the source's
// identity may not remove its own permissions. So an administrator's access to the target is needed.
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { podModeAccess } from '../../peering/access/pod-mode-access.ts';
import type { Peering } from '../../peering/access/target-access.ts';
import { AppError } from '../../process/errors.ts';
import { objectName, typeOf, type Progress } from '../clusters/apply-objects.ts';
import { pollUntil, type Polling } from '../clusters/poll-until.ts';
import { isOfIsthmus, removeOwn } from '../clusters/own-objects.ts';

/** What remains in such a target unless an administrator removes it, as text. */
export function podModeRemains(peering: Peering): string {
  return `${podModeAccess(peering).map(objectName).join(', ')}, Pods with label ` +
    `${PARENT_CLUSTER_LABEL}=${peering.sourceId}`;
}

/** Whether such a target has any object that peering created. */
export async function isPodModeTarget(
  administrator: ClusterClient, peering: Peering, signal: AbortSignal,
): Promise<boolean> {
  for (const object of podModeAccess(peering)) {
    const { namespace, name = '' } = object.metadata;
    const found = await administrator.get(typeOf(object), { namespace, name }, signal).catch(unless(isNotFound));
    // peering with a target that runs Isthmus creates an account of that name too
    if (found !== undefined && found.kind !== 'ServiceAccount' && isOfIsthmus(found)) return true;
  }
  return false;
}

/**
 * Removes what peering created in the target, except its namespace, which others may use. Waits for the source's pods
 * first if `polling` is given.
 * @throws AppError `Timeout` for pods that do not disappear, and the errors of API calls.
 */
export async function unpeerPodModeTarget(
  administrator: ClusterClient, peering: Peering, polling: Polling | undefined, { signal, tell }: Progress,
): Promise<void> {
  const labelSelector = `${PARENT_CLUSTER_LABEL}=${peering.sourceId}`;
  const ourPods = async () => (await administrator.listPage(PODS, { labelSelector }, { limit: 10 }, signal)).items;
  if (polling !== undefined) await untilNoneIsLeft(ourPods, polling, signal);
  for (const object of podModeAccess(peering).toReversed()) {
    const { namespace, name = '' } = object.metadata;
    const removal =
      await removeOwn(administrator, { type: typeOf(object), at: { namespace, name } }, isOfIsthmus, signal);
    if (removal === 'removed') tell(`target: removed ${objectName(object)}`);
    if (removal === 'foreign') tell(`target: kept ${objectName(object)}: not created by Isthmus`);
  }
}

/**
 * Waits until the target has none of the listed pods or PodChaperons of this source.
 * @throws AppError `Timeout`, and what `list` throws.
 */
export async function untilNoneIsLeft(
  list: () => Promise<readonly KubernetesObject[]>, polling: Polling, signal: AbortSignal,
): Promise<void> {
  let names: readonly string[] = [];
  const look = async (): Promise<true | undefined> => {
    names = (await list()).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    return names.length === 0 || undefined;
  };
  if (await pollUntil(look, polling, signal)) return;
  throw new AppError(
    'Timeout',
    `Pods of this source are still in the target: ${names.join(', ')}. Check their finalizers there, or leave them ` +
      'with --force.',
  );
}

// Leaving a target without Isthmus: what `isthmus peer --delegation Pod` made there is plain objects, and the source's
// identity may not remove its own permissions. So an administrator's access to the target is needed.
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { podModeAccess } from '../../peering/access/pod-mode-access.ts';
import type { Peering } from '../../peering/access/target-access.ts';
import { AppError } from '../../process/errors.ts';
import { objectName, typeOf, type Progress } from '../clusters/apply-objects.ts';
import { pollUntil, type Polling } from '../clusters/poll-until.ts';
import { isOfIsthmus, removeOwn } from '../clusters/own-objects.ts';

/** What is left in such a target when nobody removes it, for people. */
export function podModeRemains(peering: Peering): string {
  return `${podModeAccess(peering).map(objectName).join(', ')}, Pods with label ` +
    `${PARENT_CLUSTER_LABEL}=${peering.sourceId}`;
}

/** Whether anything is there that peering made in such a target. */
export async function isPodModeTarget(
  administrator: ClusterClient, peering: Peering, signal: AbortSignal,
): Promise<boolean> {
  for (const object of podModeAccess(peering)) {
    const { namespace, name = '' } = object.metadata;
    const found = await administrator.get(typeOf(object), { namespace, name }, signal).catch(unless(isNotFound));
    // peering with Isthmus there makes an account of that name, too
    if (found !== undefined && found.kind !== 'ServiceAccount' && isOfIsthmus(found)) return true;
  }
  return false;
}

/**
 * Removes what peering made in the target, its namespace excepted, which others may use. Waits for the source's pods
 * first, where `polling` is given.
 * @throws AppError `Timeout` for pods that do not go; what API calls throw.
 */
export async function leavePodModeTarget(
  administrator: ClusterClient, peering: Peering, polling: Polling | undefined, { signal, tell }: Progress,
): Promise<void> {
  if (polling !== undefined) await untilNoPodIsLeft(administrator, peering, polling, signal);
  for (const object of podModeAccess(peering).toReversed()) {
    const { namespace, name = '' } = object.metadata;
    const removal =
      await removeOwn(administrator, { type: typeOf(object), at: { namespace, name } }, isOfIsthmus, signal);
    if (removal === 'removed') tell(`target: removed ${objectName(object)}`);
    if (removal === 'foreign') tell(`target: kept ${objectName(object)}: not created by Isthmus`);
  }
}

async function untilNoPodIsLeft(
  target: ClusterClient, { sourceId }: Peering, polling: Polling, signal: AbortSignal,
): Promise<void> {
  let names: readonly string[] = [];
  const look = async (): Promise<true | undefined> => {
    const page =
      await target.listPage(PODS, { labelSelector: `${PARENT_CLUSTER_LABEL}=${sourceId}` }, { limit: 10 }, signal);
    names = page.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    return names.length === 0 || undefined;
  };
  if (await pollUntil(look, polling, signal)) return;
  throw new AppError(
    'Timeout',
    `Pods of this source have not gone from the target: ${names.join(', ')}. Look at their finalizers there, or ` +
      'leave them with --force.',
  );
}

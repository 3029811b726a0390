// Waits until deleted objects are gone. The API server finalizes CRDs itself, and may have to be nudged.
import type { Condition, KubernetesObject } from '../../api/objects/core.ts';
import { REMINDED_ANNOTATION } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { AppError } from '../../process/errors.ts';
import { pollUntil, type Polling } from '../clusters/poll-until.ts';

/** Timeout of a deletion in ms. API servers delete a CRD with its objects in steps of five seconds. */
export interface DeletionTimeouts extends Polling {
  /**
   * Interval at which a remaining CRD is patched. When its objects could not be listed at once, the API server retries
   * with a possibly stale cached CRD: it takes the conflict for an external change that will trigger an event, and
   * drops the CRD until its informer resync, up to five minutes later (kube-apiserver, CRDFinalizer.sync). A patch
   * triggers it again.
   */
  readonly remindEveryMs: number;
}

const GONE: DeletionTimeouts = { forMs: 180_000, everyMs: 200, remindEveryMs: 15_000 };

interface Terminating extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/**
 * Resolves once a deleted cluster-scoped object is gone.
 * @throws AppError `Timeout` with the API server's conditions; the signal's reason.
 */
export async function untilGone(
  client: ClusterClient, { type, name }: { readonly type: ResourceType; readonly name: string }, signal: AbortSignal,
  polling = GONE,
): Promise<void> {
  let remindAt = performance.now() + polling.remindEveryMs;
  let last: Terminating | undefined;
  const look = async () => {
    last = await client.get<Terminating>(type, { name }, signal).catch(unless(isNotFound));
    if (last === undefined) return true;
    if (type === CUSTOM_RESOURCE_DEFINITIONS && performance.now() >= remindAt) {
      remindAt = performance.now() + polling.remindEveryMs;
      await remind(client, last, signal);
    }
    return undefined;
  };
  if (await pollUntil(look, polling, signal)) return;
  const message = findCondition(last?.status?.conditions, 'Terminating')?.message;
  throw new AppError(
    'Timeout',
    `${type.kind} ${name} has not gone${message === undefined ? '' : ` (${message})`}: see what ` +
      `"kubectl get ${type.plural} ${name} -o yaml" says of it. Stop what runs Isthmus here, and run this again.`,
  );
}

/** Best effort: a failure does not block the deletion. */
async function remind(
  client: ClusterClient, { metadata: { name = '', uid } }: KubernetesObject, signal: AbortSignal,
): Promise<void> {
  const patch = { metadata: { uid, annotations: { [REMINDED_ANNOTATION]: new Date().toISOString() } } };
  await client.patch(CUSTOM_RESOURCE_DEFINITIONS, { name }, { patchType: 'merge', patch }, signal)
    .catch(() => signal.throwIfAborted());
}

// Which cluster a client talks to.
import { NAMESPACES } from '../../api/resource-types.ts';
import { CLUSTER_NAMESPACE } from '../../model/access/system-namespaces.ts';
import { isForbidden } from '../flow/api-error.ts';
import { backoffDelay, delay } from '../flow/backoff.ts';
import type { ClusterClient } from './cluster-client.ts';

const RETRY = { firstMs: 1_000, maxMs: 60_000 };

/** The server may be anybody's: its answer is stored. */
const UID = /^[\w-]{1,64}$/;

/**
 * The cluster's ID: the UID of its kube-system Namespace, which is unique.
 * @throws Error for what is no UID; what the call throws.
 */
export async function readClusterId(client: ClusterClient, signal: AbortSignal): Promise<string> {
  const { metadata } = await client.get(NAMESPACES, { name: CLUSTER_NAMESPACE }, signal);
  const uid: unknown = metadata.uid;
  if (typeof uid === 'string' && UID.test(uid)) return uid;
  throw new Error(`its namespace ${CLUSTER_NAMESPACE} has no valid UID`);
}

/** The same, tried until it succeeds. Throws only what denies it for good: an abort, or missing permissions. */
export async function readClusterIdWithRetry(client: ClusterClient, signal: AbortSignal): Promise<string> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await readClusterId(client, signal);
    } catch (error) {
      if (signal.aborted || isForbidden(error)) throw error;
    }
    await delay(backoffDelay(RETRY, failures, Math.random()), signal);
  }
}

/** Whether another cluster answers than the one of this ID; false where either cannot be known. */
export async function isAnotherCluster(
  client: ClusterClient, id: string | undefined, signal: AbortSignal,
): Promise<boolean> {
  if (id === undefined) return false;
  const current = await readClusterIdWithRetry(client, signal).catch(() => id);
  return current !== id && !signal.aborted;
}

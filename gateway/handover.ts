// The end of an active gateway that listens for Services of other clusters: it goes on until connections go to the next
// one, so that none is refused meanwhile.
import { CLUSTERSET_GATEWAYS } from '../api/resource-types.ts';
import { isNotFound, unless } from '../kubernetes/flow/api-error.ts';
import { delay } from '../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { isGone } from './status/gateway-status.ts';

/** Which ClustersetGateway object is the own one. */
export interface HandoverOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly name: string;
  /** How long it may take, in ms. */
  readonly limitMs: number;
}

const INTERVAL_MS = 250;
/** How long EndpointSlices and every node's kube-proxy take to follow, in ms. */
const SETTLE_MS = 3_000;

/**
 * Resolves once connections go to another gateway, which deletes the object of this one when it has written its own;
 * after the limit; at once when there is no other one. Never throws.
 */
export async function untilHandedOver({ client, namespace, name, limitMs }: HandoverOptions): Promise<void> {
  const limit = AbortSignal.timeout(limitMs);
  try {
    const all = await client.list(CLUSTERSET_GATEWAYS, { namespace }, limit);
    const isAnother = all.some(({ metadata, status }) =>
      metadata.name !== name && status?.backend === 'mtls' && !isGone(status, Date.now()));
    if (!isAnother) return;
    while (await client.get(CLUSTERSET_GATEWAYS, { namespace, name }, limit).catch(unless(isNotFound)) !== undefined) {
      await delay(INTERVAL_MS, limit);
    }
    await delay(SETTLE_MS, limit);
  } catch {
    return; // the API server does not answer: nobody is told of another gateway
  }
}

// Maintains the ClustersetGateway object of this process; the active one deletes those of dead processes.
import type { Logger } from 'pino';
import type { ClustersetGateway, GatewayStatus } from '../../api/kinds/gateway.ts';
import { apiVersionOf, CLUSTERSET_GATEWAYS } from '../../api/resource-types.ts';
import { isNotFound } from '../../kubernetes/flow/api-error.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { messageOf } from '../../process/errors.ts';
import { aborted } from '../../process/lifecycle.ts';
import { isGone, needsUpdate, toGatewayStatus, type GatewayFacts } from './gateway-status.ts';

/** What is needed. */
export interface GatewayObjectOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  /** Name of the object: the host, or the pod. */
  readonly name: string;
  readonly facts: () => GatewayFacts;
  /** When the object is deleted, after `signal`; at once when missing. */
  readonly over?: AbortSignal;
  readonly logger: Logger;
}

const FIELD_MANAGER = 'isthmus-gateway';
/** Interval at which changes are checked, in ms. */
const INTERVAL_MS = 1_000;
/** What a merge patch keeps of an earlier process unless it is told to remove it. */
const NOTHING_OF_BEFORE = { statusFailure: null, certificateExpires: null, connectAddress: null, importAddress: null };

/** Updates the object until `signal` is aborted, and deletes it in the end. Never throws. */
export async function keepGatewayObject(options: GatewayObjectOptions, signal: AbortSignal): Promise<void> {
  const { client, namespace, name, facts, over = signal, logger } = options;
  let written: GatewayStatus | undefined;
  while (!signal.aborted) {
    const next = toGatewayStatus(facts());
    if (needsUpdate(written, next)) {
      written = await write(options, next, signal).catch((error: unknown) => {
        if (!signal.aborted) logger.debug(
          { error: messageOf(error) }, 'the ClustersetGateway object could not be written',
        );
        return undefined;
      });
      if (written?.haStatus === 'active') await removeGone(options, signal).catch(() => undefined);
    }
    await delay(INTERVAL_MS, signal);
  }
  await aborted(over);
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), INTERVAL_MS);
  await client.delete(CLUSTERSET_GATEWAYS, { namespace, name }, {}, patience.signal).catch(() => undefined);
  clearTimeout(timer);
}

async function write(
  { client, namespace, name }: GatewayObjectOptions, status: GatewayStatus, signal: AbortSignal,
): Promise<GatewayStatus> {
  const at = { namespace, name, subresource: 'status' } as const;
  const patch = { patchType: 'merge', patch: { status: { ...NOTHING_OF_BEFORE, ...status } } } as const;
  await client.patch(CLUSTERSET_GATEWAYS, at, patch, signal).catch(async (error: unknown) => {
    if (!isNotFound(error)) throw error;
    const made: ClustersetGateway = {
      apiVersion: apiVersionOf(CLUSTERSET_GATEWAYS), kind: CLUSTERSET_GATEWAYS.kind, metadata: { namespace, name },
    };
    await client.apply(CLUSTERSET_GATEWAYS, made, FIELD_MANAGER, signal);
    await client.patch(CLUSTERSET_GATEWAYS, at, patch, signal);
  });
  return status;
}

async function removeGone(
  { client, namespace, name, facts }: GatewayObjectOptions, signal: AbortSignal,
): Promise<void> {
  const { nowMs, backend } = facts();
  for (const { metadata, status } of await client.list(CLUSTERSET_GATEWAYS, { namespace }, signal)) {
    const { name: other = name, uid = '', resourceVersion = '' } = metadata;
    // only one is active: what was killed a moment ago, perhaps with a clock that is ahead, would outlive its successor
    const isSucceeded = status?.haStatus === 'active' && status.backend === backend;
    if (other !== name && (isSucceeded || isGone(status, nowMs))) {
      const of = { preconditions: { uid, resourceVersion } }; // by now it may say that it stands by
      await client.delete(CLUSTERSET_GATEWAYS, { namespace, name: other }, of, signal).catch(() => undefined);
    }
  }
}

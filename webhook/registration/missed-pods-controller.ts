// Finds pods that bypassed the webhook and notifies their users. It lists only where that can happen: with
// failurePolicy Ignore or before the rules are registered, in opted-in namespaces, for pods that are not proxy pods.
// Otherwise one read per half minute and replica: a watch of all pods would cost more than this rare case is worth.
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import { NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, PROXY_SCHEDULER } from '../../api/objects/keys.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, PODS } from '../../api/resource-types.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { messageOf } from '../../process/errors.ts';
import { mayMissPods, missedPodEvent } from './missed-pods.ts';
import { WEBHOOK_CONFIGURATION_NAME } from './webhook-address.ts';

/** Polling interval in ms: users are notified within a minute. */
const EVERY_MS = 30_000;
const PAGE_SIZE = 500;

/** Dependencies of the controller. */
export interface MissedPodsOptions {
  readonly client: ClusterClient;
  readonly events: EventSink;
  readonly logger: Logger;
}

/** Result of a check: UIDs of the missed pods already reported, and whether pods can bypass the webhook now. */
export interface MissedPods {
  readonly reported: ReadonlySet<string>;
  readonly mayMiss: boolean;
}

/** Before the first check. */
export const NOTHING_MISSED: MissedPods = { reported: new Set(), mayMiss: false };

/** Checks now and every half minute until the signal aborts. Never throws. */
export async function followMissedPods(options: MissedPodsOptions, signal: AbortSignal): Promise<void> {
  let missed = NOTHING_MISSED;
  while (!signal.aborted) {
    try {
      missed = await lookForMissedPods(options, missed, signal);
    } catch (error) {
      if (!signal.aborted) options.logger.debug(
        { error: messageOf(error) }, 'could not look for pods that were admitted without the webhook',
      );
    }
    await delay(EVERY_MS, signal);
  }
}

/**
 * Records one event per missed pod. Checks once more after bypassing has become impossible, for pods created shortly
 * before.
 */
export async function lookForMissedPods(
  options: MissedPodsOptions, before: MissedPods, signal: AbortSignal,
): Promise<MissedPods> {
  const configuration =
    await options.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME }, signal);
  const mayMiss = mayMissPods(configuration);
  return {
    reported: mayMiss || before.mayMiss ? await reportMissedPods(options, before.reported, signal) : new Set(), mayMiss,
  };
}

async function reportMissedPods(
  { client, events, logger }: MissedPodsOptions, reported: ReadonlySet<string>, signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const namespaces =
    await client.list(NAMESPACES, { labelSelector: `${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}` }, signal);
  const found = new Set<string>();
  for (const { metadata: { name = '' } } of namespaces) {
    for await (const pod of plainPods(client, name, signal)) {
      const event = missedPodEvent(pod);
      if (event === undefined) continue;
      found.add(event.regarding.uid);
      if (reported.has(event.regarding.uid)) continue;
      events.record(event);
      logger.warn({ namespace: name, pod: event.regarding.name }, 'an elected pod was admitted without the webhook');
    }
  }
  return found;
}

/** Pods of a namespace that are not proxy pods, page by page. */
async function* plainPods(client: ClusterClient, namespace: string, signal: AbortSignal): AsyncGenerator<Pod> {
  let next: string | undefined;
  do {
    const page = await client.listPage(
      PODS, { namespace, fieldSelector: `spec.schedulerName!=${PROXY_SCHEDULER}` },
      { limit: PAGE_SIZE, continue: next }, signal,
    );
    yield* page.items;
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
  } while (next !== undefined);
}

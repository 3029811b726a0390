// Looks for pods that were admitted without us, and tells their users. It asks only where that can happen at all: with failurePolicy
// Ignore or before pods are sent to us, in opted-in namespaces, for pods that are not ours. One read each half minute otherwise, in every
// replica: a watch of all pods would cost more than this seldom case is worth.
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

/** How often is looked, in ms: users know within a minute. */
const EVERY_MS = 30_000;
const PAGE_SIZE = 500;

/** What is worked with. */
export interface MissedPodsOptions {
  readonly client: ClusterClient;
  readonly events: EventSink;
  readonly logger: Logger;
}

/** What a look has found: UIDs of the missed pods that users know of, and whether pods can be missed now. */
export interface MissedPods {
  readonly told: ReadonlySet<string>;
  readonly mayMiss: boolean;
}

/** Before the first look. */
export const NOTHING_MISSED: MissedPods = { told: new Set(), mayMiss: false };

/** Looks now and every half minute until the signal aborts. Never throws. */
export async function followMissedPods(options: MissedPodsOptions, signal: AbortSignal): Promise<void> {
  let missed = NOTHING_MISSED;
  while (!signal.aborted) {
    try {
      missed = await lookForMissedPods(options, missed, signal);
    } catch (error) {
      if (!signal.aborted) options.logger.debug({ error: messageOf(error) }, 'could not look for pods that were admitted without the webhook');
    }
    await delay(EVERY_MS, signal);
  }
}

/** Records one event for each missed pod that has not been told of. Looks once more after pods can be missed no longer, for those made shortly before. */
export async function lookForMissedPods(options: MissedPodsOptions, before: MissedPods, signal: AbortSignal): Promise<MissedPods> {
  const configuration = await options.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME }, signal);
  const mayMiss = mayMissPods(configuration);
  return { told: mayMiss || before.mayMiss ? await tellOfMissedPods(options, before.told, signal) : new Set(), mayMiss };
}

async function tellOfMissedPods({ client, events, logger }: MissedPodsOptions, told: ReadonlySet<string>, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const namespaces = await client.list(NAMESPACES, { labelSelector: `${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}` }, signal);
  const found = new Set<string>();
  for (const { metadata: { name = '' } } of namespaces) {
    for await (const pod of plainPods(client, name, signal)) {
      const event = missedPodEvent(pod);
      if (event === undefined) continue;
      found.add(event.regarding.uid);
      if (told.has(event.regarding.uid)) continue;
      events.record(event);
      logger.warn({ namespace: name, pod: event.regarding.name }, 'an elected pod was admitted without the webhook');
    }
  }
  return found;
}

/** Pods of a namespace that are not ours, page by page. */
async function* plainPods(client: ClusterClient, namespace: string, signal: AbortSignal): AsyncGenerator<Pod> {
  let next: string | undefined;
  do {
    const page = await client.listPage(PODS, { namespace, fieldSelector: `spec.schedulerName!=${PROXY_SCHEDULER}` }, { limit: PAGE_SIZE, continue: next }, signal);
    yield* page.items;
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
  } while (next !== undefined);
}

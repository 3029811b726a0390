// Finds pods that bypassed the webhook and notifies their users. It lists only where that can happen: with
// failurePolicy Ignore or before the rules are registered, in opted-in namespaces, for pods that are not proxy pods;
// and where labels were set that elect nothing. Otherwise four small reads per half minute and replica: a watch of all
// pods would cost more than this rare case is worth.
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import {
  ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, PROXY_SCHEDULER,
} from '../../api/objects/keys.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, PODS } from '../../api/resource-types.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { messageOf } from '../../process/errors.ts';
import type { EventRecord } from '../../model/proxy/event-record.ts';
import { mayMissPods, missedPodEvent, namespaceCause, OPTING_LABELS } from './missed-pods.ts';
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
  const reported = new Set<string>();
  const report = (event: EventRecord | undefined): void => {
    if (event === undefined || reported.has(event.regarding.uid)) return;
    reported.add(event.regarding.uid);
    if (before.reported.has(event.regarding.uid)) return;
    options.events.record(event);
    options.logger.warn(
      { namespace: event.regarding.namespace, pod: event.regarding.name },
      'an elected pod was admitted without the webhook',
    );
  };
  if (mayMiss || before.mayMiss) await reportUnseenPods(options.client, report, signal);
  await reportWrongLabels(options.client, report, signal);
  return { reported, mayMiss };
}

type Report = (event: EventRecord | undefined) => void;

async function reportUnseenPods(client: ClusterClient, report: Report, signal: AbortSignal): Promise<void> {
  const namespaces =
    await client.list(NAMESPACES, { labelSelector: `${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}` }, signal);
  for (const { metadata: { name = '' } } of namespaces) {
    for await (const pod of plainPods(client, { namespace: name }, signal)) report(missedPodEvent(pod));
  }
}

/** Labels with a value that means nothing are rare, so this reads hardly any pods. */
async function reportWrongLabels(client: ClusterClient, report: Report, signal: AbortSignal): Promise<void> {
  for (const { label, wanted } of OPTING_LABELS) {
    for (const namespace of await client.list(NAMESPACES, { labelSelector: `${label},${label}!=${wanted}` }, signal)) {
      const cause = namespaceCause(namespace);
      if (cause === undefined) continue;
      for await (const pod of plainPods(client, { namespace: namespace.metadata.name ?? '' }, signal)) {
        report(missedPodEvent(pod, cause));
      }
    }
  }
  for await (const pod of plainPods(client, { labelSelector: ELECT_ANNOTATION }, signal)) {
    report(missedPodEvent(pod, { kind: 'is-label' }));
  }
}

/** Pods that are not proxy pods, page by page. */
async function* plainPods(
  client: ClusterClient, selection: { readonly namespace?: string; readonly labelSelector?: string },
  signal: AbortSignal,
): AsyncGenerator<Pod> {
  let next: string | undefined;
  do {
    const page = await client.listPage(
      PODS, { ...selection, fieldSelector: `spec.schedulerName!=${PROXY_SCHEDULER}` },
      { limit: PAGE_SIZE, continue: next }, signal,
    );
    yield* page.items;
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
  } while (next !== undefined);
}

// Adds the webhook's rules for pods once the API server has proved to reach it, by a dry-run probe. Before that no pod
// is rejected for lack of a response; afterwards the configuration's failure policy applies, and the rules stay for as
// long as the configuration exists.
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { MIGRATION_CONFIG_MAP } from '../../api/objects/own-names.ts';
import { CONFIG_MAPS, EVENTS, MUTATING_WEBHOOK_CONFIGURATIONS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { webhookOffReason } from '../../targets/admiralty/standby.ts';
import type { EventRecord } from '../../model/proxy/event-record.ts';
import { otherAdmiraltyWebhook } from '../../model/naming/live-admiralty.ts';
import { isProbeAnswered, probeEvent, webhooksWithoutRules, withRules } from './missing-rules.ts';
import { WEBHOOK_CONFIGURATION_NAME, WEBHOOK_CONFIGURATION_REFERENCE } from './webhook-address.ts';

/** Field manager of the rules, separate from that of the CA: each applies all of its own fields. */
const FIELD_MANAGER = 'isthmus-webhook-rules';
const ASK_EVERY_MS = 1_000;
/** Failed probes after which users are warned, because pods run in the source meanwhile. */
const TELL_AFTER = 30;

/** Dependencies of the controller. */
export interface RulesOptions {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  readonly events: EventSink;
  /** Called with whether the rules are still missing. */
  readonly onMissing: (areMissing: boolean) => void;
  readonly logger: Logger;
  /** Probe interval in ms; each second when omitted. */
  readonly askEveryMs?: number;
}

/**
 * Starts the controller. A configuration that already has its rules is left alone; one that is created later is waited
 * for.
 */
export function startRulesController(
  { client, installNamespace, events, logger, onMissing, askEveryMs = ASK_EVERY_MS }: RulesOptions, signal: AbortSignal,
): void {
  const informer =
    fullInformersOf({ client, logger })(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME });
  let unanswered = 0;
  /** False while the rules wait for something else than the API server. */
  let isDue = true;
  const reconcile = async (): Promise<ReconcileResult> => {
    const configuration = informer.get(WEBHOOK_CONFIGURATION_NAME);
    const names = configuration === undefined ? [] : webhooksWithoutRules(configuration);
    onMissing(isDue && names.length > 0);
    if (names.length === 0) return DONE;
    const question = probeEvent({ installNamespace, instance: hostname(), at: new Date() });
    if (!isProbeAnswered(await client.dryRunCreate(EVENTS, question, signal))) {
      unanswered += 1;
      if (unanswered % TELL_AFTER === 0) {
        logger.warn({}, 'the API server does not reach this webhook: elected pods run in this cluster');
        events.record(notReached());
      }
      return { kind: 'requeue-after', ms: askEveryMs };
    }
    unanswered = 0;
    const why = await whyToWait(client, installNamespace, signal);
    isDue = why === undefined;
    if (why !== undefined) {
      onMissing(false);
      logger.debug({ why }, 'elected pods are not sent to this webhook yet');
      return { kind: 'requeue-after', ms: askEveryMs };
    }
    await client.apply(MUTATING_WEBHOOK_CONFIGURATIONS, withRules(names), FIELD_MANAGER, signal);
    logger.info({ webhooks: names }, 'the API server reaches this webhook: elected pods are sent to it from now on');
    return DONE;
  };
  const controller = startController({ name: 'webhook-rules', reconcile, concurrency: 1, logger }, signal);
  informer.onChange(() => controller.enqueue(WEBHOOK_CONFIGURATION_NAME));
  void informer.run(signal);
}

/** Only one of the two webhooks may receive pods: Admiralty's, until a migration has switched to this one. */
async function whyToWait(
  client: ClusterClient, installNamespace: string, signal: AbortSignal,
): Promise<string | undefined> {
  const record = await client.get(CONFIG_MAPS, { namespace: installNamespace, name: MIGRATION_CONFIG_MAP }, signal)
    .catch(unless(isNotFound));
  const off = record === undefined ? undefined : webhookOffReason(record);
  if (off !== undefined) return off;
  return otherAdmiraltyWebhook(await client.list(MUTATING_WEBHOOK_CONFIGURATIONS, {}, signal));
}

function notReached(): EventRecord {
  const note =
    'The API server does not reach the webhook, so elected pods are not sent to it and run in this cluster. Check ' +
      'its Service or URL, network policies between API server and webhook, and the CA bundle.';
  return { regarding: WEBHOOK_CONFIGURATION_REFERENCE, type: 'Warning', reason: 'NotReached', action: 'Probe', note };
}

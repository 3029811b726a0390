// Switches from Admiralty's webhook to that of Isthmus without a gap and without two conflicting webhooks: first
// Admiralty's configuration points to our webhook in one write; then the configuration of Isthmus matches pods as well,
// which calls the same webhook twice; then Admiralty's matches nothing.
import {
  BEFORE_MIGRATION_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../api/objects/keys.ts';
import type { StringMap } from '../../api/objects/core.ts';
import {
  MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, type MutatingWebhookConfiguration,
} from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { WEBHOOK_CONFIGURATION_NAME, WEBHOOK_NAME } from '../../manifests/objects/webhook-configuration.ts';
import {
  addressOf, admiraltyWebhookOf, receivesPods, NEVER_SELECTED, type AdmiraltyWebhook,
} from '../../model/naming/live-admiralty.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import { webhooksWithoutRules } from '../../webhook/registration/missing-rules.ts';
import { tryElectedPod, type Trial } from '../clusters/trial-pod.ts';
import { untilSo, type Migration } from './migration.ts';

/** cert-manager's annotation for the CA bundle, which would restore its own. */
const INJECTED = 'cert-manager.io/inject-ca-from';

/** A backup of Admiralty's configuration. */
interface Before {
  readonly webhook: AdmiraltyWebhook;
  readonly injected?: string | undefined;
}

/** Sends elected pods to our webhook, which must be running. */
export async function switchWebhook(migration: Migration): Promise<void> {
  await untilWebhookAnswers(migration);
  await untilSo('our webhook answers', async () => {
    const ours = await untilWebhookAnswers(migration);
    await eachOfTheirs(migration, (webhook) => (receivesPods(webhook) ? toUs(webhook, ours) : webhook));
    const problem = await probe(migration);
    if (problem === undefined) return true;
    await eachOfTheirs(
      migration, (webhook, before) => (receivesPods(webhook) ? (before?.webhook ?? webhook) : webhook), true,
    );
    migration.tell(`  our webhook does not answer yet: ${problem}`);
    return false;
  }, migration);
  await untilSo(
    'the webhook of Isthmus admits elected pods',
    async () => webhooksWithoutRules(await ourConfiguration(migration)).length === 0, migration,
  );
  await disableAdmiraltyWebhook(migration);
}

/** Makes Admiralty's configuration match nothing. */
export async function disableAdmiraltyWebhook(migration: Migration): Promise<void> {
  await eachOfTheirs(migration, (webhook) => (receivesPods(webhook) ? silenced(webhook) : webhook));
}

/**
 * Makes Admiralty's configuration, which points to the running webhook of Isthmus, match elected pods again, and that
 * of Isthmus no longer. Does not wait for that webhook where the migration stopped before the switch: it may never run.
 */
export async function restoreAdmiraltyConfiguration(migration: Migration): Promise<void> {
  let isSilenced = false;
  await eachOfTheirs(migration, (webhook) => {
    isSilenced ||= !receivesPods(webhook);
    return webhook;
  });
  if (isSilenced) {
    const ours = await untilWebhookAnswers(migration);
    await eachOfTheirs(
      migration, (webhook, before) => (receivesPods(webhook) ? webhook : toUs(before?.webhook ?? webhook, ours)),
    );
  }
  const found = await findOurs(migration);
  if (found === undefined) return;
  const { metadata: { resourceVersion }, webhooks = [] } = found;
  const withoutRules = webhooks.map((webhook) => (
    webhook.name === WEBHOOK_NAME || webhook.failurePolicy !== 'Ignore' ? { ...webhook, rules: [] } : webhook
  ));
  await migration.client.patch(
    MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME },
    { patchType: 'merge', patch: { metadata: { resourceVersion }, webhooks: withoutRules } }, migration.signal,
  );
}

/**
 * Points Admiralty's configuration back to its own webhook once that responds; until then that of Isthmus continues,
 * where there is one that serves.
 */
export async function restoreAdmiraltyWebhook(migration: Migration): Promise<void> {
  const ours = webhookIn(await findOurs(migration));
  await untilSo("Admiralty's webhook answers", async () => {
    await eachOfTheirs(migration, (webhook, before) => before?.webhook ?? webhook, true);
    const problem = await probe(migration);
    if (problem === undefined) return true;
    if (serves(ours)) await eachOfTheirs(migration, (webhook) => toUs(webhook, ours));
    migration.tell(`  Admiralty's webhook does not answer yet: ${problem}`);
    return false;
  }, migration);
  await eachOfTheirs(migration, (webhook) => webhook, true, true);
}

/**
 * Why an elected pod is not known to become a proxy pod; undefined where it does, and where no namespace that opted in
 * takes one: what others deny is denied after the webhook was called.
 */
async function probe({ client, signal }: Migration): Promise<string | undefined> {
  const labelSelector = `${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}`;
  const names = (await client.list(NAMESPACES, { labelSelector }, signal)).map(({ metadata: { name = '' } }) => name);
  const trial = await tryElectedPod(client, names, signal).catch((error: unknown): Trial => {
    signal.throwIfAborted();
    return { kind: 'failed', message: messageOf(error) };
  });
  if (trial.kind === 'failed') return trial.message;
  return trial.kind === 'bypassed' ? 'it was not asked' : undefined;
}

function findOurs({ client, signal }: Migration): Promise<MutatingWebhookConfiguration | undefined> {
  return client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME }, signal)
    .catch(unless(isNotFound));
}

async function ourConfiguration(migration: Migration): Promise<MutatingWebhookConfiguration> {
  const found = await findOurs(migration);
  if (found === undefined) throw new AppError(
    'NotFound',
    'Isthmus has no webhook configuration in this cluster. Install it as a source: "isthmus migrate admiralty", or ' +
      'the chart with source.enabled=true.',
  );
  return found;
}

function webhookIn(configuration: MutatingWebhookConfiguration | undefined): AdmiraltyWebhook | undefined {
  return configuration?.webhooks?.find(({ name }) => name === WEBHOOK_NAME);
}

/** Its process writes the CA bundle once it serves. */
function serves(webhook: AdmiraltyWebhook | undefined): webhook is AdmiraltyWebhook {
  return (webhook?.clientConfig.caBundle ?? '') !== '';
}

/** Our webhook, with its CA bundle. Throws AppError `Timeout`. */
export async function untilWebhookAnswers(migration: Migration): Promise<AdmiraltyWebhook> {
  await untilSo(
    "our webhook serves (start it: the chart's Deployments, or \"isthmus run\")",
    async () => serves(webhookIn(await ourConfiguration(migration))), migration,
  );
  const ours = webhookIn(await findOurs(migration));
  if (ours === undefined) throw new AppError(
    'NotFound', 'The webhook configuration of Isthmus has just been changed. Run the same command again.',
  );
  return ours;
}

function toUs(webhook: AdmiraltyWebhook, ours: AdmiraltyWebhook): AdmiraltyWebhook {
  if (addressOf(webhook) === addressOf(ours) && webhook.clientConfig.caBundle === ours.clientConfig.caBundle) {
    return webhook;
  }
  return {
    ...webhook, clientConfig: ours.clientConfig, admissionReviewVersions: ['v1', 'v1beta1'],
  } as AdmiraltyWebhook;
}

function silenced(webhook: AdmiraltyWebhook): AdmiraltyWebhook {
  const { namespaceSelector = {} } = webhook;
  return {
    ...webhook,
    namespaceSelector:
      { ...namespaceSelector, matchExpressions: [...(namespaceSelector.matchExpressions ?? []), NEVER_SELECTED] },
  };
}

type Change = (webhook: AdmiraltyWebhook, before: Before | undefined) => AdmiraltyWebhook;

/**
 * Changes Admiralty's webhook in each of its configurations; a backup of the original is stored with it until
 * `forgets`.
 */
async function eachOfTheirs(
  { client, installation, signal }: Migration, change: Change, isGivenBack = false, forgets = false,
): Promise<void> {
  for (const { metadata: { name = '' } } of installation.webhooks) {
    const live = await client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name }, signal).catch(unless(isNotFound));
    const patch = live === undefined ? undefined : changed(live, change, { isGivenBack, forgets });
    if (patch !== undefined) {
      await client.patch(MUTATING_WEBHOOK_CONFIGURATIONS, { name }, { patchType: 'merge', patch }, signal);
    }
  }
}

/** The patch for one configuration; undefined when nothing changes. */
function changed({ metadata, webhooks }: MutatingWebhookConfiguration, change: Change, { isGivenBack, forgets }: {
  readonly isGivenBack: boolean; readonly forgets: boolean
}): object | undefined {
  const webhook = admiraltyWebhookOf({ metadata, ...(webhooks && { webhooks }) });
  if (webhook === undefined) return undefined;
  const before = readBefore(metadata.annotations);
  const next = change(webhook, before);
  if (next === webhook && !forgets) return undefined;
  const kept: Before = before ?? { webhook, injected: metadata.annotations?.[INJECTED] };
  const annotations = {
    [BEFORE_MIGRATION_ANNOTATION]: forgets ? null : JSON.stringify(kept),
    [INJECTED]: isGivenBack ? (kept.injected ?? null) : null,
  };
  return {
    metadata: { resourceVersion: metadata.resourceVersion, annotations },
    webhooks: webhooks?.map((one) => (one === webhook ? next : one)),
  };
}

function readBefore(annotations: StringMap | undefined): Before | undefined {
  const text = annotations?.[BEFORE_MIGRATION_ANNOTATION];
  return text === undefined ? undefined : (JSON.parse(text) as Before);
}

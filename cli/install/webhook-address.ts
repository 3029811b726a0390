// Where API servers find the webhook: at a URL or behind a Service. An installation that is repeated for another
// reason, with --service-discovery for example, must not move a webhook that works.
import {
  MUTATING_WEBHOOK_CONFIGURATIONS, SERVICES, VALIDATING_WEBHOOK_CONFIGURATIONS,
} from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { InstallOptions } from '../../manifests/install.ts';
import {
  validatingWebhookConfiguration, webhookConfiguration, WEBHOOK_CONFIGURATION_NAME, WEBHOOK_NAME, WEBHOOK_SERVICE,
} from '../../manifests/objects/webhook-configuration.ts';
import type { Progress } from '../clusters/apply-objects.ts';

/**
 * The options with the URL that the cluster calls now, where none was given and there is no Service of the webhook to
 * move to. Throws what {@link ClusterClient} throws.
 */
export async function keepWebhookUrl(
  client: ClusterClient, options: InstallOptions, { tell, signal }: Progress,
): Promise<InstallOptions> {
  if (options.webhookUrl !== undefined) return options;
  const { installNamespace: namespace } = options;
  const configuration = await client
    .get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME }, signal).catch(unless(isNotFound));
  const webhookUrl = configuration?.webhooks?.find(({ name }) => name === WEBHOOK_NAME)?.clientConfig.url;
  if (webhookUrl === undefined) return options;
  const service = await client.get(SERVICES, { namespace, name: WEBHOOK_SERVICE }, signal).catch(unless(isNotFound));
  if (service !== undefined) return options;
  tell(
    `the webhook stays at its URL, for there is no Service ${namespace}/${WEBHOOK_SERVICE}; ` +
      '--webhook-url moves it',
  );
  return { ...options, webhookUrl };
}

/**
 * Switches a webhook between Service and URL: the webhook process owns some of these fields, which an apply would leave
 * in place. So the clientConfig is replaced as a whole first. Throws what {@link ClusterClient} throws.
 */
export async function moveWebhooks(
  client: ClusterClient, options: InstallOptions, signal: AbortSignal,
): Promise<void> {
  const wanted = [[MUTATING_WEBHOOK_CONFIGURATIONS, webhookConfiguration(options)], [
    VALIDATING_WEBHOOK_CONFIGURATIONS, validatingWebhookConfiguration(options),
  ]] as const;
  for (const [type, { webhooks: given = [] }] of wanted) {
    const at = { name: WEBHOOK_CONFIGURATION_NAME };
    const { metadata, webhooks = [] } = (await client.get(type, at, signal).catch(unless(isNotFound)))
      ?? { metadata: {} };
    if (webhooks.every(({ clientConfig: { url } }) => (url === undefined) === (options.webhookUrl === undefined))) {
      continue;
    }
    const moved = webhooks.map(({ clientConfig: { caBundle }, ...webhook }) => {
      const { clientConfig } = given.find(({ name }) => name === webhook.name) ?? given[0] ?? { clientConfig: {} };
      return { ...webhook, clientConfig: { ...clientConfig, ...(caBundle !== undefined && { caBundle }) } };
    });
    await client.patch(
      type, at,
      { patchType: 'merge', patch: { metadata: { resourceVersion: metadata.resourceVersion }, webhooks: moved } },
      signal,
    );
  }
}

// By which names the API server reaches the webhook, read from the webhook configuration.
import type { MutatingWebhookConfiguration } from '../api/resource-types.ts';

/** Name of our MutatingWebhookConfiguration, and prefix of the Service in front of the webhook. */
export const WEBHOOK_CONFIGURATION_NAME = 'isthmus';

/** Host names and IP addresses that the serving certificate must hold, sorted. `localhost` is always among them. */
export function webhookHosts(configuration: MutatingWebhookConfiguration): readonly string[] {
  const hosts = new Set(['localhost', '127.0.0.1']);
  for (const { clientConfig } of configuration.webhooks ?? []) {
    if (clientConfig.url !== undefined && URL.canParse(clientConfig.url)) {
      hosts.add(new URL(clientConfig.url).hostname.replace(/^\[|\]$/g, ''));
    }
    if (clientConfig.service !== undefined) hosts.add(`${clientConfig.service.name}.${clientConfig.service.namespace}.svc`);
  }
  return [...hosts].toSorted();
}

/** Whether all webhooks of the configuration trust exactly this CA (base64 of its PEM). */
export function trustsAuthority(configuration: MutatingWebhookConfiguration, caBundle: string): boolean {
  return (configuration.webhooks ?? []).every((webhook) => webhook.clientConfig.caBundle === caBundle);
}

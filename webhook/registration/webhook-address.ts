// The names by which the API server reaches the webhook, and the CAs that it trusts, read from the webhook
// configurations.
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS, type WebhookConfiguration,
} from '../../api/resource-types.ts';

/** Name of our MutatingWebhookConfiguration and ValidatingWebhookConfiguration. */
export const WEBHOOK_CONFIGURATION_NAME = 'isthmus';
/** Kinds of our configurations. */
export const WEBHOOK_CONFIGURATION_TYPES: readonly ResourceType<WebhookConfiguration>[] =
  [MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS];

/** The configuration, for Events about it. */
export const WEBHOOK_CONFIGURATION_REFERENCE = {
  apiVersion: 'admissionregistration.k8s.io/v1', kind: 'MutatingWebhookConfiguration',
  name: WEBHOOK_CONFIGURATION_NAME, uid: '',
};
/** Field manager of the paths in them. */
export const PATH_FIELD_MANAGER = 'isthmus-webhook-path';

/** Annotation that asks cert-manager's CA injector to write `caBundle`; we then leave the field alone. */
const CERT_MANAGER_ANNOTATIONS =
  ['cert-manager.io/inject-ca-from', 'cert-manager.io/inject-ca-from-secret', 'cert-manager.io/inject-apiserver-ca'];

/** Host names and IP addresses that the serving certificate must cover, sorted. Always includes `localhost`. */
export function webhookHosts(configurations: readonly WebhookConfiguration[]): readonly string[] {
  const hosts = new Set(['localhost', '127.0.0.1']);
  for (const { clientConfig } of configurations.flatMap(({ webhooks = [] }) => webhooks)) {
    if (clientConfig.url !== undefined && URL.canParse(clientConfig.url)) {
      hosts.add(new URL(clientConfig.url).hostname.replace(/^\[|\]$/g, ''));
    }
    if (clientConfig.service !== undefined) {
      hosts.add(`${clientConfig.service.name}.${clientConfig.service.namespace}.svc`);
    }
  }
  return [...hosts].toSorted();
}

/** Whether all webhooks of the configuration have exactly this CA bundle (PEM). */
export function hasBundle(configuration: WebhookConfiguration, bundle: string): boolean {
  const caBundle = Buffer.from(bundle).toString('base64');
  return (configuration.webhooks ?? []).every((webhook) => webhook.clientConfig.caBundle === caBundle);
}

/** Whether all webhooks of the configuration trust this CA certificate (PEM), possibly among others. */
export function trusts(configuration: WebhookConfiguration, certificate: string): boolean {
  return (configuration.webhooks ?? []).every(
    ({ clientConfig }) => Buffer.from(clientConfig.caBundle ?? '', 'base64').toString().includes(certificate.trim()),
  );
}

/** Whether cert-manager writes the CA bundle of this configuration. */
export function isCertManagers(configuration: WebhookConfiguration): boolean {
  return CERT_MANAGER_ANNOTATIONS.some((key) => Object.hasOwn(configuration.metadata.annotations ?? {}, key));
}

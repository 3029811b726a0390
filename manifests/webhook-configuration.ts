// What the API server sends to the webhook: creations of annotated pods in namespaces that opted in, and nothing else.
// The certificate authority is left out: the webhook process owns that field and writes it by itself.
import type { MutatingWebhookConfiguration } from '../api/resource-types.ts';
import { ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../api/keys.ts';
import { PART_OF } from './rbac-objects.ts';

/** Name of our MutatingWebhookConfiguration. */
export const WEBHOOK_CONFIGURATION_NAME = 'isthmus';
/** Name of the one webhook in it. */
export const WEBHOOK_NAME = 'pods.isthmus.multicluster.admiralty.io';
/** Path that the webhook serves, as Admiralty 0.17's. */
export const WEBHOOK_PATH = '/mutate--v1-pod';
/** Service in the install namespace through which the API server reaches the webhook. */
export const WEBHOOK_SERVICE = 'isthmus-webhook';
/** Port of {@link WEBHOOK_SERVICE}. */
export const WEBHOOK_SERVICE_PORT = 443;

/** How long the API server waits for an answer, in seconds; half of its default, so that a hanging webhook holds pods up less. */
const TIMEOUT_SECONDS = 5;

/** How the API server reaches the webhook: at `webhookUrl` (https, with its path), or through {@link WEBHOOK_SERVICE} when missing. */
export interface WebhookAddress {
  readonly installNamespace: string;
  readonly webhookUrl?: string | undefined;
}

/** The CEL expression that is true for elected pods; most pods have no annotations at all. */
export const IS_ELECTED = `has(object.metadata.annotations) && '${ELECT_ANNOTATION}' in object.metadata.annotations`;

/**
 * The MutatingWebhookConfiguration (`admissionregistration.k8s.io/v1`). A pod that asks to be elected is refused while
 * the webhook is away (`Fail`), for it must not run in the source; no other pod depends on the webhook.
 */
export function webhookConfiguration(address: WebhookAddress): MutatingWebhookConfiguration {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: WEBHOOK_CONFIGURATION_NAME, labels: PART_OF },
    webhooks: [podWebhook(address)],
  };
}

function podWebhook(address: WebhookAddress) {
  return {
    name: WEBHOOK_NAME,
    clientConfig: clientConfig(address),
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: 'Namespaced' }],
    namespaceSelector: {
      matchLabels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE },
      matchExpressions: [
        { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [...new Set([address.installNamespace, 'kube-system'])] },
      ],
    },
    matchConditions: [{ name: 'is-elected', expression: IS_ELECTED }],
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    reinvocationPolicy: 'Never',
    sideEffects: 'None',
    timeoutSeconds: TIMEOUT_SECONDS,
    admissionReviewVersions: ['v1'],
  };
}

function clientConfig({ installNamespace, webhookUrl }: WebhookAddress) {
  if (webhookUrl !== undefined) return { url: webhookUrl };
  return { service: { namespace: installNamespace, name: WEBHOOK_SERVICE, path: WEBHOOK_PATH, port: WEBHOOK_SERVICE_PORT } };
}

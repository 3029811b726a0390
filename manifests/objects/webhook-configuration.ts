// The webhook configurations: creation of annotated pods in opted-in namespaces, DaemonSets that tolerate every taint,
// targets with a regular expression, and nothing else. CA bundle and secret path are left out: the webhook process owns
// these fields, and in packages the rules for pods as well.
import {
  DAEMON_SETS_PATH, ELECTED_POD_RULES, ELECTING_LABELS, NAMESPACE_PATH, POD_PATH, REACHED_PATH, REACHED_WEBHOOK,
} from '../../api/admission-rules.ts';
import type { MutatingWebhookConfiguration, WebhookConfiguration } from '../../api/resource-types.ts';
import {
  ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, NOT_ELECTED, PROVIDER_KEY, REACHED_LABEL,
  REACHED_QUESTION,
} from '../../api/objects/keys.ts';
import { ADMIRALTY_GROUP, ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { neverElectedNamespaces } from '../../model/access/system-namespaces.ts';

/** Name of our MutatingWebhookConfiguration and ValidatingWebhookConfiguration. */
export const WEBHOOK_CONFIGURATION_NAME = 'isthmus';
/** Name of the one webhook in it. */
export const WEBHOOK_NAME = 'pods.isthmus.multicluster.admiralty.io';
/** Service in the install namespace through which the API server reaches the webhook. */
export const WEBHOOK_SERVICE = 'isthmus-webhook';
/** Port of {@link WEBHOOK_SERVICE}. */
export const WEBHOOK_SERVICE_PORT = 443;

/** timeoutSeconds: half of the default, so that a hanging webhook delays pods less. */
const TIMEOUT_SECONDS = 5;
const COMMON = { sideEffects: 'None', timeoutSeconds: TIMEOUT_SECONDS, admissionReviewVersions: ['v1', 'v1beta1'] };

/**
 * How the API server reaches the webhook: at `webhookUrl` (https, with its path), or through {@link WEBHOOK_SERVICE}
 * when missing.
 */
export interface WebhookAddress {
  readonly installNamespace: string;
  readonly webhookUrl?: string | undefined;
  /** failurePolicy for elected pods: rejected (`Fail`, the default), or run in the source like any other (`Ignore`). */
  readonly failurePolicy?: 'Fail' | 'Ignore' | undefined;
  /** Whether Liqo's namespace labels are honoured. */
  readonly acceptsLiqoLabels?: boolean | undefined;
}

/** CEL expressions: whether a pod has the annotation, and whether its value elects. Most pods have none at all. */
const MENTIONS_ELECTION = `has(object.metadata.annotations) && '${ELECT_ANNOTATION}' in object.metadata.annotations`;
const IS_NOT_DECLINED = `object.metadata.annotations['${ELECT_ANNOTATION}'] != '${NOT_ELECTED}'`;

/**
 * The MutatingWebhookConfiguration (`admissionregistration.k8s.io/v1`). An elected pod is rejected while the webhook is
 * unavailable (`Fail`), because it must not run in the source; no other pod depends on the webhook.
 */
export function webhookConfiguration(address: WebhookAddress): MutatingWebhookConfiguration {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: WEBHOOK_CONFIGURATION_NAME, labels: PART_OF },
    webhooks: [...podWebhooks(address), daemonSetWebhook(address)],
  };
}

function podWebhooks(address: WebhookAddress) {
  return [podWebhook(address), ...namespaceWebhooks(address)];
}

/** DaemonSets that tolerate virtual nodes, when their template changes: other changes must not replace their pods. */
function daemonSetWebhook(address: WebhookAddress) {
  const tolerations = 'object.spec.template.spec.tolerations';
  return {
    name: 'daemonsets.isthmus.multicluster.admiralty.io',
    clientConfig: clientConfig(address, DAEMON_SETS_PATH),
    rules: [{
      operations: ['CREATE', 'UPDATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['daemonsets'],
      scope: 'Namespaced',
    }],
    matchConditions: [
      {
        name: 'tolerates-virtual-nodes',
        expression: `has(${tolerations}) && ${tolerations}.exists(t, !has(t.key) || t.key in ['', '${PROVIDER_KEY}'])`,
      },
      {
        name: 'template-changed',
        expression: "request.operation == 'CREATE' || object.spec.template != oldObject.spec.template",
      },
    ],
    failurePolicy: 'Ignore', // a cluster's network comes up before its webhooks
    matchPolicy: 'Equivalent',
    reinvocationPolicy: 'Never',
    ...COMMON,
  };
}

/**
 * The same for packages, whose objects are all applied at once: without rules for pods, which the webhook process adds
 * once the API server reaches it (ADR 0029). So nothing is rejected by a webhook that has not started yet. An
 * additional webhook receives the probe.
 */
export function packagedWebhookConfiguration(address: WebhookAddress): MutatingWebhookConfiguration {
  const ofPods = podWebhooks(address).map(({ rules: _rules, ...webhook }) => webhook);
  return {
    ...webhookConfiguration(address), webhooks: [...ofPods, daemonSetWebhook(address), reachedWebhook(address)],
  };
}

function reachedWebhook(address: WebhookAddress) {
  return {
    name: REACHED_WEBHOOK,
    clientConfig: clientConfig(address, REACHED_PATH),
    rules: [{
      operations: ['CREATE'], apiGroups: ['events.k8s.io'], apiVersions: ['v1'], resources: ['events'],
      scope: 'Namespaced',
    }],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': address.installNamespace } },
    objectSelector: { matchLabels: { [REACHED_LABEL]: REACHED_QUESTION } },
    failurePolicy: 'Ignore',
    matchPolicy: 'Equivalent',
    reinvocationPolicy: 'Never',
    ...COMMON,
  };
}

function podWebhook(address: WebhookAddress) {
  return {
    name: WEBHOOK_NAME,
    clientConfig: clientConfig(address),
    ...ofPods(address, [NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE]),
    matchConditions: [{ name: 'is-elected', expression: `${MENTIONS_ELECTION} && ${IS_NOT_DECLINED}` }],
  };
}

/** Annotated pods too: such a namespace does not need to opt in as well. A second review of a pod changes nothing.
 * */
function namespaceWebhooks(address: WebhookAddress) {
  const accepted = Object.entries(ELECTING_LABELS)
    .filter(([name]) => name === 'namespaces' || address.acceptsLiqoLabels === true);
  return accepted.map(([name, label]) => ({
    name: `${name}.isthmus.multicluster.admiralty.io`,
    clientConfig: clientConfig(address, NAMESPACE_PATH),
    ...ofPods(address, label),
    matchConditions: [{ name: 'is-not-declined', expression: `!(${MENTIONS_ELECTION}) || ${IS_NOT_DECLINED}` }],
  }));
}

function ofPods(address: WebhookAddress, [label, value]: readonly [label: string, value: string]) {
  return {
    rules: ELECTED_POD_RULES,
    namespaceSelector: {
      matchLabels: { [label]: value },
      matchExpressions: [
        {
          key: 'kubernetes.io/metadata.name', operator: 'NotIn',
          values: neverElectedNamespaces(address.installNamespace),
        },
      ],
    },
    failurePolicy: address.failurePolicy ?? 'Fail',
    matchPolicy: 'Equivalent',
    reinvocationPolicy: 'IfNeeded', // reinvocation: restores the proxy form after other webhooks changed the pod
    ...COMMON,
  };
}

/** What is validated, by webhook name; an object that is already invalid must stay labelable and deletable. */
const VALIDATIONS = [
  {
    name: 'targets', path: '/validate--targets', apiGroup: ADMIRALTY_GROUP, resources: ['targets', 'clustertargets'],
    matchCondition:
      { name: 'has-what-is-checked', expression: 'has(object.spec.excludedLabelsRegexp) || has(object.spec.headroom)' },
  },
  { name: 'resourceshares', path: '/validate--resourceshares', apiGroup: ISTHMUS_GROUP, resources: ['resourceshares'] },
] as const;
const SPEC_CHANGED =
  { name: 'spec-changed', expression: "request.operation == 'CREATE' || object.spec != oldObject.spec" };

/**
 * The ValidatingWebhookConfiguration for what CEL in the schemas cannot check. It is called only when a spec changes,
 * with failurePolicy `Ignore`: the controllers report invalid objects as well.
 */
export function validatingWebhookConfiguration(address: WebhookAddress): WebhookConfiguration {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: WEBHOOK_CONFIGURATION_NAME, labels: PART_OF },
    webhooks: VALIDATIONS.map((validation) => validatingWebhook(validation, address)),
  };
}

function validatingWebhook(
  { name, path, apiGroup, resources, ...validation }: (typeof VALIDATIONS)[number], address: WebhookAddress,
) {
  return {
    name: `${name}.isthmus.multicluster.admiralty.io`,
    clientConfig: clientConfig(address, path),
    rules:
      [{ operations: ['CREATE', 'UPDATE'], apiGroups: [apiGroup], apiVersions: ['v1alpha1'], resources, scope: '*' }],
    matchConditions: ['matchCondition' in validation ? validation.matchCondition : undefined, SPEC_CHANGED].filter(
      (condition) => condition !== undefined,
    ),
    failurePolicy: 'Ignore',
    matchPolicy: 'Equivalent',
    ...COMMON,
  };
}

function clientConfig({ installNamespace, webhookUrl }: WebhookAddress, path = POD_PATH) {
  if (webhookUrl !== undefined) return { url: path === POD_PATH ? webhookUrl : new URL(path, webhookUrl).href };
  return { service: { namespace: installNamespace, name: WEBHOOK_SERVICE, port: WEBHOOK_SERVICE_PORT } };
}

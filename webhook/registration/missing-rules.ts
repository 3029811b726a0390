// Packaged webhook configurations come without rules for pods: nothing may be rejected before the webhook can answer.
// Detects missing rules, builds the dry-run probe that shows whether the API server reaches the webhook, and builds the
// rules. Pure.
import { ELECTED_POD_RULES, REACHED_WEBHOOK } from '../../api/admission-rules.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { REACHED_ANNOTATION, REACHED_LABEL, REACHED_QUESTION, TRUE } from '../../api/objects/keys.ts';
import type { WebhookConfiguration } from '../../api/resource-types.ts';
import type { Admission } from '../review/admission-answer.ts';
import { memberPointer } from '../review/json-patch.ts';
import { WEBHOOK_CONFIGURATION_NAME } from './webhook-address.ts';

/** Reason and action of the probe event, which is never stored. */
const ASK = 'Ask';

/** Names of the webhooks without rules. */
export function webhooksWithoutRules({ webhooks = [] }: WebhookConfiguration): readonly string[] {
  return webhooks.filter(({ name, rules = [] }) => name !== REACHED_WEBHOOK && rules.length === 0)
    .map(({ name }) => name);
}

/** Only the rules of these webhooks, for a server-side apply. */
export function withRules(names: readonly string[]): KubernetesObject & { readonly webhooks: readonly object[] } {
  return {
    metadata: { name: WEBHOOK_CONFIGURATION_NAME }, webhooks: names.map((name) => ({ name, rules: ELECTED_POD_RULES })),
  };
}

/** The sender of the probe, and the time. */
export interface ProbeSender {
  readonly installNamespace: string;
  /** Host name of the process. */
  readonly instance: string;
  readonly at: Date;
}

/**
 * The probe: an Event (`events.k8s.io/v1`) that is never stored; the API server sends it to the webhook if it can reach
 * it.
 */
export function probeEvent({ installNamespace, instance, at }: ProbeSender): KubernetesObject {
  const event: KubernetesObject & Readonly<Record<string, unknown>> = {
    metadata: {
      namespace: installNamespace, name: `webhook-reached.${at.getTime().toString(16)}`,
      labels: { [REACHED_LABEL]: REACHED_QUESTION },
    },
    eventTime: at.toISOString().replace('Z', '000Z'), // MicroTime
    reportingController: 'isthmus.dev/webhook',
    reportingInstance: instance,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: installNamespace, namespace: installNamespace },
    type: 'Normal',
    reason: ASK,
    action: ASK,
    note: 'A dry run with which the webhook checks whether the API server reaches it.',
  };
  return event;
}

/** The webhook's response to the probe. */
export function answerProbe({ metadata }: KubernetesObject): Admission {
  const path = '/metadata/annotations';
  const patch = metadata.annotations === undefined
    ? { op: 'add', path, value: { [REACHED_ANNOTATION]: TRUE } } as const
    : { op: 'add', path: memberPointer(path, REACHED_ANNOTATION), value: TRUE } as const;
  return { kind: 'mutate', patch: [patch], warnings: [] };
}

/** Whether the API server called a webhook before this response. */
export function isProbeAnswered({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[REACHED_ANNOTATION] === TRUE;
}

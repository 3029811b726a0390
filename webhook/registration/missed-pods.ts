// Elected pods that bypassed the webhook: with failurePolicy Ignore, before the webhook was first reached, or because
// of a label where an annotation or another value belongs. Such a pod runs in the source, and its user gets an event.
// Pure.
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { REACHED_WEBHOOK } from '../../api/admission-rules.ts';
import {
  ELECT_ANNOTATION, NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../api/objects/keys.ts';
import type { WebhookConfiguration } from '../../api/resource-types.ts';
import type { EventRecord } from '../../model/proxy/event-record.ts';
import { isElected, isProxyPod, isTerminal, isTerminating } from '../../model/pod/pod.ts';
import { webhooksWithoutRules } from './missing-rules.ts';

/** Whether elected pods may bypass the webhook. */
export function mayMissPods(configuration: WebhookConfiguration): boolean {
  const ofPods = (configuration.webhooks ?? []).filter(({ name }) => name !== REACHED_WEBHOOK);
  return ofPods.some(({ failurePolicy }) => failurePolicy === 'Ignore')
    || webhooksWithoutRules(configuration).length > 0;
}

/** Why the webhook was not asked about an elected pod. */
type MissCause =
  /** It was away, or its rules were not registered. */
  | { readonly kind: 'unseen' }
  /** The pod has the key as a label. */
  | { readonly kind: 'is-label' }
  /** Its namespace has the label with a value that means nothing. */
  | { readonly kind: 'namespace-label'; readonly label: string; readonly value: string; readonly wanted: string };

/** The event for such a pod; undefined for any other pod, and for one that is terminating or has ended. */
export function missedPodEvent(pod: Pod, cause: MissCause = { kind: 'unseen' }): EventRecord | undefined {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  if (!isMissed(pod, cause) || isProxyPod(pod) || isTerminating(pod) || isTerminal(pod.status?.phase)) return undefined;
  return {
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
    type: 'Warning',
    reason: 'NotElected',
    action: 'Admit',
    note: noteOf(cause),
  };
}

function isMissed(pod: Pod, { kind }: MissCause): boolean {
  return kind === 'is-label'
    ? Object.hasOwn(pod.metadata.labels ?? {}, ELECT_ANNOTATION) && !isElected(pod)
    : isElected(pod);
}

function noteOf(cause: MissCause): string {
  const asked = `The pod has annotation ${ELECT_ANNOTATION} but runs in this cluster`;
  switch (cause.kind) {
    case 'unseen':
      return `${asked}: it was created while the webhook was down or before its namespace opted in. Delete it so ` +
        'that its controller recreates it.';
    case 'is-label':
      return `The pod has ${ELECT_ANNOTATION} as a label, which elects nothing, so it runs in this cluster. Make it ` +
        'an annotation of the pod or of its template.';
    case 'namespace-label':
      return `${asked}: label ${cause.label} of its namespace is "${cause.value}" and has to be "${cause.wanted}". ` +
        'Correct it, then delete the pod so that its controller recreates it.';
  }
}

/** Namespace labels that opt in or elect, with the value that does. */
export const OPTING_LABELS = [
  { label: NAMESPACE_OPT_IN_LABEL, wanted: NAMESPACE_OPT_IN_VALUE },
  { label: NAMESPACE_ELECT_LABEL, wanted: NAMESPACE_ELECT_VALUE },
] as const;

/** Why elected pods of a namespace run here; undefined where its labels are no reason. */
export function namespaceCause({ metadata: { labels = {} } }: KubernetesObject): MissCause | undefined {
  if (OPTING_LABELS.some(({ label, wanted }) => labels[label] === wanted)) return undefined;
  const wrong = OPTING_LABELS.find(({ label }) => Object.hasOwn(labels, label));
  return wrong && { kind: 'namespace-label', ...wrong, value: labels[wrong.label] ?? '' };
}

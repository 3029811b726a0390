// Elected pods that bypassed the webhook: with failurePolicy Ignore, or before the webhook was first reached, such a
// pod runs in the source. Its user gets an event. Pure.
import type { Pod } from '../../api/objects/core.ts';
import { REACHED_WEBHOOK } from '../../api/admission-rules.ts';
import { ELECT_ANNOTATION } from '../../api/objects/keys.ts';
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

/** The event for such a pod; undefined for any other pod, and for one that is terminating or has ended. */
export function missedPodEvent(pod: Pod): EventRecord | undefined {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  if (!isElected(pod) || isProxyPod(pod) || isTerminating(pod) || isTerminal(pod.status?.phase)) return undefined;
  return {
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
    type: 'Warning',
    reason: 'NotElected',
    action: 'Admit',
    note:
      `The pod has annotation ${ELECT_ANNOTATION} and runs in this cluster all the same: it was made while the ` +
        'webhook of Isthmus was away or this namespace had not opted in. Delete it and have it made again.',
  };
}

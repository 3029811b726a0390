// Applies the user's changes of a running pod, which the source has sent with the chaperon, to the delegate.
import type { Logger } from 'pino';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { Pod } from '../../api/objects/core.ts';
import { SENT_CHANGES_ANNOTATION } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { executeEach } from '../../kubernetes/controller/execute-plan.ts';
import { planLiveChanges } from '../../model/pod/live-changes.ts';
import { controllerOf, objectKey } from '../../model/pod/pod.ts';
import { regardingPod, type EventRecord } from '../../model/proxy/event-record.ts';

/** What changes are applied with. */
export interface ChangeTools {
  readonly client: ClusterClient;
  /** Sink of Events about changes that this cluster rejects. */
  readonly events: EventSink;
  readonly logger: Logger;
}

/**
 * Applies changes, given as in the annotation. A change that this cluster rejects is not retried, and keeps back no
 * other: the delegate is annotated as if it had it. Throws what API calls throw.
 */
export async function applyChanges(
  tools: ChangeTools, { metadata }: PodChaperon, text: string, signal: AbortSignal,
): Promise<void> {
  const at = { namespace: metadata.namespace, name: metadata.name ?? '' };
  try {
    const pod = await tools.client.get(PODS, at, signal);
    if (controllerOf(pod.metadata)?.uid === metadata.uid) await applyTo(pod, tools, text, signal);
  } catch (error) {
    ignoreStale(error);
  }
}

async function applyTo(
  pod: Pod, { client, events, logger }: ChangeTools, text: string, signal: AbortSignal,
): Promise<void> {
  const rejected = await executeEach(client, planLiveChanges(pod, text), signal);
  if (rejected === undefined) return;
  const { namespace, name = '', uid } = pod.metadata;
  logger.warn(
    { chaperon: objectKey(pod.metadata), error: rejected.message }, 'this cluster rejects a change of the running pod',
  );
  events.record(changeRefused(pod, rejected.message));
  if (!rejected.isLast) return;
  const patch = { metadata: { uid, annotations: { [SENT_CHANGES_ANNOTATION]: text } } };
  await client.patch(PODS, { namespace, name }, { patchType: 'merge', patch }, signal);
}

function changeRefused({ metadata: { namespace = '', name = '', uid = '' } }: Pod, note: string): EventRecord {
  return {
    regarding: regardingPod({ namespace, name, uid }), type: 'Warning', reason: 'ChangeRefused',
    action: 'ApplyChange', note,
  };
}

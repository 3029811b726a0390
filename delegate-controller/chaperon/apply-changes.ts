// Applies the user's changes of a running pod, which the source has sent with the chaperon, to the delegate.
import type { Logger } from 'pino';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { Pod } from '../../api/objects/core.ts';
import { SENT_CHANGES_ANNOTATION } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import { ignoreStale, isNotFound, isRejection } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { planLiveChanges } from '../../model/pod/live-changes.ts';
import { controllerOf, objectKey } from '../../model/pod/pod.ts';
import { regardingPod, type EventRecord } from '../../model/proxy/event-record.ts';
import { messageOf } from '../../process/errors.ts';

/** What changes are applied with. */
export interface ChangeTools {
  readonly client: ClusterClient;
  /** Sink of Events about changes that this cluster rejects. */
  readonly events: EventSink;
  readonly logger: Logger;
}

/**
 * Applies changes, given as in the annotation. A change that this cluster rejects is not retried: the delegate is
 * annotated as if it had it. Throws what API calls throw.
 */
export async function applyChanges(
  { client, events, logger }: ChangeTools, { metadata }: PodChaperon, text: string, signal: AbortSignal,
): Promise<void> {
  const at = { namespace: metadata.namespace, name: metadata.name ?? '' };
  let pod: Pod | undefined;
  try {
    pod = await client.get(PODS, at, signal);
    if (controllerOf(pod.metadata)?.uid !== metadata.uid) return;
    await executePlan(client, planLiveChanges(pod, text), signal);
  } catch (error) {
    if (!isRejection(error) || (pod === undefined && isNotFound(error))) return ignoreStale(error);
    logger.warn(
      { chaperon: objectKey(metadata), error: messageOf(error) }, 'this cluster rejects a change of the running pod',
    );
    if (pod !== undefined) events.record(changeRefused(pod, messageOf(error)));
    const patch = { metadata: { uid: pod?.metadata.uid, annotations: { [SENT_CHANGES_ANNOTATION]: text } } };
    await client.patch(PODS, at, { patchType: 'merge', patch }, signal).catch(ignoreStale);
  }
}

function changeRefused({ metadata: { namespace = '', name = '', uid = '' } }: Pod, note: string): EventRecord {
  return {
    regarding: regardingPod({ namespace, name, uid }), type: 'Warning', reason: 'ChangeRefused', action: 'Carry', note,
  };
}

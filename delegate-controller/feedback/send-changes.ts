// Sends the user's changes of a running pod to its target. They are rare, so they are computed from uncached reads.
import type { Pod } from '../../api/objects/core.ts';
import { SENT_CHANGES_ANNOTATION } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import { isNotFound, isRejection } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { executeEach, executePlan, type Rejected } from '../../kubernetes/controller/execute-plan.ts';
import { DELEGATIONS } from '../../model/delegate/delegation.ts';
import type { Chaperon } from '../../model/delegate/cached-delegate.ts';
import { toDelegateLabelChanges, toDelegateLabels } from '../../model/delegate/pod-chaperon.ts';
import type { Plan } from '../../model/objects/plan.ts';
import {
  planLiveChanges, withReverted, writeSentChanges, type LiveChanges,
} from '../../model/pod/live-changes.ts';
import { userLabels } from '../../model/proxy/admission-record.ts';
import { regardingPod } from '../../model/proxy/event-record.ts';
import { isQueuedByKueue } from '../../model/proxy/labels-read-by-others.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { messageOf } from '../../process/errors.ts';
import type { FeedbackStep } from './feedback-plan.ts';

/** From where to where changes are sent. */
export interface ChangeRoute {
  readonly source: ClusterClient;
  readonly target: ClusterClient;
  /** Sink of Events about changes that the target rejects. */
  readonly events: EventSink;
}

/**
 * Sends them. A change that the target rejects is reported and not retried, and keeps back no other. Returns whether
 * the target has recorded what was sent: false where it rejects the annotation as well. Throws what API calls throw.
 */
export async function sendChanges(
  { source, target, events }: ChangeRoute, proxy: ProxyPod,
  { chaperon, wanted }: Extract<FeedbackStep, { kind: 'apply-changes' }>, signal: AbortSignal,
): Promise<boolean> {
  const { namespace, name, uid, mode, sentChanges } = chaperon;
  const pod = await source.get(PODS, proxy, signal);
  if (pod.metadata.uid !== proxy.uid) return true;
  const changes = withReverted(inTarget(wanted.changes, pod), sentChanges?.changes ?? {}, labelledAsDelegate(pod));
  const text = writeSentChanges({ of: wanted.of, changes });
  const noted: Plan = [{
    kind: 'patch', type: DELEGATIONS[mode].type, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { uid, annotations: { [SENT_CHANGES_ANNOTATION]: text } } },
  }];
  const rejected = await carry(target, chaperon, { noted, text }, signal);
  if (rejected === undefined) return true;
  events.record({
    regarding: regardingPod(proxy), type: 'Warning', reason: 'ChangeRefused',
    action: 'ApplyChange', note: rejected.message,
  });
  if (!rejected.isLast) return true;
  return executePlan(target, noted, signal).then(() => true, (error: unknown) => {
    if (!isRejection(error)) throw error;
    return false;
  });
}

function inTarget({ labels, ...changes }: LiveChanges, { metadata }: Pod): LiveChanges {
  return { ...changes, ...(labels && { labels: toDelegateLabelChanges(labels, metadata) }) };
}

function labelledAsDelegate({ metadata, ...pod }: Pod): Pod {
  const { labels = {}, annotations = {} } = metadata;
  const ofDelegate = toDelegateLabels(userLabels(metadata), annotations, isQueuedByKueue(labels));
  return { ...pod, metadata: { ...metadata, labels: ofDelegate } };
}

/** If the object is gone, nothing counts as rejected: the watch reports its deletion. */
async function carry(
  target: ClusterClient, { mode, namespace, name }: Chaperon,
  { noted, text }: { readonly noted: Plan; readonly text: string }, signal: AbortSignal,
): Promise<Rejected | undefined> {
  if (mode === 'PodChaperon') return executeEach(target, noted, signal);
  try {
    return await executeEach(
      target, planLiveChanges(await target.get(PODS, { namespace, name }, signal), text), signal,
    );
  } catch (error) {
    if (!isRejection(error)) throw error;
    return isNotFound(error) ? undefined : { message: messageOf(error), isLast: true };
  }
}

// The Events that scheduling writes: at most one for each outcome of a pod, so that a burst of pods is no burst of writes (design D8).
import { regardingPod, type EventRecord } from '../model/event-record.ts';
import type { ProxyPod } from '../model/proxy-pod.ts';
import { explainRejections, type RejectedTarget } from './schedule-pod.ts';

/** No target takes the pod; reason as kube-scheduler's, so that whoever looks for it finds ours too. */
export function failedScheduling(proxy: ProxyPod, rejected: readonly RejectedTarget[]): EventRecord {
  return { regarding: regardingPod(proxy), type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling', note: explainRejections(rejected) };
}

// The Events that scheduling writes: at most one for each outcome of a pod (design D8); those of success, and of targets that are lost, are paced.
import { regardingPod, type EventRecord } from '../../model/proxy/event-record.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { explainRejections, type RejectedTarget } from '../decision/schedule-pod.ts';

/** No target takes the pod; reason as kube-scheduler's, so that whoever looks for it finds ours too. */
export function failedScheduling(proxy: ProxyPod, rejected: readonly RejectedTarget[]): EventRecord {
  return { regarding: regardingPod(proxy), type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling', note: explainRejections(rejected) };
}

/** What {@link toPlacementRecord} wrote, as far as people are told. */
interface PlacementRecord {
  readonly target: string;
  readonly score: number;
  readonly not?: Readonly<Record<string, string>>;
  readonly more?: number;
}

/** The pod is bound; reason and first words are kube-scheduler's. `record` says why there and not elsewhere. */
export function scheduled(proxy: ProxyPod, nodeName: string, record: string | undefined): EventRecord {
  const why = record === undefined ? '' : explainPlacement(JSON.parse(record) as PlacementRecord);
  const note = `Successfully assigned ${proxy.key} to ${nodeName}${why}`;
  return { regarding: regardingPod(proxy), type: 'Normal', reason: 'Scheduled', action: 'Binding', note };
}

function explainPlacement({ target, score, not = {}, more = 0 }: PlacementRecord): string {
  const reasons = Object.entries(not).map(([other, reason]) => `${other}: ${reason}`);
  const others = reasons.length === 0 ? '' : `; not ${reasons.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `: ${target} is the best that can take it (score ${score})${others}`;
}

/** The target that was asked cannot be reached, and the pod waits for it. `message` says until when. */
export function awaitingTarget(proxy: ProxyPod, message: string): EventRecord {
  return { regarding: regardingPod(proxy), type: 'Warning', reason: 'AwaitingTarget', action: 'Scheduling', note: message };
}

// Events of scheduling: at most one for each outcome of a pod. Events of successful bindings and of lost targets are
// throttled.
import { regardingPod, type EventRecord } from '../../model/proxy/event-record.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { explainRejections, type RejectedTarget } from '../decision/schedule-pod.ts';

/** No target fits the pod. The reason is kube-scheduler's, so that existing alerts match. */
export function failedScheduling(proxy: ProxyPod, rejected: readonly RejectedTarget[]): EventRecord {
  return {
    regarding: regardingPod(proxy), type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling',
    note: explainRejections(rejected),
  };
}

/** The fields of {@link toPlacementRecord} that an Event shows. */
interface PlacementRecord {
  readonly target: string;
  readonly score: number;
  readonly not?: Readonly<Record<string, string>>;
  readonly more?: number;
}

/** The pod is bound. Reason and first words are kube-scheduler's. `record` says why there and not elsewhere. */
export function scheduled(proxy: ProxyPod, nodeName: string, record: string | undefined): EventRecord {
  const why = record === undefined ? '' : explainPlacement(JSON.parse(record) as PlacementRecord);
  const note = `Successfully assigned ${proxy.key} to ${nodeName}${why}`;
  return { regarding: regardingPod(proxy), type: 'Normal', reason: 'Scheduled', action: 'Binding', note };
}

function explainPlacement({ target, score, not = {}, more = 0 }: PlacementRecord): string {
  const reasons = Object.entries(not).map(([other, reason]) => `${other}: ${reason}`);
  const others = reasons.length === 0 ? '' : `; not ${reasons.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `: ${target} is the best feasible target (score ${score})${others}`;
}

/** The pod waits for the target that was asked, which is unreachable or has not decided. */
export function awaiting(proxy: ProxyPod, word: { readonly reason: string; readonly message: string }): EventRecord {
  const { reason, message } = word;
  return { regarding: regardingPod(proxy), type: 'Warning', reason, action: 'Scheduling', note: message };
}

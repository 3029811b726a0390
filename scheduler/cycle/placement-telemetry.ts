// Metrics and traces of placement, from admission to the binding.
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { observeBound, observeCandidate } from '../../process/placement-metrics.ts';
import { isTracing, newSpanId, recordSpan } from '../../process/tracing.ts';
import { placementSpan } from '../reporting/placement-span.ts';
import type { PodState } from './pod-state.ts';

/** Records a candidate that is bound, or was rejected after it was created; one of another process has no start. */
export function recordCandidate(
  proxy: ProxyPod, { candidateSince }: PodState, outcome: { readonly target: string; readonly error?: string },
): void {
  if (candidateSince === undefined) return;
  const { trace } = proxy;
  observeCandidate(outcome.error === undefined ? 'bound' : 'rejected', Date.now() - candidateSince);
  if (isTracing() && trace !== undefined) {
    recordSpan(placementSpan(
      proxy, trace, { name: 'candidate', spanId: newSpanId(), startMs: candidateSince, endMs: Date.now(), ...outcome },
    ));
  }
}

/** Records the time from admission to the binding, and the chosen target. */
export function recordBound(proxy: ProxyPod, podState: PodState, target: string): void {
  observeBound(Date.now() - proxy.createdAt);
  recordCandidate(proxy, podState, { target });
  const { trace } = proxy;
  if (isTracing() && trace !== undefined) {
    recordSpan(placementSpan(
      proxy, trace, { name: 'schedule', spanId: newSpanId(), startMs: trace.startedAt, endMs: Date.now(), target },
    ));
  }
}

// What metrics and traces hear of a pod's way from admission to its bind.
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { observeBound, observeCandidate } from '../../process/placement-metrics.ts';
import { isTracing, newSpanId, recordSpan } from '../../process/tracing.ts';
import { placementSpan } from '../reporting/placement-span.ts';
import type { PodMemory } from './pod-memory.ts';

/** Tells of a candidate that was bound, or refused by its target. Since when one waits that another process has made is not known. */
export function recordCandidate(proxy: ProxyPod, { candidateSince }: PodMemory, outcome: { readonly target: string; readonly error?: string }): void {
  if (candidateSince === undefined) return;
  const { trace } = proxy;
  observeCandidate(outcome.error === undefined ? 'bound' : 'refused', Date.now() - candidateSince);
  if (isTracing() && trace !== undefined) recordSpan(placementSpan(proxy, trace, { name: 'candidate', spanId: newSpanId(), startMs: candidateSince, endMs: Date.now(), ...outcome }));
}

/** Tells of the way from admission to the bind, and of the target that ended it. */
export function recordBound(proxy: ProxyPod, memory: PodMemory, target: string): void {
  observeBound(Date.now() - proxy.createdAt);
  recordCandidate(proxy, memory, { target });
  const { trace } = proxy;
  if (isTracing() && trace !== undefined) recordSpan(placementSpan(proxy, trace, { name: 'schedule', spanId: newSpanId(), startMs: trace.startedAt, endMs: Date.now(), target }));
}

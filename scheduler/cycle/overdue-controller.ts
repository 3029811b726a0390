// Controller that checks each pod without a node after a delay, apart from the scheduling loop: what blocks the loop
// does not block this one.
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { EventThrottle } from '../../kubernetes/controller/event-throttle.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { NO_DELAY, planOverdue, REASON_AFTER_MS } from './overdue-pod.ts';
import { awaiting } from '../reporting/placement-event.ts';

/** What the controller works with. */
export interface OverdueOptions {
  readonly source: ClusterClient;
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly cache: ClusterCache;
  /** Sink of the Event that a pod waits for a target. */
  readonly events: EventSink;
  readonly logger: Logger;
  /** Reconciling starts when this resolves. */
  readonly ready: Promise<unknown>;
}

/** Timeout of a write, in ms. It does not queue behind the writes that delay the pod, or it would come too late. */
const WRITE_MS = 10_000;
/** Reasons that are also sent as an Event: those about a target. */
const REASONS_WITH_EVENT: ReadonlySet<string> = new Set(['AwaitingTarget', 'AwaitingVerdict']);
/** Concurrent status writes. */
export const CONDITIONS_AT_ONCE = 48;

/** Starts the controller. Call before the informer of proxies runs. */
export function startOverdue(
  { source, proxies, cache, events, logger, ready }: OverdueOptions, signal: AbortSignal,
): void {
  /** Pods without a node by UID, and when each was first observed, in ms of a monotonic clock. */
  const seenAt = new Map<string, number>();
  const unlimited = source.withoutRateLimit(WRITE_MS);
  const delays = new EventThrottle(events, signal);
  const reconcile = async (key: string): Promise<ReconcileResult> => {
    const proxy = proxies.get(key);
    const since = proxy && seenAt.get(proxy.uid);
    if (proxy === undefined || since === undefined) return DONE;
    const now = performance.now();
    const delay = now - since < REASON_AFTER_MS ? NO_DELAY : cache.delayOf(proxy, now);
    const step = planOverdue(proxy, now - since, delay, new Date().toISOString());
    switch (step.kind) {
      case 'no-change':
        return DONE;
      case 'later':
        return { kind: 'requeue-after', ms: step.ms };
      case 'write':
        await executePlan(unlimited, step.plan, signal).catch(ignoreStale);
        if (step.rejection !== undefined && REASONS_WITH_EVENT.has(step.rejection.reason)) {
          delays.record(awaiting(proxy, step.rejection));
        }
        return step.thenMs === undefined ? DONE : { kind: 'requeue-after', ms: step.thenMs };
    }
  };
  const controller =
    startController({ name: 'overdue-pods', reconcile, concurrency: CONDITIONS_AT_ONCE, logger, ready }, signal);
  proxies.onChange((key, before, after) => {
    if (before !== undefined && (after === undefined || after.uid !== before.uid || after.nodeName !== undefined)) {
      seenAt.delete(before.uid);
    }
    if (after === undefined || after.nodeName !== undefined || seenAt.has(after.uid)) return;
    seenAt.set(after.uid, performance.now());
    controller.enqueue(key);
  });
}

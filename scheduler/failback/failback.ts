// Whether a pod returns to a target that was lost when the pod was placed (`failback` of a policy). Pods are evicted
// one by one, so that PodDisruptionBudgets hold, after the target has been ready for a while. The scheduler then places
// the replacement; if that goes elsewhere, it stays there.
import { isTerminal } from '../../model/pod/pod.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';

/** A target that has been ready for this long is stable, in ms. */
export const STABLE_MS = 300_000;
/** Minimum time between two evictions for one target, in ms. */
export const PAUSE_MS = 5_000;

/**
 * Whether a pod runs elsewhere because this target was lost, and can be evicted: its controller creates another one.
 */
export function mayFailBack(proxy: ProxyPod, target: { readonly key: string; readonly nodeName: string }): boolean {
  const runs = proxy.nodeName !== undefined && proxy.nodeName !== target.nodeName && !proxy.terminating
    && !isTerminal(proxy.phase);
  return runs && proxy.controllerUid !== undefined && (proxy.lostTargets?.includes(target.key) ?? false);
}

/** The next step for one target. */
export type FailbackStep =
  | { readonly kind: 'no-change' }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'evict'; readonly proxy: ProxyPod };

/** State of a target. Times are in ms of one clock; `readySince` is missing while it is not ready. */
export interface ReturnedTarget {
  readonly readySince: number | undefined;
  readonly evictedAt: number | undefined;
  /** Key of the pod of the last eviction, which may have been rejected. */
  readonly evictedKey?: string | undefined;
  /** Pods that are away from it and should return. */
  readonly away: readonly ProxyPod[];
}

/**
 * Decides the next step. Pods take turns, in the order of their names: one that a disruption budget never lets go must
 * not hold up the others.
 */
export function planFailback(
  { readySince, evictedAt = -Infinity, evictedKey = '', away }: ReturnedTarget, now: number,
): FailbackStep {
  const inOrder = away.toSorted((one, other) => (one.key < other.key ? -1 : 1));
  const next = inOrder.find(({ key }) => key > evictedKey) ?? inOrder[0];
  if (next === undefined || readySince === undefined) return { kind: 'no-change' };
  const ms = Math.max(readySince + STABLE_MS, evictedAt + PAUSE_MS) - now;
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'evict', proxy: next };
}

// What happens to a bound proxy pod whose target is lost and has stopped the delegate by now (ADR 0020): it is deleted
// without the target's confirmation, and its controller creates another one.
import type { Condition } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import { DISRUPTION_TARGET_CONDITION } from '../../model/delegate/trusted-status.ts';
import { regardingPod, type EventRecord } from '../../model/proxy/event-record.ts';
import { deletion, NOTHING, type Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { planUnknownEnd } from '../../model/proxy/unknown-end.ts';
import { holdsFinalizer, planFinalizerRemoval, planReleaseAtOnce, type ProxyPod } from '../../model/proxy/proxy-pod.ts';

const FAILED_OVER = 'FailedOver';

/** Whether a proxy may fail over: its delegate is fenced, and it has not terminated. */
export function mayFailOver(proxy: ProxyPod): proxy is ProxyPod & { readonly failoverGraceSeconds: number } {
  return proxy.nodeName !== undefined && proxy.failoverGraceSeconds !== undefined
    && (proxy.terminating || !isTerminal(proxy.phase));
}

/**
 * Writes a terminal status if another controller waits for one, deletes the proxy and removes its finalizer. For a
 * proxy that was already deleted, only the remaining writes. `now` is RFC 3339.
 */
export function planFailover(proxy: ProxyPod, now: string): Plan {
  const end = planUnknownEnd(proxy, disrupted(now));
  if (!proxy.terminating || proxy.isGracefulDeletion) return [...end, ...planReleaseAtOnce(proxy)];
  // the terminal status makes a new version of the proxy, whose finalizer is removed next
  if (holdsFinalizer(proxy)) return end.length > 0 ? end : planFinalizerRemoval(proxy);
  return proxy.finalizers.length > 0 ? NOTHING : [{ ...deletion(PODS, proxy), gracePeriodSeconds: 0 }];
}

/** As pods of a lost node have: a failure policy of a Job may say that it does not count. */
function disrupted(now: string): Condition {
  const message = 'its target is lost, and has stopped it';
  return { type: DISRUPTION_TARGET_CONDITION, status: 'True', reason: FAILED_OVER, message, lastTransitionTime: now };
}

/** The Event about a pod that has failed over. */
export function failedOver(proxy: ProxyPod, target: string): EventRecord {
  const note =
    `${target} is lost, and has stopped the pod by now; the pod is deleted, so that its controller creates another one`;
  return { regarding: regardingPod(proxy), type: 'Warning', reason: FAILED_OVER, action: 'Failover', note };
}

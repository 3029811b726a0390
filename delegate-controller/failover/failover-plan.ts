// What happens to a bound proxy pod whose target is lost and has stopped the delegate by now (ADR 0020): it is deleted
// without the target's confirmation, and its controller creates another one.
import { PODS } from '../../api/resource-types.ts';
import { regardingPod, type EventRecord } from '../../model/proxy/event-record.ts';
import { deletion, NOTHING, type Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { planUnknownEnd } from '../../model/proxy/unknown-end.ts';
import { holdsFinalizer, planFinalizerRemoval, planReleaseAtOnce, type ProxyPod } from '../../model/proxy/proxy-pod.ts';

/** Whether a proxy may fail over: its delegate is fenced, and it has not terminated. */
export function mayFailOver(proxy: ProxyPod): proxy is ProxyPod & { readonly failoverGraceSeconds: number } {
  return proxy.nodeName !== undefined && proxy.failoverGraceSeconds !== undefined
    && (proxy.terminating || !isTerminal(proxy.phase));
}

/**
 * Writes a terminal status if another controller waits for one, deletes the proxy and removes its finalizer. For a
 * proxy that was already deleted, only the remaining writes.
 */
export function planFailover(proxy: ProxyPod): Plan {
  const end = planUnknownEnd(proxy);
  if (!proxy.terminating || proxy.isGracefulDeletion) return [...end, ...planReleaseAtOnce(proxy)];
  // the terminal status makes a new version of the proxy, whose finalizer is removed next
  if (holdsFinalizer(proxy)) return end.length > 0 ? end : planFinalizerRemoval(proxy);
  return proxy.finalizers.length > 0 ? NOTHING : [{ ...deletion(PODS, proxy), gracePeriodSeconds: 0 }];
}

/** The Event about a pod that has failed over. */
export function failedOver(proxy: ProxyPod, target: string): EventRecord {
  const note =
    `${target} is lost, and has stopped the pod by now; the pod is deleted, so that its controller creates another one`;
  return { regarding: regardingPod(proxy), type: 'Warning', reason: 'FailedOver', action: 'Failover', note };
}

// What becomes of a bound proxy pod whose target is lost and has stopped the delegate by now (ADR 0020): it goes without the target's word,
// and its controller makes another one.
import { PODS } from '../../api/resource-types.ts';
import type { EventRecord } from '../../model/proxy/event-record.ts';
import { regardingPod } from '../../model/proxy/event-record.ts';
import { NOTHING, type Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { holdsFinalizer, planFinalizerRemoval, planReleaseAtOnce, type ProxyPod } from '../../model/proxy/proxy-pod.ts';

/** Whether a proxy may leave its target at all: its delegate is stopped there, and it has not ended. */
export function mayLeave(proxy: ProxyPod): proxy is ProxyPod & { readonly fenceSeconds: number } {
  return proxy.nodeName !== undefined && proxy.fenceSeconds !== undefined && (proxy.terminating || !isTerminal(proxy.phase));
}

/** Deletes the proxy and lets it go. Of one that was deleted before, what is left of that. */
export function planDeparture(proxy: ProxyPod): Plan {
  const { namespace, name, uid } = proxy;
  if (!proxy.terminating || proxy.awaitsKubelet) return planReleaseAtOnce(proxy);
  if (holdsFinalizer(proxy)) return planFinalizerRemoval(proxy);
  return proxy.finalizers.length > 0 ? NOTHING : [{ kind: 'delete', type: PODS, at: { namespace, name }, preconditions: { uid }, propagation: 'Background', gracePeriodSeconds: 0 }];
}

/** What users read of it. */
export function departed(proxy: ProxyPod, target: string): EventRecord {
  const note = `${target} is lost, and has stopped the pod by now; the pod is deleted, so that its controller makes another one`;
  return { regarding: regardingPod(proxy), type: 'Warning', reason: 'FailedOver', action: 'Failover', note };
}

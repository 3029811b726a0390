// Pods on a virtual node that Isthmus did not place there: a user set spec.nodeName, or another scheduler chose the
// node. No kubelet runs or terminates them: after a delete such a pod would stay Terminating indefinitely, and its
// namespace with it.
import type { Pod } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import { deletion, type Plan } from '../../model/objects/plan.ts';
import { isProxyPod, isTerminating } from '../../model/pod/pod.ts';

/**
 * Force-deletes terminating pods, as a kubelet does with a pod that it never started. Finalizers are left to their
 * owners.
 */
export function planMisplacedPodRemoval(pods: readonly Pod[]): Plan {
  return pods.flatMap((pod) => {
    if (isProxyPod(pod) || !isTerminating(pod) || (pod.metadata.deletionGracePeriodSeconds ?? 0) === 0) return [];
    return [{ ...deletion(PODS, pod.metadata), gracePeriodSeconds: 0 }];
  });
}

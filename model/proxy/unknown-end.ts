// The terminal status of a proxy pod whose delegate is gone, or stopped in a lost target, when its end was not
// observed. A controller that waits for it with a finalizer, as the Job controller does, would wait indefinitely.
import type { Condition } from '../../api/objects/core.ts';
import { DELEGATE_FINALIZER } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import type { Plan } from '../objects/plan.ts';
import { isTerminal } from '../pod/pod.ts';
import type { ProxyPod } from './proxy-pod.ts';

/**
 * Sets phase Failed, as Kubernetes' pod garbage collector does for pods of lost nodes, and a condition where one is
 * given. Writes nothing if the pod has terminated, or has no other finalizer. The write has a precondition on this
 * version.
 */
export function planUnknownEnd(
  { namespace, name, resourceVersion, finalizers, phase }: ProxyPod, condition?: Condition,
): Plan {
  const isAwaited = finalizers.some((finalizer) => finalizer !== DELEGATE_FINALIZER);
  if (!isAwaited || isTerminal(phase)) return [];
  const message = 'its delegate is gone from the target, or stopped in a lost one, and nobody observed how it ended';
  const status = { phase: 'Failed', reason: 'EndUnknown', message, ...(condition && { conditions: [condition] }) };
  const patch = { metadata: { resourceVersion }, status };
  return [{ kind: 'patch', type: PODS, at: { namespace, name, subresource: 'status' }, patchType: 'strategic', patch }];
}

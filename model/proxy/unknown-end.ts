// The end of a proxy pod whose delegate is gone, or stopped in a lost target, and whose end nobody observed. A
// controller that waits for the end with a finalizer, as the Job controller does, would wait indefinitely.
import { DELEGATE_FINALIZER } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import type { Plan } from '../objects/plan.ts';
import { isTerminal } from '../pod/pod.ts';
import type { ProxyPod } from './proxy-pod.ts';

/**
 * Writes that it failed, as Kubernetes' pod garbage collector does for pods of lost nodes; nothing where it has ended,
 * or where nobody else holds it. Of the proxy only this version is written.
 */
export function planUnknownEnd({ namespace, name, resourceVersion, finalizers, phase }: ProxyPod): Plan {
  const isAwaited = finalizers.some((finalizer) => finalizer !== DELEGATE_FINALIZER);
  if (!isAwaited || isTerminal(phase)) return [];
  const message = 'its delegate is gone from the target, or stopped in a lost one, and nobody observed how it ended';
  const patch = { metadata: { resourceVersion }, status: { phase: 'Failed', reason: 'EndUnknown', message } };
  return [{ kind: 'patch', type: PODS, at: { namespace, name, subresource: 'status' }, patchType: 'merge', patch }];
}

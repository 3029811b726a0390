// Step 6 of a pod's way, in the source: what a bound proxy pod needs now. From the bind on, its finalizer is ours.
// A proxy is deleted, or let go, only after a live read has confirmed what the cache says.
import type { PodStatus } from '../api/core.ts';
import { GRACE_PERIOD_ANNOTATION } from '../api/keys.ts';
import { POD_CHAPERONS, PODS } from '../api/resource-types.ts';
import type { Chaperon, DelegatePod } from '../model/delegate-pod.ts';
import { isHeldAfterStop, isLost, planLettingGo, planWithdrawal } from '../model/delegation.ts';
import type { Plan } from '../model/plan.ts';
import { isTerminal } from '../model/pod.ts';
import { digestOf, mirroredStatus, statusOfContainers, toStatusPatch, withSourceConditions } from '../model/pod-status.ts';
import { holdsFinalizer, planFinalizerRemoval, planReleaseAtOnce, type ProxyPod } from '../model/proxy-pod.ts';

/** What the cache of the target that the proxy is bound to holds. */
export type BoundTarget =
  /** The (Cluster)Target was removed from the source. */
  | { readonly kind: 'removed' }
  /** It cannot be reached, or has not been listed yet: nothing may be concluded. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'known'; readonly chaperon: Chaperon | undefined; readonly delegate: DelegatePod | undefined };

/** The next step for a bound proxy pod. */
export type FeedbackStep =
  | { readonly kind: 'settled' }
  /** Write in the source. */
  | { readonly kind: 'write'; readonly plan: Plan }
  /** Write this status in the source, and remember what its API server makes of it. */
  | { readonly kind: 'mirror'; readonly plan: Plan; readonly digest: string }
  /** Write in the target. */
  | { readonly kind: 'withdraw'; readonly plan: Plan }
  /** Write in the source, once a live read has confirmed that the target has no chaperon of the pod. */
  | { readonly kind: 'confirm-gone'; readonly plan: Plan }
  /** Write in the source, once a live read has confirmed that the chaperon is gone, going, or has lost its delegate. */
  | { readonly kind: 'confirm-lost'; readonly plan: Plan };

/** A status that was written: an API server that is older than the target's drops fields that it does not know. Digests. */
export interface Mirrored {
  readonly sent: string;
  readonly kept: string;
}

/** Decides the next step. `mirrored` is the last status written to this proxy by this process. */
export function planFeedback(proxy: ProxyPod, target: BoundTarget, mirrored?: Mirrored): FeedbackStep {
  if (proxy.terminating) return planTermination(proxy, target);
  if (target.kind !== 'known') return { kind: 'settled' };
  const { chaperon, delegate } = target;
  if (isTerminal(proxy.phase)) return { kind: 'settled' }; // ended is final: nothing that happens to the delegate changes it
  if (delegate !== undefined && isTerminal(delegate.status.phase)) return planMirror(proxy, delegate.status, mirrored);
  // It ended and was cleaned up before anybody here has looked; its chaperon remembers.
  if (delegate === undefined && chaperon?.ended !== undefined) return planMirror(proxy, chaperon.ended, mirrored);
  // Somebody took the delegate away: the proxy goes too, and its controller makes another one.
  if (isLost(chaperon)) return { kind: 'confirm-lost', plan: planProxyDeletion(proxy) };
  return delegate === undefined ? { kind: 'settled' } : planMirror(proxy, delegate.status, mirrored);
}

function planTermination(proxy: ProxyPod, target: BoundTarget): FeedbackStep {
  if (!holdsFinalizer(proxy)) return { kind: 'settled' };
  if (target.kind === 'removed') return { kind: 'write', plan: planRelease(proxy) };
  if (target.kind === 'unknown') return { kind: 'settled' };
  const { chaperon, delegate } = target;
  if (chaperon !== undefined) return planBoundWithdrawal(proxy, chaperon);
  return delegate === undefined ? { kind: 'confirm-gone', plan: planRelease(proxy) } : { kind: 'settled' };
}

/** The time to stop that was asked for goes ahead of the delete; a shorter one may follow it (`kubectl delete --now`). */
function planBoundWithdrawal({ graceSeconds }: ProxyPod, chaperon: Chaperon): FeedbackStep {
  if (chaperon.mode === 'Pod') return planPodWithdrawal(chaperon, graceSeconds);
  const grace = graceSeconds !== undefined && graceSeconds !== chaperon.graceSeconds ? [planGrace(chaperon, graceSeconds)] : [];
  const plan = [...grace, ...(chaperon.terminating ? [] : planWithdrawal(chaperon))];
  return plan.length === 0 ? { kind: 'settled' } : { kind: 'withdraw', plan };
}

function planPodWithdrawal(pod: Chaperon, graceSeconds: number | undefined): FeedbackStep {
  const isFaster = graceSeconds !== undefined && graceSeconds < (pod.graceSeconds ?? Infinity);
  return pod.terminating && !isFaster ? { kind: 'settled' } : { kind: 'withdraw', plan: planWithdrawal(pod, graceSeconds) };
}

/**
 * Lets a pod go that the source made, that must not run again and that has stopped: once its proxy shows how it ended, or nobody wants to
 * know. `proxy` is the pod of its name now, if there is one.
 */
export function planRelinquishment(pod: Chaperon, proxy: ProxyPod | undefined): Plan {
  if (!isHeldAfterStop(pod)) return [];
  if (proxy?.uid !== pod.parentUid || proxy.terminating || isTerminal(proxy.phase)) return planLettingGo(pod);
  return proxy.nodeName === undefined && pod.ended === undefined ? planLettingGo(pod) : [];
}

function planGrace({ namespace, name, uid }: Chaperon, seconds: number): Plan[number] {
  const patch = { metadata: { uid, annotations: { [GRACE_PERIOD_ANNOTATION]: String(seconds) } } };
  return { kind: 'patch', type: POD_CHAPERONS, at: { namespace, name }, patchType: 'merge', patch };
}

function planRelease(proxy: ProxyPod): Plan {
  return proxy.awaitsKubelet ? planReleaseAtOnce(proxy) : planFinalizerRemoval(proxy);
}

function planProxyDeletion({ namespace, name, uid }: ProxyPod): Plan {
  return [{ kind: 'delete', type: PODS, at: { namespace, name }, preconditions: { uid }, propagation: 'Background' }];
}

function planMirror(proxy: ProxyPod, said: PodStatus, mirrored: Mirrored | undefined): FeedbackStep {
  const { uid, containers = [], ownConditions = [] } = proxy;
  const status = withSourceConditions(statusOfContainers(mirroredStatus(said), containers), ownConditions);
  // The bind has said PodScheduled already; before containers exist there is nothing to add.
  const saysNothingNew = status.phase === 'Pending' && status.containerStatuses === undefined && status.initContainerStatuses === undefined;
  const digest = digestOf(status);
  if (saysNothingNew || digest === proxy.statusDigest) return { kind: 'settled' };
  if (digest === mirrored?.sent && proxy.statusDigest === mirrored.kept) return { kind: 'settled' };
  const { namespace, name } = proxy;
  const patch = { metadata: { uid }, status: toStatusPatch(status) };
  return { kind: 'mirror', digest, plan: [{ kind: 'patch', type: PODS, at: { namespace, name, subresource: 'status' }, patchType: 'merge', patch }] };
}

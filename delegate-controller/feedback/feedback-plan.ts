// Decides in the source what a bound proxy pod needs now. From the binding on, the feedback controller owns its
// finalizer. A proxy is deleted or released only after an uncached read has confirmed what the cache says.
import type { Condition, PodStatus } from '../../api/objects/core.ts';
import {
  CONFIRM_BEFORE_ANNOTATION, EXPIRED_AT_ANNOTATION, GRACE_PERIOD_ANNOTATION,
  POD_MISSING_SINCE_ANNOTATION, TARGET_UNREACHABLE_CONDITION,
} from '../../api/objects/keys.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import type { Chaperon, DelegatePod } from '../../model/delegate/cached-delegate.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { stateOf, type SentChanges, type LiveChanges } from '../../model/pod/live-changes.ts';
import {
  isDelegateGone, isStoppedWithFinalizer, planChaperonDeletion, planRunOnceFinalizerRemoval,
} from '../../model/delegate/delegation.ts';
import { deletion, type Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { holdsFinalizer, planFinalizerRemoval, planReleaseAtOnce, type ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { planUnknownEnd } from '../../model/proxy/unknown-end.ts';
import {
  isSourceGate, planStatus, shownPhase, type WrittenStatus, type StatusContext, type StatusWrite,
} from './status-plan.ts';

/** What the cache of the proxy's target contains. */
export type BoundTarget =
  /** The (Cluster)Target was removed from the source; `outage` is set once all targets are synced. */
  | { readonly kind: 'removed'; readonly outage?: ReportedOutage | undefined }
  /**
   * The target exists, but what it has of the pod is not known: it is unreachable or not listed yet, so nothing may be
   * concluded. `outage` is set once that has lasted.
   */
  | { readonly kind: 'unknown'; readonly outage?: ReportedOutage | undefined }
  | KnownTarget;

/** It is connected, and this is what it has of the pod. */
interface KnownTarget {
  readonly kind: 'known';
  readonly chaperon: Chaperon | undefined;
  readonly delegate: DelegatePod | undefined;
  /** Of a terminating proxy: the last status of its delegate, which is gone. */
  readonly last?: PodStatus | undefined;
}

/** Why a target is unavailable, and since when (RFC 3339). */
export interface ReportedOutage {
  readonly reason: string;
  readonly message: string;
  readonly since: string;
}

/** The next step for a bound proxy pod. */
export type FeedbackStep =
  | { readonly kind: 'no-change' }
  /** Write in the source. */
  | { readonly kind: 'write'; readonly plan: Plan }
  /** Write the status first, and store what the source's API server made of it; then the rest. */
  | { readonly kind: 'copy-status' } & StatusWrite
  /** Report in the source that the pod's status is no longer updated. */
  | { readonly kind: 'report-outage'; readonly plan: Plan; readonly outage: ReportedOutage }
  /** Send changes of the running pod to the target; `rest` is the next step where the target does not allow them. */
  | {
    readonly kind: 'apply-changes'; readonly chaperon: Chaperon; readonly wanted: SentChanges;
    readonly rest: FeedbackStep
  }
  /** Write in the target. */
  | { readonly kind: 'delete-chaperon'; readonly plan: Plan }
  /** Write in the source after an uncached read has confirmed that the target has no chaperon of the pod. */
  | { readonly kind: 'confirm-gone'; readonly plan: Plan }
  /** Write in the source after uncached reads have confirmed that the delegate is gone, or goes. */
  | { readonly kind: 'confirm-delegate-gone'; readonly plan: Plan };

/** Decides the next step. `lastWrite` is the last status that this process wrote to this proxy. */
export function planFeedback(proxy: ProxyPod, target: BoundTarget, lastWrite?: WrittenStatus): FeedbackStep {
  // The delegate of a proxy that Admiralty created is not in our caches: conclude nothing.
  return proxy.isOwnedByAdmiralty === true ? { kind: 'no-change' } : planOwn(proxy, target, lastWrite);
}

function planOwn(proxy: ProxyPod, target: BoundTarget, lastWrite: WrittenStatus | undefined): FeedbackStep {
  if (proxy.terminating) return planTermination(proxy, target, lastWrite);
  if (target.kind !== 'known') return planTargetUnreachable(proxy, target);
  const { chaperon, delegate } = target;
  if (isTerminal(proxy.phase)) return planEndDetails(proxy, target, lastWrite);
  const end = planEnd(proxy, target, lastWrite);
  if (end !== undefined) return end;
  // Somebody deletes the delegate: delete the proxy too, and its controller creates another one.
  if (isDelegateGone(chaperon, delegate)) return planDelegateGone(proxy, chaperon);
  if (delegate === undefined) return { kind: 'no-change' };
  const shown = planStatusCopy(proxy, delegate.status, { lastWrite, chaperon, delegate });
  const changes = planPodChanges(proxy, chaperon, delegate);
  return changes === undefined ? shown : { kind: 'apply-changes', ...changes, rest: shown };
}

/**
 * A terminal phase is final, whatever happens to the delegate. What kubelet adds to that end later is shown: it clears
 * `PodReadyToStartContainers` once the sandbox is gone, and Kubernetes' own pods show that.
 */
function planEndDetails(
  proxy: ProxyPod, { chaperon, delegate }: KnownTarget, lastWrite: WrittenStatus | undefined,
): FeedbackStep {
  if (delegate === undefined || delegate.status.phase !== proxy.phase) return { kind: 'no-change' };
  return planStatusCopy(proxy, delegate.status, { lastWrite, chaperon, delegate });
}

/** Shows how the delegate ended; undefined while it has not. */
function planEnd(
  proxy: ProxyPod, { chaperon, delegate }: KnownTarget, lastWrite: WrittenStatus | undefined,
): FeedbackStep | undefined {
  // It terminated and was deleted before this process observed it; its chaperon has the status.
  if (delegate === undefined) return chaperon?.ended && planStatusCopy(proxy, chaperon.ended, { lastWrite, chaperon });
  if (!isTerminal(delegate.status.phase)) return undefined;
  const end = planStatusCopy(proxy, delegate.status, { lastWrite, chaperon, delegate });
  // Somebody deleted the delegate, a drain say: the proxy goes too, as a pod of a drained node of the source would.
  const isDeleted = delegate.terminating && chaperon?.expired === undefined;
  return end.kind === 'copy-status' && isDeleted ? { ...end, plan: [...end.plan, deletion(PODS, proxy)] } : end;
}

function planDelegateGone(proxy: ProxyPod, chaperon: Chaperon | undefined): FeedbackStep {
  if (chaperon?.expired?.mayRunAgain === true) return { kind: 'delete-chaperon', plan: planRecreation(chaperon) };
  return { kind: 'confirm-delegate-gone', plan: [deletion(PODS, proxy)] };
}

/**
 * It was bound in time, but the target did not get the confirmation: the target recreates the delegate. The patch has
 * the observed resourceVersion, so it conflicts if the target has changed the annotations since.
 */
function planRecreation({ namespace, name, resourceVersion }: Chaperon): Plan {
  const annotations =
    { [CONFIRM_BEFORE_ANNOTATION]: null, [EXPIRED_AT_ANNOTATION]: null, [POD_MISSING_SINCE_ANNOTATION]: null };
  return [{
    kind: 'patch', type: POD_CHAPERONS, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { resourceVersion, annotations } },
  }];
}

/** Keeps the last status and marks it as possibly stale; the target's status replaces it when the target is back. */
function planTargetUnreachable(
  { namespace, name, uid, phase, ownConditions }: ProxyPod, target: Exclude<BoundTarget, { readonly kind: 'known' }>,
): FeedbackStep {
  const condition = findCondition(ownConditions, TARGET_UNREACHABLE_CONDITION);
  if (target.outage === undefined || isTerminal(phase) || condition?.reason === target.outage.reason || (
    condition !== undefined && target.kind === 'unknown'
  )) return { kind: 'no-change' };
  const { reason, message, since } = target.outage;
  const unreachable: Condition =
    { type: TARGET_UNREACHABLE_CONDITION, status: 'True', reason, message, lastTransitionTime: since };
  const unready = (type: string): Condition => ({ type, status: 'False', reason, message, lastTransitionTime: since });
  // No kubelet reports any more whether the containers run: the pod must not count as ready.
  const conditions =
    target.kind === 'removed' ? [unreachable, unready('Ready'), unready('ContainersReady')] : [unreachable];
  const patch = { metadata: { uid }, status: { conditions } };
  const plan: Plan =
    [{ kind: 'patch', type: PODS, at: { namespace, name, subresource: 'status' }, patchType: 'strategic', patch }];
  return { kind: 'report-outage', outage: target.outage, plan };
}

/** Changes by the user of the running pod that the target does not have yet; undefined when there are none. */
function planPodChanges(
  proxy: ProxyPod, chaperon: Chaperon | undefined, delegate: DelegatePod,
): { readonly chaperon: Chaperon; readonly wanted: SentChanges } | undefined {
  const { changes, readinessConditions: gates } = proxy;
  if (
    chaperon === undefined || chaperon.terminating
      || (changes === undefined && gates === undefined && chaperon.sentChanges === undefined)
  ) return undefined;
  const ofTarget = targetConditions(proxy, delegate);
  const own =
    Object.entries(gates ?? {}).filter(([type]) => isSourceGate(type, chaperon) || !ofTarget.includes(type));
  const wanted: LiveChanges = { ...changes, ...(own.length > 0 && { gates: Object.fromEntries(own) }) };
  const state = stateOf(wanted);
  return state === (chaperon.sentChanges?.of ?? '')
    ? undefined
    : { chaperon, wanted: { of: state, changes: wanted } };
}

/** Types of the conditions that the target has set, on this delegate or on the one before it. */
function targetConditions(
  { copiedConditions = [] }: ProxyPod, { status: { conditions = [] } }: DelegatePod,
): readonly string[] {
  return [...copiedConditions, ...conditions.map(({ type }) => type)];
}

function planTermination(proxy: ProxyPod, target: BoundTarget, lastWrite: WrittenStatus | undefined): FeedbackStep {
  // A pod without our finalizer was created by hand; no kubelet terminates it, so it is handled like the others.
  if (!holdsFinalizer(proxy) && !proxy.isGracefulDeletion) return { kind: 'no-change' };
  if (target.kind === 'removed') return { kind: 'write', plan: planRelease(proxy) };
  if (target.kind === 'unknown') return { kind: 'no-change' };
  const deletion = target.chaperon && planBoundDeletion(proxy, target.chaperon);
  if (deletion !== undefined && deletion.kind !== 'no-change') return deletion;
  const shown = planTerminatingStatus(proxy, target, lastWrite);
  const isGone = target.chaperon === undefined && target.delegate === undefined;
  return shown.kind !== 'no-change' || !isGone ? shown : planGone(proxy, lastWrite);
}

function planGone(proxy: ProxyPod, lastWrite: WrittenStatus | undefined): FeedbackStep {
  const end = isTerminal(shownPhase(proxy, lastWrite)) ? [] : planUnknownEnd(proxy);
  return { kind: 'confirm-gone', plan: end.length > 0 ? end : planRelease(proxy) };
}

/**
 * A terminating proxy shows its delegate's status to the end, as a kubelet does: the Job controller and others wait for
 * the terminal phase behind finalizers of their own.
 */
function planTerminatingStatus(
  proxy: ProxyPod, { chaperon, delegate, last }: KnownTarget, lastWrite: WrittenStatus | undefined,
): FeedbackStep {
  const reported = delegate?.status ?? chaperon?.ended ?? last;
  if (reported === undefined || isTerminal(shownPhase(proxy, lastWrite))) return { kind: 'no-change' };
  return planStatusCopy(proxy, reported, { lastWrite, chaperon, delegate });
}

/** The requested grace period is written before the delete; a shorter one may follow (`kubectl delete --now`). */
function planBoundDeletion({ graceSeconds }: ProxyPod, chaperon: Chaperon): FeedbackStep {
  if (chaperon.mode === 'Pod') return planDelegatePodDeletion(chaperon, graceSeconds);
  const isOther = graceSeconds !== undefined && graceSeconds !== chaperon.graceSeconds;
  const grace = isOther ? [planGrace(chaperon, graceSeconds)] : [];
  const plan = [...grace, ...(chaperon.terminating ? [] : planChaperonDeletion(chaperon))];
  return plan.length === 0 ? { kind: 'no-change' } : { kind: 'delete-chaperon', plan };
}

function planDelegatePodDeletion(pod: Chaperon, graceSeconds: number | undefined): FeedbackStep {
  const isFaster = graceSeconds !== undefined && graceSeconds < (pod.graceSeconds ?? Infinity);
  if (pod.terminating && !isFaster) return { kind: 'no-change' };
  return { kind: 'delete-chaperon', plan: planChaperonDeletion(pod, graceSeconds) };
}

/**
 * Releases a delegate that the source created, that must not run again and that has stopped: after its
 * proxy shows the terminal status, or when no proxy needs it. `proxy` is the current pod of its name, if any.
 */
export function planStoppedDelegateRelease(pod: Chaperon, proxy: ProxyPod | undefined): Plan {
  if (!isStoppedWithFinalizer(pod)) return [];
  if (proxy?.uid !== pod.parentUid || isTerminal(proxy.phase)) return planRunOnceFinalizerRemoval(pod);
  const isShown = proxy.nodeName !== undefined && (!proxy.terminating || holdsFinalizer(proxy));
  if (proxy.terminating) return isShown && pod.ended !== undefined ? [] : planRunOnceFinalizerRemoval(pod);
  return isShown || pod.ended !== undefined ? [] : planRunOnceFinalizerRemoval(pod);
}

function planGrace({ namespace, name, uid }: Chaperon, seconds: number): Plan[number] {
  const patch = { metadata: { uid, annotations: { [GRACE_PERIOD_ANNOTATION]: String(seconds) } } };
  return { kind: 'patch', type: POD_CHAPERONS, at: { namespace, name }, patchType: 'merge', patch };
}

function planRelease(proxy: ProxyPod): Plan {
  return proxy.isGracefulDeletion ? planReleaseAtOnce(proxy) : planFinalizerRemoval(proxy);
}

function planStatusCopy(proxy: ProxyPod, reported: PodStatus, context: StatusContext): FeedbackStep {
  const write = planStatus(proxy, reported, context);
  return write === undefined ? { kind: 'no-change' } : { kind: 'copy-status', ...write };
}

// Step 6 of a pod's way, in the source: what a bound proxy pod needs now. From the bind on, its finalizer is ours.
// A proxy is deleted, or let go, only after a live read has confirmed what the cache says.
import type { Condition, PodPhase, PodStatus, StringMap } from '../../api/objects/core.ts';
import { CONFIRM_BEFORE_ANNOTATION, EXPIRED_AT_ANNOTATION, GRACE_PERIOD_ANNOTATION, POD_MISSING_SINCE_ANNOTATION, TARGET_UNREACHABLE_CONDITION } from '../../api/objects/keys.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import type { Chaperon, DelegatePod } from '../../model/delegate/remembered-delegate.ts';
import { withBelievedConditions } from '../../model/delegate/trusted-status.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { toAnnotationPatch } from '../../model/proxy/foreign-annotations.ts';
import { stateOf, type CarriedChanges, type LiveChanges } from '../../model/pod/live-changes.ts';
import { isHeldAfterStop, isLost, planLettingGo, planChaperonDeletion } from '../../model/delegate/delegation.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { digestOf, mirroredStatus, statusOfContainers, toStatusPatch, withSourceConditions } from '../../model/pod/pod-status.ts';
import { isLater } from '../../model/objects/resource-version.ts';
import { holdsFinalizer, planFinalizerRemoval, planReleaseAtOnce, type ProxyPod } from '../../model/proxy/proxy-pod.ts';

/** What the cache of the target that the proxy is bound to holds. */
export type BoundTarget =
  /** The (Cluster)Target was removed from the source; `lost` says so once all targets are known. */
  | { readonly kind: 'removed'; readonly lost?: LostTarget | undefined }
  /** It cannot be reached, or has not been listed yet: nothing may be concluded. `lost` is told once that has lasted. */
  | { readonly kind: 'unknown'; readonly lost?: LostTarget | undefined }
  | { readonly kind: 'known'; readonly chaperon: Chaperon | undefined; readonly delegate: DelegatePod | undefined };

/** A target that has not been heard for a while: why, and since when (RFC 3339). */
export interface LostTarget {
  readonly reason: string;
  readonly message: string;
  readonly since: string;
}

/** The next step for a bound proxy pod. */
export type FeedbackStep =
  | { readonly kind: 'no-change' }
  /** Write in the source. */
  | { readonly kind: 'write'; readonly plan: Plan }
  /** Write this status in the source, and remember what its API server makes of it. */
  | { readonly kind: 'mirror'; readonly plan: Plan; readonly digest: string }
  /** Write in the source that nothing more is heard of the pod, and tell its user. */
  | { readonly kind: 'tell-lost'; readonly plan: Plan; readonly lost: LostTarget }
  /** Bring changes of the running pod into the target. */
  | { readonly kind: 'apply-changes'; readonly chaperon: Chaperon; readonly wanted: CarriedChanges }
  /** Write in the target. */
  | { readonly kind: 'delete-chaperon'; readonly plan: Plan }
  /** Write in the source, once a live read has confirmed that the target has no chaperon of the pod. */
  | { readonly kind: 'confirm-gone'; readonly plan: Plan }
  /** Write in the source, once a live read has confirmed that the chaperon is gone, going, or has lost its delegate. */
  | { readonly kind: 'confirm-lost'; readonly plan: Plan };

/** A status that was written. */
export interface Mirrored {
  /** Its digest. */
  readonly sent: string;
  /** Digest of what its API server made of it: one that is older than the target's drops fields that it does not know. */
  readonly kept: string;
  /** Version of the proxy that the write made: until the cache has it, the cache says nothing about this write. */
  readonly version: string;
  /** What it shows. */
  readonly phase: PodPhase | undefined;
}

/** The phase that users see: that of the last status that was written, which the cache may not have yet. */
export function shownPhase({ phase }: ProxyPod, mirrored: Mirrored | undefined): PodPhase {
  return mirrored?.phase ?? phase;
}

/** Decides the next step. `mirrored` is the last status written to this proxy by this process. */
export function planFeedback(proxy: ProxyPod, target: BoundTarget, mirrored?: Mirrored): FeedbackStep {
  // What runs for a proxy of Admiralty's is not among what we know: nothing may be concluded.
  return proxy.isAdmiraltys === true ? { kind: 'no-change' } : planOwn(proxy, target, mirrored);
}

function planOwn(proxy: ProxyPod, target: BoundTarget, mirrored: Mirrored | undefined): FeedbackStep {
  if (proxy.terminating) return planTermination(proxy, target);
  if (target.kind !== 'known') return planTargetLost(proxy, target);
  const { chaperon, delegate } = target;
  if (isTerminal(proxy.phase)) return { kind: 'no-change' }; // ended is final: nothing that happens to the delegate changes it
  if (delegate !== undefined && isTerminal(delegate.status.phase)) return planMirror(proxy, delegate.status, { mirrored, chaperon, annotations: delegate.annotations });
  // It ended and was cleaned up before anybody here has looked; its chaperon remembers.
  if (delegate === undefined && chaperon?.ended !== undefined) return planMirror(proxy, chaperon.ended, { mirrored, chaperon });
  // Somebody took the delegate away: the proxy goes too, and its controller makes another one.
  if (isLost(chaperon)) return planLost(proxy, chaperon);
  if (delegate === undefined) return { kind: 'no-change' };
  return planPodChanges(proxy, chaperon, delegate) ?? planMirror(proxy, delegate.status, { mirrored, chaperon, annotations: delegate.annotations });
}

function planLost(proxy: ProxyPod, chaperon: Chaperon | undefined): FeedbackStep {
  if (chaperon?.expired?.mayRunAgain === true) return { kind: 'delete-chaperon', plan: planRevival(chaperon) };
  return { kind: 'confirm-lost', plan: planProxyDeletion(proxy) };
}

/** It was bound in time, and the target has not heard of that: it makes the delegate anew. */
function planRevival({ namespace, name, resourceVersion }: Chaperon): Plan {
  const annotations = { [CONFIRM_BEFORE_ANNOTATION]: null, [EXPIRED_AT_ANNOTATION]: null, [POD_MISSING_SINCE_ANNOTATION]: null };
  return [{ kind: 'patch', type: POD_CHAPERONS, at: { namespace, name }, patchType: 'merge', patch: { metadata: { resourceVersion, annotations } } }];
}

/** The last status stays, and says that it may be old (design D14); what the target says when it is back takes its place. */
function planTargetLost({ namespace, name, uid, phase, ownConditions }: ProxyPod, target: Exclude<BoundTarget, { readonly kind: 'known' }>): FeedbackStep {
  const told = findCondition(ownConditions, TARGET_UNREACHABLE_CONDITION);
  if (target.lost === undefined || isTerminal(phase) || told?.reason === target.lost.reason || (told !== undefined && target.kind === 'unknown')) return { kind: 'no-change' };
  const { reason, message, since } = target.lost;
  const unreachable: Condition = { type: TARGET_UNREACHABLE_CONDITION, status: 'True', reason, message, lastTransitionTime: since };
  const unready = (type: string): Condition => ({ type, status: 'False', reason, message, lastTransitionTime: since });
  // Nobody will say any more whether the containers run: it must not count as ready.
  const conditions = target.kind === 'removed' ? [unreachable, unready('Ready'), unready('ContainersReady')] : [unreachable];
  const patch = { metadata: { uid }, status: { conditions } };
  const plan: Plan = [{ kind: 'patch', type: PODS, at: { namespace, name, subresource: 'status' }, patchType: 'strategic', patch }];
  return { kind: 'tell-lost', lost: target.lost, plan };
}

/** What the user has changed of the running pod goes to the target; undefined when it is there already. */
function planPodChanges({ changes, gates }: ProxyPod, chaperon: Chaperon | undefined, delegate: DelegatePod): FeedbackStep | undefined {
  if (chaperon === undefined || chaperon.terminating || (changes === undefined && gates === undefined && chaperon.carried === undefined)) return undefined;
  const own = Object.entries(gates ?? {}).filter(([type]) => isSourceGate(type, chaperon) || findCondition(delegate.status.conditions, type) === undefined);
  const wanted: LiveChanges = { ...changes, ...(own.length > 0 && { gates: Object.fromEntries(own) }) };
  const of = stateOf(wanted);
  return of === (chaperon.carried?.of ?? '') ? undefined : { kind: 'apply-changes', chaperon, wanted: { of, changes: wanted } };
}

/** Whether it is the source that decides on a condition: it did so first. */
function isSourceGate(type: string, chaperon: Chaperon | undefined): boolean {
  return Object.hasOwn(chaperon?.carried?.changes.gates ?? {}, type);
}

function planTermination(proxy: ProxyPod, target: BoundTarget): FeedbackStep {
  // One without our finalizer was made by hand; no kubelet ends it, so it is seen off like any other.
  if (!holdsFinalizer(proxy) && !proxy.awaitsKubelet) return { kind: 'no-change' };
  if (target.kind === 'removed') return { kind: 'write', plan: planRelease(proxy) };
  if (target.kind === 'unknown') return { kind: 'no-change' };
  const { chaperon, delegate } = target;
  if (chaperon !== undefined) return planBoundDeletion(proxy, chaperon);
  return delegate === undefined ? { kind: 'confirm-gone', plan: planRelease(proxy) } : { kind: 'no-change' };
}

/** The time to stop that was asked for goes ahead of the delete; a shorter one may follow it (`kubectl delete --now`). */
function planBoundDeletion({ graceSeconds }: ProxyPod, chaperon: Chaperon): FeedbackStep {
  if (chaperon.mode === 'Pod') return planDelegatePodDeletion(chaperon, graceSeconds);
  const grace = graceSeconds !== undefined && graceSeconds !== chaperon.graceSeconds ? [planGrace(chaperon, graceSeconds)] : [];
  const plan = [...grace, ...(chaperon.terminating ? [] : planChaperonDeletion(chaperon))];
  return plan.length === 0 ? { kind: 'no-change' } : { kind: 'delete-chaperon', plan };
}

function planDelegatePodDeletion(pod: Chaperon, graceSeconds: number | undefined): FeedbackStep {
  const isFaster = graceSeconds !== undefined && graceSeconds < (pod.graceSeconds ?? Infinity);
  return pod.terminating && !isFaster ? { kind: 'no-change' } : { kind: 'delete-chaperon', plan: planChaperonDeletion(pod, graceSeconds) };
}

/**
 * Lets a pod go that the source made, that must not run again and that has stopped: once its proxy shows how it ended, or nobody wants to
 * know. `proxy` is the pod of its name now, if there is one.
 */
export function planRunOnceRelease(pod: Chaperon, proxy: ProxyPod | undefined): Plan {
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

interface MirrorContext {
  readonly mirrored: Mirrored | undefined;
  readonly chaperon: Chaperon | undefined;
  /** Of the delegate, while it is there. */
  readonly annotations?: StringMap;
}

function planMirror(proxy: ProxyPod, said: PodStatus, { mirrored, chaperon, annotations }: MirrorContext): FeedbackStep {
  const { namespace, name, resourceVersion, containers = [], ownConditions = [] } = proxy;
  const kept = ownConditions.filter(({ type }) => type !== TARGET_UNREACHABLE_CONDITION);
  const status = withSourceConditions(statusOfContainers(mirroredStatus(withBelievedConditions(withoutSourceGates(said, chaperon), proxy.gateTypes)), containers), kept);
  if (saysNothingYet(status) && kept.length === ownConditions.length) return { kind: 'no-change' };
  const digest = digestOf(status);
  if (isAwaited(proxy, digest, mirrored)) return { kind: 'no-change' };
  const merged = annotations && toAnnotationPatch(proxy.annotations ?? {}, proxy.takenAnnotations, annotations);
  if (merged === undefined && isShown(proxy, digest, mirrored)) return { kind: 'no-change' };
  // Conditions are written as a list, and an annotation over what was not there: what the source has set meanwhile must not be lost.
  // And a write that comes late must not take back an end.
  const patch = { metadata: { resourceVersion, ...(merged && { annotations: merged }) }, status: toStatusPatch(status) };
  return { kind: 'mirror', digest, plan: [{ kind: 'patch', type: PODS, at: { namespace, name, subresource: 'status' }, patchType: 'merge', patch }] };
}

/** The bind has said PodScheduled already; before containers exist there is nothing to add. */
function saysNothingYet({ phase, containerStatuses, initContainerStatuses }: PodStatus): boolean {
  return phase === 'Pending' && containerStatuses === undefined && initContainerStatuses === undefined;
}

/** Whether the cache is still to bring the version that this very status has made. It comes, and the pod is looked at again. */
function isAwaited({ resourceVersion }: ProxyPod, digest: string, mirrored: Mirrored | undefined): boolean {
  return digest === mirrored?.sent && isLater(mirrored.version, resourceVersion);
}

function isShown({ statusDigest }: ProxyPod, digest: string, mirrored: Mirrored | undefined): boolean {
  return digest === statusDigest || (digest === mirrored?.sent && statusDigest === mirrored.kept);
}

/** Of conditions that the source decides on, the delegate only has a copy. */
function withoutSourceGates(said: PodStatus, chaperon: Chaperon | undefined): PodStatus {
  if (chaperon?.carried?.changes.gates === undefined) return said;
  return { ...said, conditions: (said.conditions ?? []).filter(({ type }) => !isSourceGate(type, chaperon)) };
}

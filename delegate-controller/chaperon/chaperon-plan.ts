// Decides in the target what a PodChaperon needs now. The delegate is created once, and not again after it has
// terminated.
import {
  SENT_CHANGES_ANNOTATION, CHAPERON_FINALIZER, EXPIRED_AT_ANNOTATION, FENCED_AT_ANNOTATION, GRACE_PERIOD_ANNOTATION,
  POD_MISSING_SINCE_ANNOTATION, RUN_ONCE_FINALIZER, SOURCE_WATCHES_PODS_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { Condition, Pod } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { UNCONFIRMED_GRACE_SECONDS } from '../../model/delegate/confirmation.ts';
import { planRunOnceFinalizerRemoval } from '../../model/delegate/delegation.ts';
import { DELEGATE_REJECTED } from '../../model/delegate/cached-delegate.ts';
import { failoverGraceSecondsOf } from '../../model/pod/source-lease.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { digestOf, copiedStatus, toStatusPatch } from '../../model/pod/pod-status.ts';
import { candidateStep } from './admiralty-protocol.ts';
import { deletionOf, patchMetadata, patchStatus, versionOf } from './chaperon-writes.ts';
import { toDelegatePod } from './make-delegate-pod.ts';
import type { TargetPod } from '../target-cache/target-pod.ts';

/** Inputs of the decision. Times are in ms. */
export interface ChaperonState {
  readonly chaperon: PodChaperon;
  readonly pod: TargetPod | undefined;
  /** The delegate existed once. */
  readonly podSeen: boolean;
  /** Last change of the delegate's status, on the clock of `now`. */
  readonly statusChangedAt: number;
  /** The source's lease has expired (ADR 0020). */
  readonly sourceLeaseExpired?: boolean;
  /** The source has not confirmed it in time (ADR 0048). */
  readonly isOverdue?: boolean;
}

/** The next step. All plans are for the target. */
export type ChaperonStep =
  | { readonly kind: 'no-change' }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'create'; readonly pod: Pod }
  /** Write after an uncached read has confirmed that the delegate is gone. */
  | { readonly kind: 'confirm-gone'; readonly plan: Plan; readonly thenWait?: number }
  | { readonly kind: 'write'; readonly plan: Plan }
  /** Write after an uncached read has confirmed that the candidate is unconfirmed. */
  | { readonly kind: 'expire'; readonly plan: Plan }
  /** Apply changes of the running pod, as in the annotation, to the current delegate. */
  | { readonly kind: 'apply-changes'; readonly text: string };

/** The chaperon's status is informational while the source watches pods itself: it may lag this long, in ms. */
export const LAZY_STATUS_MS = 30_000;
/** How long the source has to delete a chaperon whose delegate vanished before the delegate is recreated, in ms. */
export const RECREATE_AFTER_MS = 60_000;
/** Kubernetes' finalizer of foreground deletion (`meta/v1` FinalizerDeleteDependents). */
const FOREGROUND_FINALIZER = 'foregroundDeletion';

/** Decides the next step for a chaperon. `now` is in ms since the epoch. */
export function planChaperon(state: ChaperonState, now: number): ChaperonStep {
  const { chaperon, pod } = state;
  if (chaperon.metadata.deletionTimestamp !== undefined) return planDeletion(chaperon, pod);
  const delegate = pod?.chaperonUid === chaperon.metadata.uid ? pod : undefined;
  if (mustExpire(state, delegate)) return { kind: 'expire', plan: planExpiry(chaperon, delegate, now) };
  if (mustBeFenced(state, delegate)) return { kind: 'write', plan: planFencing(chaperon, delegate, now) };
  if (delegate !== undefined) return planExistingDelegate(state, delegate, now);
  if (isTerminal(chaperon.status?.phase)) return { kind: 'no-change' }; // a terminal phase is final
  if (pod === undefined || (delegateExisted(state) && missingSince(chaperon) === undefined)) {
    return planMissingPod(state, now);
  }
  return reportRejection(
    chaperon, `a pod ${pod.key} that was not created from this PodChaperon already exists; delete or rename it`, now,
  );
}

function mustBeFenced(
  { chaperon, sourceLeaseExpired = false }: ChaperonState, delegate: TargetPod | undefined,
): boolean {
  if (!sourceLeaseExpired || isFenced(chaperon)) return false;
  if (failoverGraceSecondsOf(chaperon.metadata) === undefined) return false;
  return !isTerminal(delegate?.phase) && !isTerminal(chaperon.status?.phase);
}

function mustExpire({ chaperon, isOverdue = false }: ChaperonState, delegate: TargetPod | undefined): boolean {
  return isOverdue && !isFenced(chaperon) && !isTerminal(delegate?.phase) && !isTerminal(chaperon.status?.phase);
}

/** No delegate may be created any more: the source may run the pod elsewhere. */
function isFenced({ metadata: { annotations } }: PodChaperon): boolean {
  return annotations?.[FENCED_AT_ANNOTATION] !== undefined || annotations?.[EXPIRED_AT_ANNOTATION] !== undefined;
}

/**
 * Like fencing, with a precondition on the observed version, and with a short grace period: the pod was never bound.
 */
function planExpiry(chaperon: PodChaperon, delegate: TargetPod | undefined, now: number): Plan {
  const annotated = patchMetadata(
    chaperon, { annotations: { [EXPIRED_AT_ANNOTATION]: new Date(now).toISOString() }, ...versionOf(chaperon) },
  );
  if (delegate === undefined || delegate.terminating) return [annotated];
  return [annotated, {
    ...deletionOf(delegate),
    gracePeriodSeconds:
      Math.min(chaperon.spec.terminationGracePeriodSeconds ?? Infinity, UNCONFIRMED_GRACE_SECONDS),
  }];
}

/**
 * The annotation is written first: a crash between the two writes leaves a delegate that will be deleted, and none that
 * is recreated.
 */
function planFencing(chaperon: PodChaperon, delegate: TargetPod | undefined, now: number): Plan {
  const annotated = patchMetadata(
    chaperon, { uid: chaperon.metadata.uid, annotations: { [FENCED_AT_ANNOTATION]: new Date(now).toISOString() } },
  );
  return delegate === undefined || delegate.terminating ? [annotated] : [annotated, deletionOf(delegate)];
}

function isLiving({ terminating, phase }: TargetPod): boolean {
  return !terminating && !isTerminal(phase);
}

function planExistingDelegate(state: ChaperonState, delegate: TargetPod, now: number): ChaperonStep {
  const { chaperon } = state;
  if (delegate.runOnceFinalizer !== undefined && hasStopped(delegate)) {
    return { kind: 'write', plan: planEnd(chaperon, delegate, now) };
  }
  if (isFenced(chaperon) && isLiving(delegate)) return { kind: 'write', plan: [deletionOf(delegate)] };
  // a terminal phase is final
  if (isTerminal(chaperon.status?.phase) && !isTerminal(delegate.phase)) return { kind: 'no-change' };
  if (wasRecreated(chaperon, delegate)) return { kind: 'write', plan: [clearMissing(chaperon)] };
  return planPodChanges(chaperon, delegate) ?? planStatus(state, delegate, now);
}

function planPodChanges({ metadata }: PodChaperon, delegate: TargetPod): ChaperonStep | undefined {
  const text = metadata.annotations?.[SENT_CHANGES_ANNOTATION];
  const isNew = text !== undefined && text !== delegate.appliedChanges && isLiving(delegate);
  return isNew ? { kind: 'apply-changes', text } : undefined;
}

/**
 * A terminating chaperon deletes its delegate. Garbage collection would do the same at a few objects per second; doing
 * it here frees the target's capacity, and the source's pod, at once.
 */
function planDeletion(chaperon: PodChaperon, pod: TargetPod | undefined): ChaperonStep {
  const { metadata } = chaperon;
  if (pod !== undefined && pod.chaperonUid === metadata.uid) return planDelegateDeletion(chaperon, pod);
  const { finalizers = [] } = metadata;
  const rest = finalizers.filter((finalizer) => finalizer !== FOREGROUND_FINALIZER && finalizer !== CHAPERON_FINALIZER);
  if (rest.length === finalizers.length) return { kind: 'no-change' };
  return { kind: 'confirm-gone', plan: [patchMetadata(chaperon, { finalizers: rest, ...versionOf(chaperon) })] };
}

/** A shorter grace period needs another delete, as `kubectl delete --force` on a terminating pod. */
function planDelegateDeletion(chaperon: PodChaperon, pod: TargetPod): ChaperonStep {
  if (pod.runOnceFinalizer !== undefined && hasStopped(pod)) {
    return { kind: 'write', plan: planRunOnceFinalizerRemoval(pod) };
  }
  const seconds = graceOf(chaperon);
  if (pod.terminating && (seconds === undefined || seconds >= (pod.graceSeconds ?? 0))) return { kind: 'no-change' };
  const grace = seconds === undefined ? {} : { gracePeriodSeconds: seconds };
  return { kind: 'write', plan: [{ ...deletionOf(pod), ...grace }] };
}

/** The grace period requested for the proxy pod; undefined unless it is a whole number of seconds. */
function graceOf({ metadata }: PodChaperon): number | undefined {
  const text = metadata.annotations?.[GRACE_PERIOD_ANNOTATION] ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** A kubelet deletes a pod with grace period 0 after its containers have stopped; finalizers keep the object. */
function hasStopped({ terminating, graceSeconds }: TargetPod): boolean {
  return terminating && graceSeconds === 0;
}

/** Stores the terminal status of a delegate that must not run again, then removes its finalizer. */
function planEnd(chaperon: PodChaperon, pod: TargetPod, now: number): Plan {
  const isKnown = isTerminal(chaperon.status?.phase) || missingSince(chaperon) !== undefined;
  if (isKnown) return planRunOnceFinalizerRemoval(pod);
  const end =
    isTerminal(pod.phase) ? patchStatus(chaperon, toStatusPatch(pod.status ?? {})) : recordMissing(chaperon, now);
  return [end, ...planRunOnceFinalizerRemoval(pod)];
}

function planMissingPod(state: ChaperonState, now: number): ChaperonStep {
  const { chaperon } = state;
  const since = missingSince(chaperon);
  if (since === undefined) {
    if (isFenced(chaperon)) return { kind: 'confirm-gone', plan: [recordMissing(chaperon, now)] };
    if (!delegateExisted(state)) return planFirstCreate(chaperon);
    return { kind: 'confirm-gone', plan: [recordMissing(chaperon, now)], thenWait: RECREATE_AFTER_MS };
  }
  if (runsOnce(chaperon) || isFenced(chaperon)) return { kind: 'no-change' };
  const left = Date.parse(since) + RECREATE_AFTER_MS - now;
  if (left > 0) return { kind: 'wait', ms: left };
  return { kind: 'create', pod: toDelegatePod(chaperon) };
}

/** A chaperon of an Admiralty source waits for the source's choice. */
function planFirstCreate(chaperon: PodChaperon): ChaperonStep {
  const step = candidateStep(chaperon);
  if (step.kind === 'await-choice') return { kind: 'no-change' };
  return step.kind === 'reserve'
    ? { kind: 'write', plan: step.plan }
    : { kind: 'create', pod: toRunOnceDelegate(chaperon) };
}

function runsOnce({ spec }: PodChaperon): boolean {
  return (spec.restartPolicy ?? 'Always') !== 'Always';
}

/**
 * A delegate that must not run again gets a finalizer, so that a restarted controller still observes its terminal
 * status.
 */
function toRunOnceDelegate(chaperon: PodChaperon): Pod {
  const pod = toDelegatePod(chaperon);
  return runsOnce(chaperon) ? { ...pod, metadata: { ...pod.metadata, finalizers: [RUN_ONCE_FINALIZER] } } : pod;
}

function recordMissing(chaperon: PodChaperon, now: number): Plan[number] {
  return patchMetadata(
    chaperon, { annotations: { [POD_MISSING_SINCE_ANNOTATION]: new Date(now).toISOString() }, ...versionOf(chaperon) },
  );
}

function wasRecreated(chaperon: PodChaperon, { terminating }: TargetPod): boolean {
  return missingSince(chaperon) !== undefined && !terminating;
}

function clearMissing(chaperon: PodChaperon): Plan[number] {
  return patchMetadata(chaperon, { annotations: { [POD_MISSING_SINCE_ANNOTATION]: null }, ...versionOf(chaperon) });
}

function missingSince({ metadata }: PodChaperon): string | undefined {
  return metadata.annotations?.[POD_MISSING_SINCE_ANNOTATION];
}

/** Whether a delegate existed: it was observed, or left a status other than our own report of a rejection. */
function delegateExisted({ chaperon: { status }, podSeen }: ChaperonState): boolean {
  if (podSeen || status?.phase === undefined) return podSeen;
  return !(status.conditions ?? []).some((condition) => condition.reason === DELEGATE_REJECTED);
}

function planStatus({ chaperon, statusChangedAt }: ChaperonState, pod: TargetPod, now: number): ChaperonStep {
  if (pod.status === undefined || pod.statusDigest === digestOf(copiedStatus(chaperon.status ?? {}))) {
    return { kind: 'no-change' };
  }
  const lazy = chaperon.metadata.annotations?.[SOURCE_WATCHES_PODS_ANNOTATION] !== undefined && !isTerminal(pod.phase);
  const ms = statusChangedAt + LAZY_STATUS_MS - now;
  if (lazy && ms > 0) return { kind: 'wait', ms };
  return { kind: 'write', plan: [patchStatus(chaperon, toStatusPatch(pod.status))] };
}

/**
 * Reports to the source why the target's API server rejects the delegate; no change when the chaperon says so already.
 */
export function reportRejection(chaperon: PodChaperon, message: string, now: number): ChaperonStep {
  if (chaperon.status?.conditions?.some(
    (condition) => condition.reason === DELEGATE_REJECTED && condition.message === message,
  )) return { kind: 'no-change' };
  const lastTransitionTime = new Date(now).toISOString();
  const condition: Condition =
    { type: 'PodScheduled', status: 'False', reason: DELEGATE_REJECTED, message, lastTransitionTime };
  return { kind: 'write', plan: [patchStatus(chaperon, { phase: 'Pending', conditions: [condition] })] };
}

/**
 * Deletes a delegate whose chaperon is gone, after an uncached read has confirmed that. Garbage collection does so too,
 * but it discovers new kinds only every 30 s and works at a few objects per second, while the source waits to release
 * its pod.
 */
export function planOrphanedDelegate(pod: TargetPod): Plan {
  if (pod.chaperonUid === undefined) return [];
  if (pod.terminating) return hasStopped(pod) ? planRunOnceFinalizerRemoval(pod) : [];
  return [deletionOf(pod)];
}

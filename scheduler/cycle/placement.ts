// One step of placing a pod. There is one candidate at a time, and its target decides. The binding is the commit point:
// before it the scheduler owns the pod and its finalizer, after it the feedback controller does.
import {
  BOUND_IN_GROUP_ANNOTATION, CONFIRM_BEFORE_ANNOTATION, DELEGATE_NAME_ANNOTATION, FENCE_ANNOTATION,
  SPEC_AT_BIND_ANNOTATION, TARGET_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { Condition } from '../../api/objects/core.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import type { Chaperon, DelegatePod, Verdict } from '../../model/delegate/cached-delegate.ts';
import { planChaperonDeletion } from '../../model/delegate/delegation.ts';
import { NOTHING, type Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { holdsFinalizer, planFinalizerRemoval, type ProxyPod } from '../../model/proxy/proxy-pod.ts';
import type { GroupState } from '../queue/pod-groups.ts';
import { explainRejections, type RejectedTarget } from '../decision/schedule-pod.ts';
import type { Rejection } from '../snapshot/rejection.ts';

/**
 * State of a candidate's delete: sent without an answer yet, or done. The target's caches may not show it yet, and its
 * pods arrive on another watch.
 */
export type CandidateDeletion = 'sent' | 'done';

/**
 * A chaperon or delegate of the pod in some target. It may have a deadline (annotation `confirm-before`): the target
 * stops it then, unless the source has confirmed it, that is, said that the pod is bound. See
 * `model/delegate/confirmation.ts`.
 */
export interface Candidate {
  readonly target: string;
  readonly nodeName: string;
  /** Whether the target is reachable now. */
  readonly reachable: boolean;
  readonly chaperon: Chaperon | undefined;
  readonly delegate: DelegatePod | undefined;
  /** The delete of this chaperon that this process sent; missing when there is none. */
  readonly deletion?: CandidateDeletion;
  /** Abandoned: the source no longer waits for a silent target, which stops the candidate itself at its deadline. */
  readonly isAbandoned?: boolean;
  /** Too little is left before its deadline: bound now, it could be stopped before the confirmation arrives. */
  readonly isCloseToDeadline?: boolean;
  /** Why policies or administrators keep the pod away from its target by now. */
  readonly exclusion?: Rejection | undefined;
  /** When waiting for its verdict started, or restarted because the target decided about others, in ms. */
  readonly waitingSince: number;
}

/** Everything known about one pod. */
export interface PlacementState {
  readonly proxy: ProxyPod;
  readonly candidates: readonly Candidate[];
  /** A create was sent and its outcome is not observed yet. */
  readonly pendingCreate: boolean;
  /** Time until which the target's autoscaler may add a node, in ms; set when the target was chosen for that. */
  readonly scaleUpUntil?: number;
  /** State of the pod's group; missing when it is in none. */
  readonly group?: GroupState['kind'];
  /** Since when too few pods of the group exist, in ms; missing when enough do. */
  readonly tooFewSince?: number | undefined;
  /** Targets that may have a candidate from an earlier process, and that this process has not observed yet. */
  readonly unobserved: readonly string[];
}

/**
 * The next step. Plans of `bind`, `remove-finalizer` and `unschedulable` are for the source, of `delete-candidate` for
 * the target.
 */
export type PlacementStep =
  | { readonly kind: 'no-change' }
  | { readonly kind: 'wait'; readonly ms?: number }
  | { readonly kind: 'choose-target' }
  | { readonly kind: 'bind'; readonly target: string; readonly plan: Plan }
  /** Write in the target that removes the deadline after which it stops an unconfirmed candidate. */
  | { readonly kind: 'remove-deadline'; readonly target: string; readonly plan: Plan }
  | {
    readonly kind: 'delete-candidate'; readonly target: string; readonly rejection: Rejection | undefined;
    /** Of the chaperon. */
    readonly uid: string;
    readonly plan: Plan;
  }
  | { readonly kind: 'remove-finalizer'; readonly plan: Plan };

/** How long a target may take without a decision about any pod, in ms; see `VerdictTimes` for skipped pods. */
export const VERDICT_TIMEOUT_MS = 10_000;

/** How long candidates of a group are kept while too few of its pods exist, in ms: controllers replace pods at once. */
export const GROUP_TIMEOUT_MS = 30_000;

/** How long a target may take to add a node (its autoscaler), or to stop pods of lower priority (preemption), in ms. */
export const SCALE_UP_TIMEOUT_MS = 300_000;

/** Decides the next step of a pod. `now` is in ms, on the clock of `waitingSince`. */
export function planPlacement(state: PlacementState, now: number): PlacementStep {
  const { proxy } = state;
  if (proxy.nodeName !== undefined) return { kind: 'no-change' };
  // a terminal phase is final, also without a node
  if (proxy.terminating || isTerminal(proxy.phase)) return planRelease(state);
  if (proxy.schedulingGated) return { kind: 'no-change' };
  const [candidate, ...others] = state.candidates.toSorted(byVerdict);
  const stray = others.find(mayBeDeleted);
  if (stray !== undefined) return deleteCandidate(stray, undefined);
  if (candidate !== undefined) return planCandidate(state, candidate, now);
  if (state.pendingCreate || state.unobserved.length > 0) return { kind: 'wait' };
  return { kind: 'choose-target' };
}

function planCandidate(state: PlacementState, candidate: Candidate, now: number): PlacementStep {
  const { chaperon } = candidate;
  // it ran, and that result must not be lost
  if (chaperon?.mode === 'Pod' && chaperon.ended !== undefined) return planByVerdict(state, candidate, now);
  // The candidate is being deleted, or only its delegate is left: try the next target when both are gone.
  if (chaperon === undefined || isBeingDeleted(candidate) || !candidate.reachable) return { kind: 'wait' };
  if (candidate.isAbandoned === true) return deleteCandidate(candidate, ABANDONED);
  if (candidate.isCloseToDeadline === true) {
    return { kind: 'remove-deadline', target: candidate.target, plan: planDeadlineRemoval(chaperon) };
  }
  // too late to bind: a bound pod must not lose its delegate
  if (candidate.deletion === 'sent') return deleteCandidate(candidate, undefined);
  const withdrawal = withdrawalReason(chaperon, candidate);
  if (withdrawal !== undefined || state.group === 'failed') return deleteCandidate(candidate, withdrawal);
  return planByVerdict(state, candidate, now);
}

/** Why the candidate can not be bound any more. */
function withdrawalReason({ podMissing }: Chaperon, { exclusion }: Candidate): Rejection | undefined {
  return podMissing
    ? { reason: 'DelegateGone', message: 'its delegate pod was deleted there before the pod was bound' }
    : exclusion;
}

const ABANDONED: Rejection =
  { reason: 'NoVerdict', message: 'it became unreachable after the candidate was sent, and deletes the unconfirmed ' +
    'candidate by itself' };

/** Removes the confirmation deadline, so that a slow target does not delete the candidate. */
function planDeadlineRemoval({ namespace, name, uid }: Chaperon): Plan {
  return [{
    kind: 'patch', type: POD_CHAPERONS, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { uid, annotations: { [CONFIRM_BEFORE_ANNOTATION]: null } } },
  }];
}

function isBeingDeleted({ chaperon, delegate, deletion }: Candidate): boolean {
  return chaperon?.terminating === true || delegate?.terminating === true || deletion === 'done';
}

function planByVerdict(state: PlacementState, candidate: Candidate, now: number): PlacementStep {
  const { group, scaleUpUntil = 0, tooFewSince } = state;
  const { target, delegate } = candidate;
  const verdict = verdictOf(candidate);
  const isNegative = verdict.kind === 'rejected' || verdict.kind === 'scheduling-gated';
  // the condition "Unschedulable" is what triggers an autoscaler
  if (isNegative && now < scaleUpUntil && delegate !== undefined) return { kind: 'wait', ms: scaleUpUntil - now };
  switch (verdict.kind) {
    case 'scheduled':
      if (mayCommit(group)) return { kind: 'bind', target, plan: planBinding(state, candidate) };
      return awaitGroup(candidate, tooFewSince, now);
    case 'rejected':
      return deleteCandidate(candidate, { reason: verdict.reason, message: verdict.message });
    case 'scheduling-gated':
      return awaitVerdict(candidate, now, {
        reason: verdict.reason,
        message: `held there for ${VERDICT_TIMEOUT_MS / 1000} s by a scheduling gate: ${verdict.message}`,
      });
    case 'nominated':
      return awaitVerdict(candidate, now, PREEMPTING, SCALE_UP_TIMEOUT_MS);
    case 'pending':
      return awaitVerdict(candidate, now, {
        reason: 'NoVerdict',
        message:
          `its scheduler did not place the pod within ${VERDICT_TIMEOUT_MS / 1000} s, or skipped it; check that ` +
            'the scheduler that the pod names runs there, and that the resource claims that it names exist there',
      });
  }
}

/** The binding is the commit point; for a group, the binding of all members. */
function mayCommit(group: PlacementState['group']): boolean {
  return group === undefined || group === 'complete';
}

/** Its delegate may be running: it must not occupy its node for group members that are never created. */
function awaitGroup(candidate: Candidate, tooFewSince: number | undefined, now: number): PlacementStep {
  if (tooFewSince === undefined) return { kind: 'wait' };
  const ms = tooFewSince + GROUP_TIMEOUT_MS - now;
  return ms > 0 ? { kind: 'wait', ms } : deleteCandidate(candidate, undefined);
}

const PREEMPTING: Rejection = {
  reason: 'NoVerdict',
  message: `pods of lower priority did not make room for it there within ${SCALE_UP_TIMEOUT_MS / 1000} s`,
};

function awaitVerdict(
  candidate: Candidate, now: number, otherwise: Rejection, timeoutMs = VERDICT_TIMEOUT_MS,
): PlacementStep {
  const ms = candidate.waitingSince + timeoutMs - now;
  return ms > 0 ? { kind: 'wait', ms } : deleteCandidate(candidate, otherwise);
}

function planRelease({ proxy, candidates, pendingCreate, unobserved }: PlacementState): PlacementStep {
  const next = candidates.find(mayBeDeleted);
  if (next !== undefined) return deleteCandidate(next, undefined);
  if (candidates.length > 0 || pendingCreate || unobserved.length > 0) return { kind: 'wait' };
  if (!holdsFinalizer(proxy)) return { kind: 'no-change' };
  return { kind: 'remove-finalizer', plan: planFinalizerRemoval(proxy) };
}

function mayBeDeleted({ chaperon, reachable, deletion }: Candidate): boolean {
  return chaperon?.terminating === false && reachable && deletion !== 'done';
}

function deleteCandidate({ target, chaperon }: Candidate, rejection: Rejection | undefined): PlacementStep {
  if (chaperon === undefined) return { kind: 'wait' };
  return { kind: 'delete-candidate', target, uid: chaperon.uid, rejection, plan: planChaperonDeletion(chaperon) };
}

function planBinding({ proxy }: PlacementState, candidate: Candidate): Plan {
  const { namespace, name, uid } = proxy;
  // one of an older version does not say what it was made of
  const { name: delegateName = '', specDigests = proxy.specDigests ?? '', failoverGraceSeconds } =
    candidate.chaperon ?? {};
  const fence = failoverGraceSeconds === undefined ? {} : { [FENCE_ANNOTATION]: String(failoverGraceSeconds) };
  return [
    {
      kind: 'bind',
      binding: {
        metadata: {
          namespace, name, uid,
          annotations: {
            [TARGET_ANNOTATION]: candidate.target, [DELEGATE_NAME_ANNOTATION]: delegateName,
            [SPEC_AT_BIND_ANNOTATION]: specDigests, ...fence,
            ...(proxy.group !== undefined && { [BOUND_IN_GROUP_ANNOTATION]: proxy.group.name }),
          },
        },
        target: { apiVersion: 'v1', kind: 'Node', name: candidate.nodeName },
      },
    },
  ];
}

/** Sets the PodScheduled condition to the reasons why no target fits; empty when it already says so. */
export function planUnschedulable(proxy: ProxyPod, rejected: readonly RejectedTarget[], now: string): Plan {
  const message = explainRejections(rejected);
  const before = proxy.podScheduled;
  if (before?.status === 'False' && before.reason === 'Unschedulable' && before.message === message) return NOTHING;
  const lastTransitionTime = before?.status === 'False' ? (before.lastTransitionTime ?? now) : now;
  const condition: Condition =
    { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime };
  const { namespace, name, uid } = proxy;
  return [
    {
      kind: 'patch',
      type: PODS,
      at: { namespace, name, subresource: 'status' },
      patchType: 'strategic',
      patch: { metadata: { uid }, status: { conditions: [condition] } },
    },
  ];
}

/** The target's verdict: of the delegate pod when it exists, else what the chaperon's status says. */
function verdictOf({ chaperon, delegate }: Candidate): Verdict {
  return delegate?.verdict ?? chaperon?.verdict ?? { kind: 'pending' };
}

/** A candidate with a node sorts first, so that the others are deleted; one that is being deleted sorts last. */
function byVerdict(one: Candidate, other: Candidate): number {
  const rank = (candidate: Candidate) => {
    if (candidate.deletion !== undefined || candidate.isAbandoned === true) return 2;
    return verdictOf(candidate).kind === 'scheduled' ? 0 : 1;
  };
  return rank(one) - rank(other) || (one.target < other.target ? -1 : 1);
}

// Step 4 of a pod's way, in the target: what a PodChaperon needs now. The delegate is made once, and not again after it has ended.
import { POD_MISSING_SINCE_ANNOTATION, SOURCE_WATCHES_PODS_ANNOTATION } from '../api/keys.ts';
import type { Condition, Pod } from '../api/core.ts';
import type { PodChaperon } from '../api/pod-chaperon.ts';
import { POD_CHAPERONS, PODS } from '../api/resource-types.ts';
import { DELEGATE_REJECTED } from '../model/delegate-pod.ts';
import type { Plan } from '../model/plan.ts';
import { isTerminal } from '../model/pod.ts';
import { digestOf, mirroredStatus, toStatusPatch } from '../model/pod-status.ts';
import { toDelegatePod } from './delegate-pod.ts';
import type { TargetPod } from './target-pod.ts';

/** What is known when a chaperon is looked at. Times are in ms. */
export interface ChaperonState {
  readonly chaperon: PodChaperon;
  readonly pod: TargetPod | undefined;
  /** The delegate was there once. */
  readonly podSeen: boolean;
  /** When the delegate's status last changed, on the clock of `now`. */
  readonly statusChangedAt: number;
}

/** The next step. All plans are for the target. */
export type ChaperonStep =
  | { readonly kind: 'settled' }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'create'; readonly pod: Pod; readonly thenClear: Plan }
  /** Write, once a live read has confirmed that the delegate is gone. */
  | { readonly kind: 'confirm-gone'; readonly plan: Plan; readonly thenWait?: number }
  | { readonly kind: 'write'; readonly plan: Plan };

/** The chaperon's status is for people while the source watches pods itself: it may lag this long, in ms. */
export const LAZY_STATUS_MS = 30_000;
/** How long the source has to give up a chaperon whose delegate vanished, before the delegate is made again, in ms (contract §2.5). */
export const MISSING_PATIENCE_MS = 60_000;
/** Kubernetes' own finalizer of foreground deletion (`meta/v1` FinalizerDeleteDependents). */
const FOREGROUND_FINALIZER = 'foregroundDeletion';

/** Decides the next step for a chaperon. `now` is in ms since the epoch. */
export function planChaperon(state: ChaperonState, now: number): ChaperonStep {
  const { chaperon, pod } = state;
  if (chaperon.metadata.deletionTimestamp !== undefined) return planDeletion(chaperon, pod);
  const delegate = pod?.chaperonUid === chaperon.metadata.uid ? pod : undefined;
  if (isTerminal(chaperon.status?.phase) && !isTerminal(delegate?.phase)) return { kind: 'settled' }; // ended is final
  if (delegate !== undefined) return planStatus(state, delegate, now);
  if (pod === undefined || (wasThere(state) && missingSince(chaperon) === undefined)) return planMissingPod(state, now);
  return reportRejection(chaperon, `a pod ${pod.key} that was not made from this PodChaperon exists already; delete or rename it`, now);
}

/**
 * A chaperon that is going takes its delegate along. Garbage collection would do all of this, at its own pace of a few objects
 * per second; doing it here frees the target's capacity, and the source's pod, at once.
 */
function planDeletion(chaperon: PodChaperon, pod: TargetPod | undefined): ChaperonStep {
  const { metadata } = chaperon;
  if (pod !== undefined && pod.chaperonUid === metadata.uid) {
    if (pod.terminating) return { kind: 'settled' };
    return { kind: 'write', plan: [{ kind: 'delete', type: PODS, at: at(chaperon), preconditions: { uid: pod.uid }, propagation: 'Background' }] };
  }
  const { finalizers = [] } = metadata;
  if (!finalizers.includes(FOREGROUND_FINALIZER)) return { kind: 'settled' };
  const rest = finalizers.filter((finalizer) => finalizer !== FOREGROUND_FINALIZER);
  return { kind: 'confirm-gone', plan: [patchMetadata(chaperon, { finalizers: rest }, metadata.resourceVersion)] };
}

function planMissingPod(state: ChaperonState, now: number): ChaperonStep {
  const { chaperon } = state;
  const since = missingSince(chaperon);
  if (since === undefined) {
    if (!wasThere(state)) return { kind: 'create', pod: toDelegatePod(chaperon), thenClear: [] };
    const mark = patchMetadata(chaperon, { annotations: { [POD_MISSING_SINCE_ANNOTATION]: new Date(now).toISOString() } });
    return { kind: 'confirm-gone', plan: [mark], thenWait: MISSING_PATIENCE_MS };
  }
  if ((chaperon.spec.restartPolicy ?? 'Always') !== 'Always') return { kind: 'settled' };
  const left = Date.parse(since) + MISSING_PATIENCE_MS - now;
  if (left > 0) return { kind: 'wait', ms: left };
  const clear = patchMetadata(chaperon, { annotations: { [POD_MISSING_SINCE_ANNOTATION]: null } });
  return { kind: 'create', pod: toDelegatePod(chaperon), thenClear: [clear] };
}

function missingSince({ metadata }: PodChaperon): string | undefined {
  return metadata.annotations?.[POD_MISSING_SINCE_ANNOTATION];
}

/** Whether there was a delegate: it was seen, or left a status behind other than our own report of a rejection. */
function wasThere({ chaperon: { status }, podSeen }: ChaperonState): boolean {
  if (podSeen || status?.phase === undefined) return podSeen;
  return !(status.conditions ?? []).some((condition) => condition.reason === DELEGATE_REJECTED);
}

function planStatus({ chaperon, statusChangedAt }: ChaperonState, pod: TargetPod, now: number): ChaperonStep {
  if (pod.status === undefined || pod.statusDigest === digestOf(mirroredStatus(chaperon.status ?? {}))) return { kind: 'settled' };
  const lazy = chaperon.metadata.annotations?.[SOURCE_WATCHES_PODS_ANNOTATION] !== undefined && !isTerminal(pod.phase);
  const ms = statusChangedAt + LAZY_STATUS_MS - now;
  if (lazy && ms > 0) return { kind: 'wait', ms };
  return { kind: 'write', plan: [patchStatus(chaperon, toStatusPatch(pod.status))] };
}

/** Tells the source why the target's API server does not take the delegate; nothing when the chaperon says so already. */
export function reportRejection(chaperon: PodChaperon, message: string, now: number): ChaperonStep {
  if (chaperon.status?.conditions?.some((condition) => condition.reason === DELEGATE_REJECTED && condition.message === message)) return { kind: 'settled' };
  const lastTransitionTime = new Date(now).toISOString();
  const condition: Condition = { type: 'PodScheduled', status: 'False', reason: DELEGATE_REJECTED, message, lastTransitionTime };
  return { kind: 'write', plan: [patchStatus(chaperon, { phase: 'Pending', conditions: [condition] })] };
}

function patchStatus(chaperon: PodChaperon, status: object): Plan[number] {
  return {
    kind: 'patch', type: POD_CHAPERONS, at: { ...at(chaperon), subresource: 'status' }, patchType: 'merge',
    patch: { metadata: { uid: chaperon.metadata.uid }, status },
  };
}

function patchMetadata(chaperon: PodChaperon, metadata: object, resourceVersion?: string): Plan[number] {
  const { uid } = chaperon.metadata;
  const precondition = resourceVersion === undefined ? { uid } : { uid, resourceVersion };
  return { kind: 'patch', type: POD_CHAPERONS, at: at(chaperon), patchType: 'merge', patch: { metadata: { ...precondition, ...metadata } } };
}

function at({ metadata: { namespace, name = '' } }: PodChaperon): { readonly namespace: string | undefined; readonly name: string } {
  return { namespace, name };
}

/**
 * Deletes a delegate whose chaperon is gone, once a live read has confirmed that. Garbage collection does so as well, but it looks for new
 * kinds only every 30 s and works at a few objects per second, while the source waits to let its pod go.
 */
export function planOrphanedDelegate(pod: TargetPod): Plan {
  if (pod.chaperonUid === undefined || pod.terminating) return [];
  const [namespace = '', name = ''] = pod.key.split('/');
  return [{ kind: 'delete', type: PODS, at: { namespace, name }, preconditions: { uid: pod.uid }, propagation: 'Background' }];
}

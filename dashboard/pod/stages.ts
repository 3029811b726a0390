// The stages of one pod's journey, from its creation in the source to a ready delegate, each with its time.
import type { Condition, Pod } from '../../api/objects/core.ts';
import { TARGET_ANNOTATION } from '../../api/objects/keys.ts';
import { shortTargetName } from '../../model/naming/target-ref.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { isSchedulingGated, isTerminal } from '../../model/pod/pod.ts';
import type { UnreadablePart, Stage } from '../wire/screens.ts';
import type { PodEvent } from './pod-events.ts';
import { containersOf, waitingIn, waitReasonOf } from './wait-reason.ts';

/** What a pod's target has for it. */
export type TargetSide =
  /** It cannot be read. */
  | { readonly kind: 'unknown'; readonly unreadable: UnreadablePart }
  /** No target has a candidate or delegate. */
  | { readonly kind: 'none' }
  | {
    readonly kind: 'found';
    /** As `Kind/name`. */
    readonly target: string;
    /** When its PodChaperon was created there, in ms since the epoch; missing without one. */
    readonly sentAt?: number | undefined;
    readonly delegate?: Pod | undefined;
    /** Missing where they cannot be read. */
    readonly events?: readonly PodEvent[] | undefined;
  };

/** A stage before it is known which one the pod is at; `isDone` is missing where that cannot be read. */
interface Reached extends Omit<Stage, 'state'> {
  readonly isDone: boolean | undefined;
  readonly hasFailed?: boolean;
}

/** Reasons of containers that waiting does not resolve. */
const BROKEN: ReadonlySet<string> = new Set([
  'CrashLoopBackOff', 'CreateContainerConfigError', 'CreateContainerError', 'ErrImageNeverPull', 'ErrImagePull',
  'ImagePullBackOff', 'InvalidImageName', 'RunContainerError',
]);

/** The stages in the order in which a pod passes them. */
export function stagesOf(pod: Pod, targetSide: TargetSide): readonly Stage[] {
  const { creationTimestamp: at, deletionTimestamp } = pod.metadata;
  const delegate = targetSide.kind === 'found' ? targetSide.delegate : undefined;
  const reached: Reached[] = [
    { title: 'Elected', where: 'source', isDone: true, at, note: 'admitted as a proxy pod' },
    sent(pod, targetSide), created(pod, targetSide), assigned(pod, targetSide), bound(pod),
    started(delegate ?? pod), ready(delegate ?? pod),
  ];
  if (isTerminal(pod.status?.phase)) reached.push(ended(pod));
  if (deletionTimestamp !== undefined) {
    reached.push({ title: 'Terminating', where: 'source', isDone: false, at: deletionTimestamp });
  }
  return statesOf(reached);
}

function isBoundPod({ spec }: Pod): boolean {
  return spec.nodeName !== undefined;
}

function sent(pod: Pod, targetSide: TargetSide): Reached {
  const stage = { title: 'Target chosen', where: 'target' } as const;
  if (targetSide.kind === 'found') {
    const { sentAt, delegate, target } = targetSide;
    const at = sentAt === undefined ? delegate?.metadata.creationTimestamp : new Date(sentAt).toISOString();
    return { ...stage, isDone: true, at, note: shortTargetName(target) };
  }
  if (isBoundPod(pod)) return { ...stage, isDone: true, note: targetOf(pod) };
  return {
    ...stage, where: 'source', isDone: false, note: waitReasonOf(pod)?.message,
    hasFailed: !isSchedulingGated(pod) && scheduledOf(pod)?.status === 'False',
  };
}

function targetOf({ metadata }: Pod): string | undefined {
  const key = metadata.annotations?.[TARGET_ANNOTATION];
  return key === undefined ? undefined : shortTargetName(key);
}

function created(pod: Pod, targetSide: TargetSide): Reached {
  const stage = { title: 'Delegate pod created', where: 'target' } as const;
  if (targetSide.kind === 'unknown') return { ...stage, isDone: isBoundPod(pod) ? true : undefined };
  const delegate = targetSide.kind === 'found' ? targetSide.delegate : undefined;
  return {
    ...stage, isDone: delegate !== undefined || isBoundPod(pod), at: delegate?.metadata.creationTimestamp,
    note: delegate?.metadata.name,
  };
}

function assigned(pod: Pod, targetSide: TargetSide): Reached {
  const stage = { title: 'Scheduled to a node', where: 'target' } as const;
  if (targetSide.kind === 'unknown') return { ...stage, isDone: isBoundPod(pod) ? true : undefined };
  const delegate = targetSide.kind === 'found' ? targetSide.delegate : undefined;
  if (delegate === undefined && isBoundPod(pod)) return { ...stage, isDone: true }; // it is gone again
  const condition = delegate === undefined ? undefined : scheduledOf(delegate);
  if (condition?.status === 'True') {
    return { ...stage, isDone: true, at: condition.lastTransitionTime, note: delegate?.spec.nodeName };
  }
  return { ...stage, isDone: false, note: condition?.message, hasFailed: condition?.reason === 'Unschedulable' };
}

function bound(pod: Pod): Reached {
  const condition = scheduledOf(pod);
  const isDone = isBoundPod(pod);
  return {
    title: 'Bound to the virtual node', where: 'source', isDone,
    at: isDone ? condition?.lastTransitionTime : undefined, note: pod.spec.nodeName,
  };
}

function started(pod: Pod): Reached {
  const stage = { title: 'Containers started', where: 'target' } as const;
  const containers = containersOf(pod);
  const waiting = waitingIn(pod);
  const times = containers.flatMap(({ state }) => state?.running?.startedAt ?? []).toSorted();
  if (waiting !== undefined) {
    const { reason = '', message } = waiting;
    const note = [reason, message].filter((part) => part !== undefined && part !== '').join(': ');
    return { ...stage, isDone: false, note, hasFailed: BROKEN.has(reason) };
  }
  const hasStarted = times.length > 0 || isTerminal(pod.status?.phase) || pod.status?.phase === 'Running';
  return { ...stage, isDone: hasStarted, at: times.at(-1) ?? (hasStarted ? pod.status?.startTime : undefined) };
}

function ready(pod: Pod): Reached {
  const condition = findCondition(pod.status?.conditions, 'Ready');
  const isDone = condition?.status === 'True' || isTerminal(pod.status?.phase);
  return {
    title: 'Ready', where: 'target', isDone,
    at: condition?.status === 'True' ? condition.lastTransitionTime : undefined,
    note: isDone ? undefined : condition?.message,
  };
}

function ended(pod: Pod): Reached {
  const { phase = '', reason, message } = pod.status ?? {};
  const note = [reason, message].filter((part) => part !== undefined && part !== '').join(': ');
  const at = findCondition(pod.status?.conditions, 'Ready')?.lastTransitionTime;
  return {
    title: phase, where: 'target', isDone: phase === 'Succeeded', hasFailed: phase === 'Failed', at,
    note: note === '' ? undefined : note,
  };
}

/** The first stage that is not done is the one that the pod is at. */
function statesOf(reached: readonly Reached[]): readonly Stage[] {
  const current = reached.findIndex(({ isDone }) => isDone === false);
  return reached.map(({ isDone, hasFailed, ...stage }, index): Stage => {
    if (isDone === true) return { ...stage, state: 'done' };
    if (isDone === undefined) return { ...stage, state: 'unknown' };
    if (index !== current) return { ...stage, state: 'later', note: undefined };
    return { ...stage, state: hasFailed === true ? 'failed' : 'now' };
  });
}

function scheduledOf({ status }: Pod): Condition | undefined {
  return findCondition(status?.conditions, 'PodScheduled');
}

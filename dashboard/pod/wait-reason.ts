// Why a pod waits, from what the pod itself says.
import type { ContainerStatus, Pod } from '../../api/objects/core.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { isSchedulingGated, isTerminal } from '../../model/pod/pod.ts';

/** Why a pod waits, in a word and in a sentence. */
export interface WaitReason {
  readonly reason: string;
  readonly message: string;
}

/** `core/v1` ContainerState, as far as it is shown. */
interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: { readonly reason?: string; readonly message?: string; readonly exitCode?: number };
}

/** `core/v1` ContainerStatus, as far as it is shown. */
export interface ShownContainer extends ContainerStatus {
  readonly image?: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerState;
}

/** All containers of a pod by their status, init containers first. */
export function containersOf({ status }: Pod): readonly ShownContainer[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** What the first container that waits says; nothing once the pod has ended: failed init containers leave others so. */
export function waitingIn(pod: Pod): ContainerState['waiting'] {
  if (isTerminal(pod.status?.phase)) return undefined;
  return containersOf(pod).find(({ state }) => state?.waiting !== undefined)?.state?.waiting;
}

/** Why a pending pod waits; undefined for one that runs or has ended. */
export function waitReasonOf(pod: Pod): WaitReason | undefined {
  const { status, spec } = pod;
  if ((status?.phase ?? 'Pending') !== 'Pending') return undefined;
  return spec.nodeName === undefined ? unboundReason(pod) : startReason(pod);
}

function startReason(pod: Pod): WaitReason {
  const { status } = pod;
  const waiting = waitingIn(pod);
  if (waiting !== undefined) {
    return {
      reason: waiting.reason ?? 'ContainersWaiting',
      message: waiting.message ?? 'its containers are starting in the target',
    };
  }
  const initialized = findCondition(status?.conditions, 'Initialized');
  return {
    reason: initialized?.status === 'False' ? (initialized.reason ?? 'Initializing') : 'Starting',
    message: initialized?.message ?? 'its target has not started its containers yet',
  };
}

function unboundReason(pod: Pod): WaitReason {
  const scheduled = findCondition(pod.status?.conditions, 'PodScheduled');
  if (isSchedulingGated(pod)) return {
    reason: 'SchedulingGated',
    message: scheduled?.message ?? 'it has scheduling gates, which their owner must remove',
  };
  if (scheduled?.status !== 'False') return {
    reason: 'NotDecided',
    message: 'the scheduler has not decided yet; if this lasts, run "isthmus status" to see whether it is running',
  };
  return { reason: scheduled.reason ?? 'Unschedulable', message: scheduled.message ?? 'no target can run it' };
}

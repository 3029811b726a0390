// Pods that have had no status update for long, whatever delays them: a hanging call, a lost target, a queue. They get
// a machine-readable reason. A pod whose candidate is in a lost target is never sent elsewhere, because it must not run
// twice. A pod whose controller would recreate it is deleted after a delay, and its replacement goes to another target.
import type { Condition } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import { deletion, type Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { SKIPPED_WAIT_MS } from '../queue/verdict-times.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { VERDICT_TIMEOUT_MS } from './placement.ts';

/** A pod without a node gets a reason after this long, in ms. */
export const REASON_AFTER_MS = 15_000;
/**
 * How long a target may be lost before pods that wait for its verdict are replaced, in ms: their replacements then run
 * within a minute.
 */
export const REPLACE_AFTER_MS = 45_000;

/** What delays a pod. */
export interface Delay {
  /** The target that has, or may have, its candidate. */
  readonly target?: string;
  /** How long that target has been unreachable, in ms; missing when it is reachable. */
  readonly outageMs?: number;
  /**
   * In how many ms the target has certainly stopped the candidate and another target is tried; missing when that cannot
   * be known.
   */
  readonly endsInMs?: number;
  /** A candidate may exist there: a create was sent, or is observed. */
  readonly mayHaveCandidate: boolean;
}

/** No known delay. */
export const NO_DELAY: Delay = { mayHaveCandidate: false };

/** The next step. */
export type OverdueStep =
  | { readonly kind: 'no-change' }
  /** Requeue after this long. */
  | { readonly kind: 'later'; readonly ms: number }
  /** Writes in the source, and when to look again. */
  | {
    readonly kind: 'write'; readonly plan: Plan; readonly thenMs?: number;
    /** The reason and message that the pod gets. */
    readonly rejection?: Rejection;
  };

/** Decides for a pod first observed without a node `ageMs` ago. `now` is RFC 3339. */
export function planOverdue(proxy: ProxyPod, ageMs: number, delay: Delay, now: string): OverdueStep {
  if (proxy.nodeName !== undefined || proxy.terminating || proxy.schedulingGated || isTerminal(proxy.phase)) {
    return { kind: 'no-change' };
  }
  if (ageMs < REASON_AFTER_MS) return { kind: 'later', ms: REASON_AFTER_MS - ageMs };
  const replaceMs = untilReplaced(proxy, delay);
  if (replaceMs !== undefined && replaceMs <= 0) return { kind: 'write', plan: planReplacement(proxy) };
  const again = replaceMs ?? REASON_AFTER_MS;
  if (proxy.podScheduled?.status === 'False') return { kind: 'later', ms: again };
  const rejection = delayMessage(proxy, delay);
  return { kind: 'write', plan: planReasonCondition(proxy, rejection, now), thenMs: again, rejection };
}

/** Time until the pod is replaced, in ms; undefined when it is not to be. */
function untilReplaced({ isReplaceable = false }: ProxyPod, { outageMs, mayHaveCandidate }: Delay): number | undefined {
  return isReplaceable && mayHaveCandidate && outageMs !== undefined ? REPLACE_AFTER_MS - outageMs : undefined;
}

function delayMessage({ isReplaceable = false }: ProxyPod, { target, outageMs, endsInMs }: Delay): Rejection {
  if (target === undefined) return {
    reason: 'AwaitingScheduler',
    message: 'the scheduler has not processed the pod yet; it is busy, or cannot read its inputs',
  };
  if (outageMs === undefined) {
    const message =
      `waiting for the scheduler of ${target}; another target is tried if it schedules nothing for ` +
        `${VERDICT_TIMEOUT_MS / 1_000} s, or schedules later pods first for ` +
        `${(VERDICT_TIMEOUT_MS + SKIPPED_WAIT_MS) / 1_000} s`;
    return { reason: 'AwaitingVerdict', message };
  }
  if (endsInMs !== undefined) return {
    reason: 'AwaitingTarget',
    message:
      `${target} has the candidate and is unreachable: it stops an unconfirmed pod, and another target is tried in ` +
        `${Math.max(1, Math.ceil(endsInMs / 1_000))} s`,
  };
  const then = isReplaceable
    ? `the pod is deleted if that lasts ${REPLACE_AFTER_MS / 1_000} s, so that its controller creates another one`
    : 'the pod waits for it, because it must not run twice; delete the pod to place it again';
  return { reason: 'AwaitingTarget', message: `${target} has the candidate and is unreachable: ${then}` };
}

function planReasonCondition({ namespace, name, uid }: ProxyPod, { reason, message }: Rejection, now: string): Plan {
  const condition: Condition = { type: 'PodScheduled', status: 'False', reason, message, lastTransitionTime: now };
  const patch = { metadata: { uid }, status: { conditions: [condition] } };
  return [{ kind: 'patch', type: PODS, at: { namespace, name, subresource: 'status' }, patchType: 'strategic', patch }];
}

/** With a precondition on this version: a pod that has got its node meanwhile stays. */
function planReplacement(pod: ProxyPod): Plan {
  return [{ ...deletion(PODS, pod), preconditions: { uid: pod.uid, resourceVersion: pod.resourceVersion } }];
}

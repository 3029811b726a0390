// Pods that have had no word for long, whatever holds them up: a call that hangs, a target that is lost, a queue. They get a reason that
// machines can read (design §10, invariant 3). One whose candidate is in a lost target is never moved, for it must not run twice; but
// where its controller makes another pod for one that is deleted, it is deleted after a patience, and the other one goes elsewhere (D6).
import type { Condition } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import type { Rejection } from '../snapshot/rejection.ts';

/** A pod without a node says why after so long, in ms. */
export const REASON_AFTER_MS = 15_000;
/** How long a target may be lost before pods that wait for its verdict are replaced, in ms: so that the others run within a minute. */
export const REPLACE_AFTER_MS = 45_000;

/** What holds a pod up. */
export interface Delay {
  /** The target that has its candidate, or may have it. */
  readonly target?: string;
  /** How long that target has not been reachable, in ms; missing when it is. */
  readonly lostForMs?: number;
  /** In how many ms the target has surely stopped what it was asked for, and another one is asked; missing when nobody can know. */
  readonly endsInMs?: number;
  /** A candidate may have been made there: a create was sent, or is seen. */
  readonly isCommitted: boolean;
}

/** Nothing is known to hold the pod up. */
export const NO_DELAY: Delay = { isCommitted: false };

/** The next step. */
export type OverdueStep =
  | { readonly kind: 'no-change' }
  /** To be looked at again after so long. */
  | { readonly kind: 'later'; readonly ms: number }
  /** Writes in the source, and when to look again. */
  | { readonly kind: 'write'; readonly plan: Plan; readonly thenMs?: number; /** What the pod is told. */ readonly word?: Rejection };

/** Decides for a pod that was first seen without a node `ageMs` ago. `now` is RFC 3339. */
export function planOverdue(proxy: ProxyPod, ageMs: number, delay: Delay, now: string): OverdueStep {
  if (proxy.nodeName !== undefined || proxy.terminating || proxy.gated || isTerminal(proxy.phase)) return { kind: 'no-change' };
  if (ageMs < REASON_AFTER_MS) return { kind: 'later', ms: REASON_AFTER_MS - ageMs };
  const replaceMs = untilReplaced(proxy, delay);
  if (replaceMs !== undefined && replaceMs <= 0) return { kind: 'write', plan: planReplacement(proxy) };
  const again = replaceMs ?? REASON_AFTER_MS;
  if (proxy.podScheduled?.status === 'False') return { kind: 'later', ms: again };
  const word = wordFor(proxy, delay);
  return { kind: 'write', plan: planReasonCondition(proxy, word, now), thenMs: again, word };
}

/** How long until the pod is replaced, in ms; undefined when it is not to be. */
function untilReplaced({ isReplaceable = false }: ProxyPod, { lostForMs, isCommitted }: Delay): number | undefined {
  return isReplaceable && isCommitted && lostForMs !== undefined ? REPLACE_AFTER_MS - lostForMs : undefined;
}

function wordFor({ isReplaceable = false }: ProxyPod, { target, lostForMs, endsInMs }: Delay): Rejection {
  if (target === undefined) return { reason: 'AwaitingScheduler', message: 'the scheduler has not come to the pod yet; it is busy, or cannot read what it needs' };
  if (lostForMs === undefined) return { reason: 'AwaitingVerdict', message: `${target} was asked and has not placed the pod yet` };
  if (endsInMs !== undefined) return { reason: 'AwaitingTarget', message: `${target} was asked and cannot be reached now: it stops what nobody confirms, and another target is asked in ${Math.max(1, Math.ceil(endsInMs / 1_000))} s` };
  const then = isReplaceable ? `it is deleted when that lasts ${REPLACE_AFTER_MS / 1_000} s, so that its controller makes another one` : 'it waits for its return, for it must not run twice; delete it to have it placed anew';
  return { reason: 'AwaitingTarget', message: `${target} was asked and cannot be reached now: ${then}` };
}

function planReasonCondition({ namespace, name, uid }: ProxyPod, { reason, message }: Rejection, now: string): Plan {
  const condition: Condition = { type: 'PodScheduled', status: 'False', reason, message, lastTransitionTime: now };
  const patch = { metadata: { uid }, status: { conditions: [condition] } };
  return [{ kind: 'patch', type: PODS, at: { namespace, name, subresource: 'status' }, patchType: 'strategic', patch }];
}

/** Of this very version: one that has got its node meanwhile stays. */
function planReplacement({ namespace, name, uid, resourceVersion }: ProxyPod): Plan {
  return [{ kind: 'delete', type: PODS, at: { namespace, name }, preconditions: { uid, resourceVersion }, propagation: 'Background' }];
}

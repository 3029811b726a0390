// Taints and tolerations as in kube-scheduler's TaintToleration filter (`core/v1`, Toleration.ToleratesTaint). The
// operators Lt and Gt, off by default in Kubernetes, tolerate nothing here.

import type { Taint, Toleration } from '../../api/objects/core.ts';
import { PROVIDER_KEY, PROVIDER_VALUE } from '../../api/objects/keys.ts';

/** The taint of every virtual node; proxy pods tolerate it (Admiralty 0.17's, after virtual-kubelet). */
export const VIRTUAL_NODE_TAINT: Taint = { key: PROVIDER_KEY, value: PROVIDER_VALUE, effect: 'NoSchedule' };

const CORDON_TAINT: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

const KEEPS_PODS_AWAY: ReadonlySet<string> = new Set(['NoSchedule', 'NoExecute']);

/**
 * Whether this toleration tolerates this taint. A missing key or effect matches any; a missing operator means `Equal`.
 */
export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  if (isGiven(toleration.effect) && toleration.effect !== taint.effect) return false;
  if (isGiven(toleration.key) && toleration.key !== taint.key) return false;
  if (toleration.operator === 'Exists') return true;
  const isEqual = !isGiven(toleration.operator) || toleration.operator === 'Equal';
  return isEqual && (toleration.value ?? '') === (taint.value ?? '');
}

function isGiven(text: string | undefined): boolean {
  return text !== undefined && text !== '';
}

/** Whether a pod may go to a cordoned node, as kube-scheduler's plugin NodeUnschedulable decides. */
export function toleratesCordon(tolerations: readonly Toleration[] = []): boolean {
  return tolerations.some((toleration) => toleratesTaint(toleration, CORDON_TAINT));
}

/** The first taint of effect NoSchedule or NoExecute that no toleration tolerates. */
export function firstUntoleratedTaint(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
): Taint | undefined {
  return taints?.find(
    (taint) => KEEPS_PODS_AWAY.has(taint.effect) && !tolerations
      ?.some((toleration) => toleratesTaint(toleration, taint)),
  );
}

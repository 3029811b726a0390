// Decides what a (Cluster)Target needs for its `removalPolicy`. `Drain` keeps the object with a finalizer until its
// pods were evicted and are gone; `Orphan` releases it at once, and its delegates keep running. Nothing is decided
// while the target is unreachable.
import { DRAIN_FINALIZER } from '../../api/objects/keys.ts';
import type { RemovalPolicy } from '../../api/kinds/cluster-target.ts';
import { CLUSTER_TARGETS, TARGETS } from '../../api/resource-types.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';

/** The fields of a target's object that matter for its removal. */
export interface RemovableTarget {
  readonly ref: TargetRef;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly finalizers: readonly string[];
  readonly terminating: boolean;
  readonly removalPolicy: RemovalPolicy;
}

/** The pods of a target. */
export interface RemovalState {
  readonly target: RemovableTarget;
  /** Proxies bound to its virtual node. */
  readonly bound: Iterable<Pick<ProxyPod, 'key' | 'phase' | 'terminating'>>;
  /** Pods without a node that have a chaperon there; undefined while that is not known. */
  readonly candidates: number | undefined;
}

/** The next step. */
export type RemovalStep =
  | { readonly kind: 'no-change' }
  /** Change of the target's object. */
  | { readonly kind: 'write'; readonly plan: Plan }
  /** Keys of the pods to evict now, and the number of all remaining pods. */
  | { readonly kind: 'drain'; readonly evict: readonly string[]; readonly left: number };

/** Decides the next step. */
export function planRemoval({ target, bound, candidates }: RemovalState): RemovalStep {
  const isHeld = target.finalizers.includes(DRAIN_FINALIZER);
  const drains = target.removalPolicy === 'Drain';
  if (!target.terminating) return isHeld === drains
    ? { kind: 'no-change' }
    : { kind: 'write', plan: planFinalizer(target, drains) };
  if (!isHeld) return { kind: 'no-change' };
  if (!drains) return { kind: 'write', plan: planFinalizer(target, false) };
  const left = [...bound].filter(({ phase, terminating }) => terminating || !isTerminal(phase));
  if (left.length > 0 || candidates !== 0) {
    return {
      kind: 'drain', evict: left.filter(({ terminating }) => !terminating).map(({ key }) => key),
      left: left.length + (candidates ?? 0),
    };
  }
  return { kind: 'write', plan: planFinalizer(target, false) };
}

/** With a precondition on this version: the list contains other controllers' finalizers too. */
function planFinalizer({ ref, uid, resourceVersion, finalizers }: RemovableTarget, hold: boolean): Plan {
  const others = finalizers.filter((finalizer) => finalizer !== DRAIN_FINALIZER);
  const patch = { metadata: { uid, resourceVersion, finalizers: hold ? [...others, DRAIN_FINALIZER] : others } };
  const at = ref.kind === 'Target' ? { namespace: ref.namespace, name: ref.name } : { name: ref.name };
  return [{ kind: 'patch', type: ref.kind === 'Target' ? TARGETS : CLUSTER_TARGETS, at, patchType: 'merge', patch }];
}

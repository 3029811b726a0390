// The two ways to have a pod run in a target (design D7) behind one interface: what is made there, how it is taken back, and when it has
// lost what it stands for. A target may hold both: which one is made next is its mode, which one is there its record says.
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { RUN_ONCE_FINALIZER } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import type { Chaperon } from './remembered-delegate.ts';
import { toDelegateMeta } from './delegate-manifest.ts';
import type { Plan } from '../objects/plan.ts';

/** Whether the delegate controller of a target lives; unknown until it was heard, or not heard for long enough. `foreign` is an Admiralty's: it tells no time. */
export type ControllerLife = 'unknown' | 'alive' | 'silent' | 'foreign';

/** What a source has found out about a target. */
export interface FoundTarget {
  /** Whether it serves PodChaperons; undefined until it has answered. */
  readonly servesChaperons: boolean | undefined;
  readonly controller: ControllerLife;
  /** Whether the source may write pods there itself; undefined until that was asked. */
  readonly mayWritePods: boolean | undefined;
}

/**
 * How pods are delegated to a target that leaves it to us (`delegation: Auto`): by chaperons where a controller lives that makes pods of them,
 * directly where none does and the source has the rights; undefined while that is not known. An Admiralty's controller makes pods of chaperons, too,
 * but never takes our finalizer off a chaperon that goes.
 */
export function foundDelegation({ servesChaperons, controller, mayWritePods }: FoundTarget): DelegationMode | undefined {
  if (servesChaperons === false) return 'Pod';
  if (servesChaperons === undefined || controller === 'unknown') return undefined;
  if (controller === 'alive') return 'PodChaperon';
  return mayWritePods === true ? 'Pod' : undefined;
}

/** One way of delegating. */
export interface Delegation {
  readonly mode: DelegationMode;
  /** What the source makes in the target. */
  readonly type: ResourceType;
  /** The object to make. It has the chaperon's name in both modes: the API server's uniqueness is the lock. */
  readonly toObject: (chaperon: PodChaperon) => KubernetesObject;
}

/** Both ways, by mode. */
export const DELEGATIONS: Readonly<Record<DelegationMode, Delegation>> = {
  PodChaperon: { mode: 'PodChaperon', type: POD_CHAPERONS, toObject: (chaperon) => chaperon },
  Pod: { mode: 'Pod', type: PODS, toObject: toDirectDelegate },
};

/** The delegate pod as the source makes it. One that must not run again is held, so that its end is seen even by a source that was away. */
export function toDirectDelegate(chaperon: PodChaperon): Pod {
  const runsOnce = (chaperon.spec.restartPolicy ?? 'Always') !== 'Always';
  const metadata = { ...toDelegateMeta(chaperon), ...(runsOnce && { finalizers: [RUN_ONCE_FINALIZER] }) };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: chaperon.spec };
}

/**
 * Takes what was made for a pod out of its target; `graceSeconds` is how long a pod's containers get, where not their own time. A chaperon
 * stays until its delegate is gone, by the finalizer that it is made with: foreground deletion would add no more than the requests of the
 * target's garbage collector, seven for each.
 */
export function planChaperonDeletion({ mode, namespace, name, uid }: Chaperon, graceSeconds?: number): Plan {
  const command = { kind: 'delete', at: { namespace, name }, preconditions: { uid } } as const;
  if (mode === 'PodChaperon') return [{ ...command, type: POD_CHAPERONS, propagation: 'Background' }];
  const grace = graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds };
  return [{ ...command, type: PODS, propagation: 'Background', ...grace }];
}

/** Whether a pod that the source made has no containers any more, and is only kept by its finalizer (a kubelet then sets the grace period to 0). */
export function isHeldAfterStop({ mode, terminating, graceSeconds, held }: Chaperon): boolean {
  return mode === 'Pod' && terminating && graceSeconds === 0 && held !== undefined;
}

/** Lets a pod go that was held until its end was known. */
export function planLettingGo({ namespace, name, held }: Chaperon): Plan {
  if (held === undefined) return [];
  const finalizers = held.finalizers.filter((finalizer) => finalizer !== RUN_ONCE_FINALIZER);
  const patch = { metadata: { resourceVersion: held.resourceVersion, finalizers } };
  return [{ kind: 'patch', type: PODS, at: { namespace, name }, patchType: 'merge', patch }];
}

/** Whether a proxy has lost what it stands for. One that must not run again is lost only when it has stopped: its end may still be told. */
export function isLost(chaperon: Chaperon | undefined): boolean {
  if (chaperon === undefined || chaperon.podMissing) return true;
  return chaperon.terminating && (chaperon.held === undefined || isHeldAfterStop(chaperon));
}

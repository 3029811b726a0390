// The two delegation modes, PodChaperon and Pod, behind one interface: what is created, how it is deleted, and when
// the delegate is gone. A target may have objects of both: its mode decides what is created next; the record of an
// object says which mode made it.
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { RUN_ONCE_FINALIZER } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import type { Chaperon, DelegatePod } from './cached-delegate.ts';
import { toDelegateMeta, toDelegatePodSpec } from './delegate-manifest.ts';
import { deletion, type Plan } from '../objects/plan.ts';
import { splitKey } from '../../model/pod/pod.ts';

/**
 * Whether a target's delegate controller is alive; unknown until the first heartbeat. `admiralty`: an Admiralty
 * controller, which has no heartbeat.
 */
export type ControllerState = 'unknown' | 'alive' | 'silent' | 'admiralty';

/** What a source has discovered about a target. */
export interface FoundTarget {
  /** Whether it serves PodChaperons; undefined until it has answered. */
  readonly servesChaperons: boolean | undefined;
  readonly controller: ControllerState;
  /** Whether the source may write pods there; undefined until that was checked. */
  readonly mayWritePods: boolean | undefined;
}

/**
 * The mode for `delegation: Auto`: PodChaperon where a live controller creates pods from chaperons, Pod where there is
 * none and the source has the permissions; undefined while that is unknown. Admiralty's controller creates pods too,
 * but never removes our finalizer from a terminating chaperon.
 */
export function foundDelegation({ servesChaperons, controller, mayWritePods }: FoundTarget): DelegationMode
  | undefined {
  if (servesChaperons === false) return 'Pod';
  if (servesChaperons === undefined || controller === 'unknown') return undefined;
  if (controller === 'alive') return 'PodChaperon';
  return mayWritePods === true ? 'Pod' : undefined;
}

/** One delegation mode. */
export interface Delegation {
  readonly mode: DelegationMode;
  /** The kind that the source creates in the target. */
  readonly type: ResourceType;
  /**
   * The object to create. It has the chaperon's name in both modes, so that the API server's uniqueness prevents a
   * second one.
   */
  readonly toObject: (chaperon: PodChaperon) => KubernetesObject;
}

/** Both modes. */
export const DELEGATIONS: Readonly<Record<DelegationMode, Delegation>> = {
  PodChaperon: { mode: 'PodChaperon', type: POD_CHAPERONS, toObject: (chaperon) => chaperon },
  Pod: { mode: 'Pod', type: PODS, toObject: toDirectDelegate },
};

/**
 * The delegate pod as the source creates it. A pod that must not run again gets a finalizer, so that a restarted source
 * still observes its terminal status.
 */
function toDirectDelegate(chaperon: PodChaperon): Pod {
  const runsOnce = (chaperon.spec.restartPolicy ?? 'Always') !== 'Always';
  const metadata = { ...toDelegateMeta(chaperon), ...(runsOnce && { finalizers: [RUN_ONCE_FINALIZER] }) };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: toDelegatePodSpec(chaperon) };
}

/**
 * Deletes a pod's object in its target; `graceSeconds` overrides the pod's own grace period. A chaperon stays until its
 * delegate is gone, because of its finalizer: foreground deletion would only add the requests of the target's garbage
 * collector, seven for each.
 */
export function planChaperonDeletion(chaperon: Chaperon, graceSeconds?: number): Plan {
  if (chaperon.mode === 'PodChaperon') return [deletion(POD_CHAPERONS, chaperon)];
  const grace = graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds };
  return [{ ...deletion(PODS, chaperon), ...grace }];
}

/**
 * Whether a pod that the source created has no containers any more and only its finalizer keeps it (a kubelet then sets
 * the grace period to 0).
 */
export function isStoppedWithFinalizer({ mode, terminating, graceSeconds, runOnceFinalizer }: Chaperon): boolean {
  return mode === 'Pod' && terminating && graceSeconds === 0 && runOnceFinalizer !== undefined;
}

/** Removes the finalizer `run-once` of a delegate that must not run again, once its terminal status is stored. */
export function planRunOnceFinalizerRemoval(
  { key, runOnceFinalizer }: Pick<Chaperon, 'key' | 'runOnceFinalizer'>,
): Plan {
  if (runOnceFinalizer === undefined) return [];
  const finalizers = runOnceFinalizer.finalizers.filter((finalizer) => finalizer !== RUN_ONCE_FINALIZER);
  const patch = { metadata: { resourceVersion: runOnceFinalizer.resourceVersion, finalizers } };
  return [{ kind: 'patch', type: PODS, at: splitKey(key), patchType: 'merge', patch }];
}

/**
 * Whether a proxy's delegate is gone, or goes. Then its proxy goes as well, as a pod of a drained or lost node does,
 * and is replaced meanwhile. A delegate that its target stops because nobody has confirmed it may be wanted again.
 */
export function isDelegateGone(
  chaperon: Chaperon | undefined, delegate?: Pick<DelegatePod, 'terminating'>,
): boolean {
  if (chaperon === undefined || chaperon.podMissing || chaperon.terminating) return true;
  return delegate?.terminating === true && chaperon.expired === undefined;
}

// The state of the world that one decision is made on.
import type { Rejection } from './rejection.ts';
import type { StringMap } from '../../api/objects/core.ts';
import type { ClusterConstraints } from '../../model/proxy/proxy-pod.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import type { PlacementRules } from './placement-rules.ts';
import type { PodClass } from './placed-pods.ts';
import type { ScoreWeights } from './score-weights.ts';
import type { TargetCapacity } from './target-capacity.ts';
import type { NodeRequirements } from './node-requirements.ts';
import type { TargetTraits } from './target-traits.ts';

/** A target as a decision sees it. Every change of the target makes another object. */
export interface TargetSnapshot {
  readonly ref: TargetRef;
  /** Text form of `ref`. */
  readonly key: string;
  /** Virtual node that stands for it. */
  readonly nodeName: string;
  /** Why no new pod may go there now: it cannot be reached, say. */
  readonly unavailable?: Rejection;
  /** Missing until the target has published a summary. Shared between the snapshots of a target: it holds until the next change. */
  readonly capacity?: TargetCapacity;
  /** Its virtual node and what its object declares; missing where only capacity counts. */
  readonly traits?: TargetTraits;
}

/** A pod that looks for a target. All fields but `refusals` are equal for pods of one class: see EquivalenceCache. */
export interface PodToSchedule {
  readonly namespace: string;
  readonly requirements: NodeRequirements;
  /** Targets, by key, that have refused this pod lately. */
  readonly refusals: ReadonlyMap<string, Rejection>;
  /** What chooses among targets beside capacity; missing when nothing does. */
  readonly placement?: PlacementConstraints;
}

/** What user and administrator wish of the place of a pod, and what it is weighed against. */
export interface PlacementConstraints {
  readonly labels: StringMap;
  readonly controllerUid?: string;
  /** Of the proxy pod. */
  readonly constraints: ClusterConstraints;
  /** What the policies of its namespace and of the cluster make of it. */
  readonly rules: PlacementRules;
  readonly weights: ScoreWeights;
  /** How long it has been looking for a target, in s. */
  readonly waitedSeconds: number;
  /** Pods that are placed already, of all namespaces. */
  readonly placed: readonly PodClass[];
  /** Labels of the namespaces that are known. */
  readonly namespaces: ReadonlyMap<string, StringMap>;
  /** Where the source cluster is, for the score of locality. */
  readonly location?: { readonly region?: string; readonly zone?: string };
  /** What the pod asks of a node of a target for which a policy changes its delegate, by the target's key. */
  readonly overridden?: ReadonlyMap<string, NodeRequirements>;
  /** Why a policy's patch does not apply to the delegate, by the key of the target that it is for. */
  readonly unpatchable?: ReadonlyMap<string, string>;
}

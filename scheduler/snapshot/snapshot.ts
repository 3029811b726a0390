// The inputs of one decision.
import type { Rejection } from './rejection.ts';
import type { StringMap } from '../../api/objects/core.ts';
import type { ClusterConstraints } from '../../model/proxy/proxy-pod.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import type { PlacementRules } from './placement-rules.ts';
import type { PodClass } from './placed-pods.ts';
import type { ScoreWeights } from '../../model/proxy/score-weights.ts';
import type { TargetCapacity } from './target-capacity.ts';
import type { NodeRequirements } from './node-requirements.ts';
import type { VirtualNodeInfo } from './virtual-node-info.ts';

/** A target as a decision sees it. Every change of the target creates another object. */
export interface TargetSnapshot {
  readonly ref: TargetRef;
  /** Text form of `ref`. */
  readonly key: string;
  /** The virtual node of the target. */
  readonly nodeName: string;
  /** Why no new pod may go there now: it is unreachable, for example. */
  readonly unavailable?: Rejection;
  /**
   * Missing until the target has published a summary. All snapshots of a target share it; it is valid until the next
   * change.
   */
  readonly capacity?: TargetCapacity;
  /** Its virtual node and the settings of its object; missing where only capacity is known. */
  readonly nodeInfo?: VirtualNodeInfo;
}

/** A pod that needs a target. All fields but `rejectedBy` are equal for pods of one equivalence class. */
export interface PodToSchedule {
  readonly namespace: string;
  readonly requirements: NodeRequirements;
  /** Targets, by key, that rejected this pod recently. */
  readonly rejectedBy: ReadonlyMap<string, Rejection>;
  /** Placement inputs apart from capacity; missing when there are none. */
  readonly placement?: PlacementConstraints;
}

/** Constraints of user and administrator on the target of a pod, and the state they are evaluated on. */
export interface PlacementConstraints {
  readonly labels: StringMap;
  readonly controllerUid?: string;
  /** Of the proxy pod. */
  readonly constraints: ClusterConstraints;
  /** The combined rules of the policies of its namespace and of the cluster. */
  readonly rules: PlacementRules;
  readonly weights: ScoreWeights;
  /** How long it has been waiting for a target, in s. */
  readonly waitedSeconds: number;
  /** Pods that are placed already, of all namespaces. */
  readonly placed: readonly PodClass[];
  /** Labels of the known namespaces. */
  readonly namespaces: ReadonlyMap<string, StringMap>;
  /** Location of the source cluster, for the score of locality. */
  readonly location?: { readonly region?: string; readonly zone?: string };
  /** What the pod requires of a node where a policy overrides its delegate, by the target's key. */
  readonly overridden?: ReadonlyMap<string, NodeRequirements>;
  /** Why a policy's patch does not apply to the delegate, by the target's key. */
  readonly unpatchable?: ReadonlyMap<string, string>;
}

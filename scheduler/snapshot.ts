// The state of the world that one decision is made on.
import type { TargetRef } from '../model/target-ref.ts';
import type { NodeRequirements, TargetCapacity } from './target-capacity.ts';

/** Why a target does not get a pod. `reason` is CamelCase, `message` says what to change. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

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
}

/** A pod that looks for a target. All fields but `refusals` are equal for pods of one class: see DecisionCache. */
export interface PodToSchedule {
  readonly namespace: string;
  readonly requirements: NodeRequirements;
  /** Targets, by key, that have refused this pod lately. */
  readonly refusals: ReadonlyMap<string, Rejection>;
}

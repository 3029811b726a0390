// How a placement policy divides pods over targets: in tiers, by weights, or spread over the values of a label.
import {
  int32, labelSelectorSchema, listOf, MAX_SELECTOR_LIST, objectOf, recordOf, text, type Schema,
} from '../objects/schema.ts';
import type { LabelSelector } from '../objects/selectors.ts';

/** Targets of equal rank; the next tier is used when no pod fits here and the wait is over. */
export interface PolicyTier {
  readonly targets: LabelSelector;
  /** How long a pod waits for this tier before the next one opens; 0 when missing. */
  readonly waitSeconds?: number;
}

/** Schema of a list of {@link PolicyTier}. */
export const TIERS: Schema = listOf('Targets in order of preference; targets in no tier are not used.', recordOf({
  targets: labelSelectorSchema('Targets of this tier by their labels; an empty selector means all.'),
  waitSeconds: int32('How long a pod waits for this tier before it may go to the next one; default: 0.', {
    minimum: 0, maximum: 86_400,
  }),
}, ['targets']), { minItems: 1, maxItems: MAX_SELECTOR_LIST });

/** `core/v1` UnsatisfiableConstraintAction. */
export type WhenUnsatisfiable = 'DoNotSchedule' | 'ScheduleAnyway';

const UNSATISFIABLE: Schema = text('DoNotSchedule waits, ScheduleAnyway (the default) goes elsewhere.', {
  enum: ['DoNotSchedule', 'ScheduleAnyway'],
});

/** Replica share: the part of a workload's replicas that runs in some targets. */
export interface ReplicaShare {
  readonly targets: LabelSelector;
  /** Replicas here, in proportion to the weights of all replica shares. */
  readonly weight: number;
}

/** Division of replicas by weights. */
export interface PolicyReplicas {
  readonly shares: readonly ReplicaShare[];
  /** `ScheduleAnyway` (the default) places elsewhere when the targets of the share are full, `DoNotSchedule` waits. */
  readonly whenUnsatisfiable?: WhenUnsatisfiable;
}

/** Schema of {@link PolicyReplicas}. */
export const REPLICAS: Schema = objectOf('Divides the replicas of each workload in proportion to weights.', {
  shares: listOf('Replica shares; targets in none get no replicas while those in one have capacity.', recordOf({
    targets: labelSelectorSchema('Targets of this replica share.'),
    weight: int32('Weight of this replica share relative to the others.', { minimum: 1, maximum: 1_000 }),
  }, ['targets', 'weight']), { minItems: 1, maxItems: MAX_SELECTOR_LIST }),
  whenUnsatisfiable: UNSATISFIABLE,
}, ['shares']);

/** Spreads the selected pods over the values of a target label. */
export interface PolicySpread {
  readonly topologyKey: string;
  /** 1 when missing. */
  readonly maxSkew?: number;
  /** `ScheduleAnyway` when missing. */
  readonly whenUnsatisfiable?: WhenUnsatisfiable;
}

/** Schema of a list of {@link PolicySpread}. */
export const SPREAD: Schema = listOf(
  'Spreads the selected pods of a namespace over the values of labels of targets.',
  recordOf({
    topologyKey: text(
      'Label of targets, for example topology.kubernetes.io/region; kubernetes.io/hostname means each target.',
      { minLength: 1, maxLength: 317 },
    ),
    maxSkew: int32('How many more pods one value may have than another; default: 1.', { minimum: 1 }),
    whenUnsatisfiable: UNSATISFIABLE,
  }, ['topologyKey']),
  { maxItems: 4 },
);

// How a placement policy divides pods over targets: in tiers, by weights, or spread over the values of a label.
import { labelSelectorSchema, MAX_SELECTOR_LIST, type Schema } from '../objects/schema.ts';
import type { LabelSelector } from '../objects/selectors.ts';

/** Targets of equal rank; the next tier is used when no pod fits here and the wait is over. */
export interface PolicyTier {
  readonly targets: LabelSelector;
  /** How long a pod waits for this tier before the next one opens; 0 when missing. */
  readonly waitSeconds?: number;
}

/** Schema of a list of {@link PolicyTier}. */
export const TIERS: Schema = {
  type: 'array',
  description: 'Targets in the order in which they are to be used; targets of no tier are not used.',
  minItems: 1,
  maxItems: MAX_SELECTOR_LIST,
  'x-kubernetes-list-type': 'atomic',
  items: {
    type: 'object',
    required: ['targets'],
    properties: {
      targets: labelSelectorSchema('Targets of this tier by their labels; an empty selector means all.'),
      waitSeconds: {
        type: 'integer', format: 'int32',
        description: 'How long a pod waits for this tier before it may go to the next one; 0 when missing.', minimum: 0,
        maximum: 86_400,
      },
    },
  },
};

/** `core/v1` UnsatisfiableConstraintAction. */
export type WhenUnsatisfiable = 'DoNotSchedule' | 'ScheduleAnyway';

const UNSATISFIABLE: Schema = {
  type: 'string', description: 'DoNotSchedule waits, ScheduleAnyway (the default) goes elsewhere.',
  enum: ['DoNotSchedule', 'ScheduleAnyway'],
};

/** A part of a workload's replicas. */
export interface PolicyShare {
  readonly targets: LabelSelector;
  /** Replicas here, in proportion to the other shares' weights. */
  readonly weight: number;
}

/** Division of replicas by weights. */
export interface PolicyReplicas {
  readonly shares: readonly PolicyShare[];
  /** `ScheduleAnyway` (the default) places elsewhere when the share's target is full, `DoNotSchedule` waits. */
  readonly whenUnsatisfiable?: WhenUnsatisfiable;
}

/** Schema of {@link PolicyReplicas}. */
export const REPLICAS: Schema = {
  type: 'object',
  description: 'Replicas of each workload in proportion: 3 here, 5 there.',
  required: ['shares'],
  properties: {
    shares: {
      type: 'array',
      description: 'The parts; targets of no part get none while the parts have room.',
      minItems: 1,
      maxItems: MAX_SELECTOR_LIST,
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['targets', 'weight'],
        properties: {
          targets: labelSelectorSchema('Targets that take this part together.'),
          weight: {
            type: 'integer', format: 'int32', description: 'Replicas here in proportion to the other weights.',
            minimum: 1, maximum: 1_000,
          },
        },
      },
    },
    whenUnsatisfiable: UNSATISFIABLE,
  },
};

/** Spreads the selected pods over the values of a target label. */
export interface PolicySpread {
  readonly topologyKey: string;
  /** 1 when missing. */
  readonly maxSkew?: number;
  /** `ScheduleAnyway` when missing. */
  readonly whenUnsatisfiable?: WhenUnsatisfiable;
}

/** Schema of a list of {@link PolicySpread}. */
export const SPREAD: Schema = {
  type: 'array',
  description: 'Spreads the selected pods of a namespace over the values of labels of targets.',
  maxItems: 4,
  'x-kubernetes-list-type': 'atomic',
  items: {
    type: 'object',
    required: ['topologyKey'],
    properties: {
      topologyKey: {
        type: 'string',
        description:
          'Label of targets, topology.kubernetes.io/region say; kubernetes.io/hostname means each target by itself.',
        minLength: 1, maxLength: 317,
      },
      maxSkew: {
        type: 'integer', format: 'int32',
        description: 'How many more pods one value may have than another; 1 when missing.', minimum: 1,
      },
      whenUnsatisfiable: UNSATISFIABLE,
    },
  },
};

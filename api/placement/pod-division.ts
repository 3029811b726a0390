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
  description: 'Targets in order of preference; targets in no tier are not used.',
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
        description: 'How long a pod waits for this tier before it may go to the next one; default: 0.', minimum: 0,
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
export const REPLICAS: Schema = {
  type: 'object',
  description: 'Divides the replicas of each workload in proportion to weights.',
  required: ['shares'],
  properties: {
    shares: {
      type: 'array',
      description: 'Replica shares; targets in none get no replicas while those in one have capacity.',
      minItems: 1,
      maxItems: MAX_SELECTOR_LIST,
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['targets', 'weight'],
        properties: {
          targets: labelSelectorSchema('Targets of this replica share.'),
          weight: {
            type: 'integer', format: 'int32', description: 'Weight of this replica share relative to the others.',
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
          'Label of targets, for example topology.kubernetes.io/region; kubernetes.io/hostname means each target.',
        minLength: 1, maxLength: 317,
      },
      maxSkew: {
        type: 'integer', format: 'int32',
        description: 'How many more pods one value may have than another; default: 1.', minimum: 1,
      },
      whenUnsatisfiable: UNSATISFIABLE,
    },
  },
};

// PlacementPolicy (namespaced) and ClusterPlacementPolicy (cluster-scoped): where the selected pods may and should run.
// Required and forbidden targets always bind; in other fields a namespaced policy overrides a cluster policy.
import { ISTHMUS_GROUP } from '../objects/group-version.ts';
import type { Condition, KubernetesObject, LabelSelector } from '../objects/core.ts';
import {
  CONDITIONS, OBSERVED_GENERATION, conditionColumn, type KindDefinition, type PrinterColumn, type Schema,
} from '../objects/schema.ts';

/** Targets of equal rank; the next tier is used when no pod fits here and the wait is over. */
export interface PolicyTier {
  readonly targets: LabelSelector;
  /** How long a pod waits for this tier before the next one opens; 0 when missing. */
  readonly waitSeconds?: number;
}

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

/** `core/v1` UnsatisfiableConstraintAction. */
export type WhenUnsatisfiable = 'DoNotSchedule' | 'ScheduleAnyway';

/** Spreads the selected pods over the values of a target label. */
export interface PolicySpread {
  readonly topologyKey: string;
  /** 1 when missing. */
  readonly maxSkew?: number;
  /** `ScheduleAnyway` when missing. */
  readonly whenUnsatisfiable?: WhenUnsatisfiable;
}

/** One operation of a JSON patch (RFC 6902). */
export interface PatchOperation {
  readonly op: 'add' | 'replace' | 'remove' | 'test';
  readonly path: string;
  readonly value?: unknown;
}

/** Changes of the delegate in some targets. */
export interface PolicyOverride {
  readonly targets: LabelSelector;
  readonly patch: readonly PatchOperation[];
}

/** Spec of both kinds; all fields except the pod selectors are optional. */
export interface PlacementPolicySpec {
  /** ClusterPlacementPolicy only: namespaces by their labels; all when missing. */
  readonly namespaceSelector?: LabelSelector;
  /** Pods by their labels; all of the namespace when missing. */
  readonly podSelector?: LabelSelector;
  readonly require?: LabelSelector;
  readonly forbid?: LabelSelector;
  readonly tiers?: readonly PolicyTier[];
  readonly replicas?: PolicyReplicas;
  readonly spread?: readonly PolicySpread[];
  /** Weight of each score by its name, 0 to 100. */
  readonly weights?: Readonly<Record<string, number>>;
  readonly overrides?: readonly PolicyOverride[];
  /** Whether pods move away from a lost target after fencing. */
  readonly failover?: 'Never' | 'Fenced';
  /** Whether pods that were placed while a target was lost return to it. */
  readonly failback?: Failback;
}

/** `Manual` (the default): by `isthmus failback`; `WhenStable`: also after the target was ready for five minutes. */
export type Failback = 'Never' | 'Manual' | 'WhenStable';

/** Status of both kinds. */
export interface PlacementPolicyStatus {
  readonly observedGeneration?: number;
  /** `Ready`, and `Accepted`, the same by its name in the Gateway API. */
  readonly conditions?: readonly Condition[];
}

/** Where pods of its namespace may and should run. */
export interface PlacementPolicy extends KubernetesObject {
  readonly spec: PlacementPolicySpec;
  readonly status?: PlacementPolicyStatus;
}

/** The same for pods of all namespaces that it selects. */
export interface ClusterPlacementPolicy extends KubernetesObject {
  readonly spec: PlacementPolicySpec;
  readonly status?: PlacementPolicyStatus;
}

/** Names of the scores that can have weights. */
export const SCORE_NAMES = [
  'leastAllocated',
  'mostAllocated', 'balanced', 'gpuForGpuPods', 'preferredAffinity', 'spread', 'rtt', 'cost', 'locality',
] as const;

/** One score. */
export type ScoreName = (typeof SCORE_NAMES)[number];

/** Maximum weight of a score. */
export const MAX_WEIGHT = 100;

const MAX_LIST = 16;

function labelSelector(description: string): Schema {
  return {
    type: 'object',
    description,
    properties: {
      matchLabels: {
        type: 'object', description: 'Labels that must have these values.',
        additionalProperties: { type: 'string', maxLength: 63 }, maxProperties: MAX_LIST,
      },
      matchExpressions: {
        type: 'array',
        description: 'Requirements that must all hold.',
        maxItems: MAX_LIST,
        'x-kubernetes-list-type': 'atomic',
        items: {
          type: 'object',
          required: ['key', 'operator'],
          properties: {
            key: { type: 'string', description: 'Key of the label.', minLength: 1, maxLength: 317 },
            operator: {
              type: 'string', description: 'In, NotIn, Exists or DoesNotExist.',
              enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'],
            },
            values: {
              type: 'array', description: 'Values for In and NotIn.', maxItems: MAX_LIST * 4,
              'x-kubernetes-list-type': 'atomic', items: { type: 'string', maxLength: 63 },
            },
          },
          'x-kubernetes-validations': [
            {
              rule:
                "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || " +
                  "size(self.values) == 0",
              message: 'In and NotIn need values; Exists and DoesNotExist take none',
            },
          ],
        },
      },
    },
  };
}

const UNSATISFIABLE: Schema = {
  type: 'string', description: 'DoNotSchedule waits, ScheduleAnyway (the default) goes elsewhere.',
  enum: ['DoNotSchedule', 'ScheduleAnyway'],
};

const TIERS: Schema = {
  type: 'array',
  description: 'Targets in the order in which they are to be used; targets of no tier are not used.',
  minItems: 1,
  maxItems: MAX_LIST,
  'x-kubernetes-list-type': 'atomic',
  items: {
    type: 'object',
    required: ['targets'],
    properties: {
      targets: labelSelector('Targets of this tier by their labels; an empty selector means all.'),
      waitSeconds: {
        type: 'integer', format: 'int32',
        description: 'How long a pod waits for this tier before it may go to the next one; 0 when missing.', minimum: 0,
        maximum: 86_400,
      },
    },
  },
};

const REPLICAS: Schema = {
  type: 'object',
  description: 'Replicas of each workload in proportion: 3 here, 5 there.',
  required: ['shares'],
  properties: {
    shares: {
      type: 'array',
      description: 'The parts; targets of no part get none while the parts have room.',
      minItems: 1,
      maxItems: MAX_LIST,
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['targets', 'weight'],
        properties: {
          targets: labelSelector('Targets that take this part together.'),
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

const SPREAD: Schema = {
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

/** The paths that a patch may change: a CEL rule, and its message. */
type PatchablePaths = NonNullable<Schema['x-kubernetes-validations']>[number];
/** A namespaced policy must not give delegates fields that the source's policies have not admitted. */
const SCHEDULING_PATHS: PatchablePaths = {
  rule:
    "self.path.matches('^/spec/(nodeSelector|tolerations|affinity|topologySpreadConstraints|" +
      "terminationGracePeriodSeconds)(/|$)')",
  message:
    'a PlacementPolicy may patch nodeSelector, tolerations, affinity, topologySpreadConstraints and ' +
      'terminationGracePeriodSeconds under /spec/; anything else takes a ClusterPlacementPolicy',
};
const ALL_PATHS: PatchablePaths = {
  rule:
    "self.path.startsWith('/spec/') || self.path.startsWith('/metadata/labels/') || " +
      "self.path.startsWith('/metadata/annotations/')",
  message: 'path must begin with /spec/, /metadata/labels/ or /metadata/annotations/',
};

const overridesOf = (paths: PatchablePaths): Schema => ({
  type: 'array',
  description: 'How the delegate pod differs in some targets.',
  maxItems: MAX_LIST,
  'x-kubernetes-list-type': 'atomic',
  items: {
    type: 'object',
    required: ['targets', 'patch'],
    properties: {
      targets: labelSelector('Targets in which the delegate is changed.'),
      patch: {
        type: 'array',
        description:
          'JSON patch (RFC 6902) on the delegate pod. A PlacementPolicy may change how it is scheduled within its ' +
            'target, a ClusterPlacementPolicy its labels, annotations and spec.',
        minItems: 1,
        maxItems: 64,
        'x-kubernetes-list-type': 'atomic',
        items: {
          type: 'object',
          required: ['op', 'path'],
          properties: {
            op: {
              type: 'string', description: 'add, replace, remove or test.', enum: ['add', 'replace', 'remove', 'test'],
            },
            path: { type: 'string', description: 'JSON pointer, /spec/nodeSelector/disk say.', maxLength: 512 },
            value: { description: 'Value for add, replace and test.', 'x-kubernetes-preserve-unknown-fields': true },
          },
          'x-kubernetes-validations': [paths],
        },
      },
    },
  },
});

const WEIGHTS: Schema = {
  type: 'object',
  description:
    `Weights of scores, 0 to ${MAX_WEIGHT}: ${SCORE_NAMES.join(', ')}. Those that are not named keep the weight that ` +
      'the installation gives them.',
  properties: Object.fromEntries(
    SCORE_NAMES.map((name) => [
      name,
      {
        type: 'integer', format: 'int32', description: `Weight of the score ${name}.`, minimum: 0, maximum: MAX_WEIGHT,
      } satisfies Schema,
    ]),
  ),
};

function specSchema(selectors: Readonly<Record<string, Schema>>, paths: PatchablePaths): Schema {
  return {
    type: 'object',
    description: 'Which pods, and where they may and should run.',
    properties: {
      ...selectors,
      podSelector: labelSelector('Pods by their labels; all when missing.'),
      require: labelSelector('Only targets with these labels; always binding.'),
      forbid: labelSelector('No targets with these labels; always binding.'),
      tiers: TIERS,
      replicas: REPLICAS,
      spread: SPREAD,
      weights: WEIGHTS,
      overrides: overridesOf(paths),
      failover: {
        type: 'string',
        description:
          'Fenced lets pods leave a target that is lost once it has stopped them; Never, the default, waits for it.',
        enum: ['Never', 'Fenced'],
      },
      failback: {
        type: 'string',
        description:
          'Whether pods that were placed while a target was lost go back to it: Manual, the default, by isthmus ' +
            'failback; WhenStable by themselves once it has been ready for five minutes; Never not at all.',
        enum: ['Never', 'Manual', 'WhenStable'],
      },
    },
    'x-kubernetes-validations': [
      {
        rule:
          "!has(self.forbid) || (has(self.forbid.matchLabels) && size(self.forbid.matchLabels) > 0) || " +
            "(has(self.forbid.matchExpressions) && size(self.forbid.matchExpressions) > 0)",
        message: 'forbid with an empty selector forbids every target; name the labels that are forbidden',
      },
      {
        rule: '!(has(self.tiers) && has(self.replicas))',
        message: 'tiers and replicas are two ways to divide pods; use one of them',
      },
    ],
  };
}

const COLUMNS: readonly PrinterColumn[] = [
  conditionColumn('Ready', 'Ready'),
  { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason', priority: 1 },
];
const STATUS: Schema = {
  type: 'object', description: 'What was made of the policy.',
  properties: { observedGeneration: OBSERVED_GENERATION, conditions: CONDITIONS },
};

/** CRD of PlacementPolicy. */
export const PLACEMENT_POLICY_KIND: KindDefinition = {
  group: ISTHMUS_GROUP,
  kind: 'PlacementPolicy',
  plural: 'placementpolicies',
  shortName: 'pp',
  scope: 'Namespaced',
  description: 'Where elected pods of this namespace may and should run.',
  columns: COLUMNS,
  required: ['spec'],
  properties: { spec: specSchema({}, SCHEDULING_PATHS), status: STATUS },
};

/** CRD of ClusterPlacementPolicy. */
export const CLUSTER_PLACEMENT_POLICY_KIND: KindDefinition = {
  group: ISTHMUS_GROUP,
  kind: 'ClusterPlacementPolicy',
  plural: 'clusterplacementpolicies',
  shortName: 'cpp',
  scope: 'Cluster',
  description: 'Where elected pods may and should run: binding for require and forbid, a default for the rest.',
  columns: COLUMNS,
  required: ['spec'],
  properties: {
    spec: specSchema({ namespaceSelector: labelSelector('Namespaces by their labels; all when missing.') }, ALL_PATHS),
    status: STATUS,
  },
};

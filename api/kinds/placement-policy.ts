// PlacementPolicy (namespaced) and ClusterPlacementPolicy (cluster-scoped): where the selected pods may and should run.
// Required and forbidden targets always bind; in other fields a namespaced policy overrides a cluster policy.
import { ISTHMUS_GROUP } from '../objects/group-version.ts';
import type { Condition, KubernetesObject } from '../objects/core.ts';
import type { LabelSelector } from '../objects/selectors.ts';
import {
  conditionColumn, CONDITIONS, labelSelectorSchema, objectOf, OBSERVED_GENERATION, text, type KindDefinition,
  type PrinterColumn, type Schema,
} from '../objects/schema.ts';
import {
  ALL_PATHS, overridesSchema, SCHEDULING_PATHS, type PatchablePaths, type PolicyOverride,
} from '../placement/delegate-override.ts';
import {
  REPLICAS, SPREAD, TIERS, type PolicyReplicas, type PolicySpread, type PolicyTier,
} from '../placement/pod-division.ts';

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
  /** Whether pods of a lost target fail over after fencing. */
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
  'leastAllocated', 'mostAllocated', 'balanced', 'gpuForGpuPods', 'preferredAffinity', 'spread', 'rtt', 'cost',
  'locality',
] as const;

/** One score. */
export type ScoreName = (typeof SCORE_NAMES)[number];

/** Maximum weight of a score. */
export const MAX_WEIGHT = 100;

const WEIGHTS: Schema = objectOf(
  `Weights of scores, 0 to ${MAX_WEIGHT}: ${SCORE_NAMES.join(', ')}. Scores that are not named keep ` +
    'the weight of --score-weights, or the built-in one.',
  Object.fromEntries(
    SCORE_NAMES.map((name) => [
      name,
      {
        type: 'integer', format: 'int32', description: `Weight of the score ${name}.`, minimum: 0, maximum: MAX_WEIGHT,
      } satisfies Schema,
    ]),
  ),
);

function specSchema(selectors: Readonly<Record<string, Schema>>, paths: PatchablePaths): Schema {
  return objectOf(
    'Which pods the policy selects, and where they may and should run.',
    {
      ...selectors,
      podSelector: labelSelectorSchema('Pods by their labels; default: all.'),
      require: labelSelectorSchema('Only targets with these labels; always enforced.'),
      forbid: labelSelectorSchema('Only targets without these labels; always enforced.'),
      tiers: TIERS,
      replicas: REPLICAS,
      spread: SPREAD,
      weights: WEIGHTS,
      overrides: overridesSchema(paths),
      failover: text(
        'Fenced: pods leave a lost target once it has stopped them. Never (the default): they wait for it.',
        { enum: ['Never', 'Fenced'] },
      ),
      failback: text(
        'Whether pods that were placed while a target was lost return to it. Manual (the default): with isthmus ' +
          'failback. WhenStable: automatically, once it has been ready for five minutes. Never: not at all.',
        { enum: ['Never', 'Manual', 'WhenStable'] },
      ),
    },
    [],
    {
      'x-kubernetes-validations': [
        {
          rule:
            '!has(self.forbid) || (has(self.forbid.matchLabels) && size(self.forbid.matchLabels) > 0) || ' +
              '(has(self.forbid.matchExpressions) && size(self.forbid.matchExpressions) > 0)',
          message: 'forbid with an empty selector forbids every target; name the labels that are forbidden',
        },
        {
          rule: '!(has(self.tiers) && has(self.replicas))',
          message: 'tiers and replicas are two ways to divide pods; use one of them',
        },
      ],
    },
  );
}

const COLUMNS: readonly PrinterColumn[] = [
  conditionColumn('Ready', 'Ready'),
  { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason', priority: 1 },
];
const STATUS: Schema = objectOf('State of the policy.', {
  observedGeneration: OBSERVED_GENERATION,
  conditions: CONDITIONS,
});

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
  description: 'Where elected pods may and should run: enforced for require and forbid, a default for the rest.',
  columns: COLUMNS,
  required: ['spec'],
  properties: {
    spec: specSchema(
      { namespaceSelector: labelSelectorSchema('Namespaces by their labels; default: all.') }, ALL_PATHS,
    ),
    status: STATUS,
  },
};

// ClusterDecision: which clusters a placement chooses, for tools that deliver to clusters themselves. Users or
// these tools write its spec, the scheduler its status. The status has the form that Argo CD's ApplicationSets read.
import type { Condition, KubernetesObject, ResourceList, StringMap } from '../objects/core.ts';
import { ISTHMUS_GROUP } from '../objects/group-version.ts';
import { DECISIONS_LABEL } from '../objects/keys.ts';
import {
  conditionColumn, CONDITIONS, int32, listOf, objectOf, OBSERVED_GENERATION, recordOf, RESOURCE_LIST, text,
  type KindDefinition, type Schema,
} from '../objects/schema.ts';

/** The pods that the decision is about. */
export interface ClusterDecisionSpec {
  /** Their namespace; that of the ClusterDecision when missing. */
  readonly namespace?: string;
  /** Their labels, by which policies select them. */
  readonly podLabels?: StringMap;
  /** What one of them requests. */
  readonly requests?: ResourceList;
  /** How many clusters at most; all when missing. */
  readonly clusters?: number;
}

/** A chosen cluster. Text fields alone: ApplicationSets turn each into a parameter. */
export interface ChosenCluster {
  /** Argo CD's name of the cluster. */
  readonly clusterName: string;
  /** Name of its ClusterTarget. */
  readonly target: string;
}

/** The decision. */
export interface ClusterDecisionStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  /** Sorted by target. */
  readonly decisions?: readonly ChosenCluster[];
}

/** Which clusters a placement chooses. */
export interface ClusterDecision extends KubernetesObject {
  readonly spec?: ClusterDecisionSpec;
  readonly status?: ClusterDecisionStatus;
}

/** The value of {@link DECISIONS_LABEL} that lets decisions be about other namespaces. */
export const DECISIONS_VALUE = 'all-namespaces';

const SPEC: Schema = objectOf('The pods that the decision is about.', {
  namespace: text(
    'Their namespace; that of the ClusterDecision when missing. Another one only where the Namespace of the ' +
      `ClusterDecision has label ${DECISIONS_LABEL}=${DECISIONS_VALUE}.`,
    { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' },
  ),
  podLabels: {
    type: 'object',
    description: 'Their labels, by which placement policies select them.',
    additionalProperties: { type: 'string', maxLength: 63 },
    maxProperties: 32,
  },
  requests: { ...RESOURCE_LIST, description: 'What one of them requests; a cluster is chosen if that fits.' },
  clusters: int32('How many clusters at most; all that placement allows when missing.', { minimum: 1, maximum: 1000 }),
});

const STATUS: Schema = objectOf('The decision.', {
  observedGeneration: OBSERVED_GENERATION,
  conditions: CONDITIONS,
  decisions: listOf('The chosen clusters.', recordOf({
    clusterName: text("Argo CD's name of the cluster."),
    target: text('Name of its ClusterTarget.'),
  }, ['clusterName', 'target'])),
});

/** CRD of ClusterDecision. */
export const CLUSTER_DECISION_KIND: KindDefinition = {
  group: ISTHMUS_GROUP,
  kind: 'ClusterDecision',
  plural: 'clusterdecisions',
  shortName: 'cdec',
  scope: 'Namespaced',
  description: 'Which clusters a placement chooses, for the ApplicationSets of Argo CD.',
  columns: [
    conditionColumn('Ready', 'Ready'),
    { name: 'Clusters', type: 'string', jsonPath: '.status.decisions[*].clusterName' },
    { name: 'Namespace of pods', type: 'string', jsonPath: '.spec.namespace', priority: 1 },
  ],
  properties: { spec: SPEC, status: STATUS },
};

// The kinds of SIG Multicluster's Cluster Inventory API (`multicluster.x-k8s.io/v1alpha1`) that targets and decisions
// are published as: the fields that are written, as release 0.1 of the API has them.
import type { Condition, KubernetesObject } from '../objects/core.ts';

/** A fact about a cluster (KEP-2149, KEP-4322). */
export interface ClusterProperty {
  /** At most {@link MAX_PROPERTY_NAME} characters, none of them twice. */
  readonly name: string;
  /** 1 to {@link MAX_PROPERTY_VALUE} characters. */
  readonly value: string;
}

/** Limits of the kind's schema, in characters. */
export const MAX_PROPERTY_NAME = 253;
export const MAX_PROPERTY_VALUE = 1_024;

/** A way to reach a cluster (KEP-5339): its server, and settings for whatever gets the credentials. */
export interface AccessProvider {
  readonly name: string;
  /** `clientcmd/api/v1` Cluster. */
  readonly cluster: object;
}

/** Status of a ClusterProfile. */
export interface ClusterProfileStatus {
  readonly conditions?: readonly Condition[];
  readonly properties?: readonly ClusterProperty[];
  readonly accessProviders?: readonly AccessProvider[];
}

/** A cluster, as its manager presents it. */
export interface ClusterProfile extends KubernetesObject {
  readonly spec: {
    readonly displayName?: string;
    /** Immutable. */
    readonly clusterManager: { readonly name: string }
  };
  readonly status?: ClusterProfileStatus;
}

/** Isthmus as the manager of clusters: `spec.clusterManager.name`, and the value of {@link MANAGER_LABEL}. */
export const CLUSTER_MANAGER = 'isthmus';
/** Label of ClusterProfiles: the name of their manager. */
export const MANAGER_LABEL = 'x-k8s.io/cluster-manager';

/** A part of a decision (KEP-5313): at most {@link MAX_DECISIONS} clusters. It has no status. */
export interface PlacementDecision extends KubernetesObject {
  readonly decisions: readonly { readonly clusterProfileRef: { readonly name: string } }[];
  readonly schedulerName?: string;
}

/** Clusters of one PlacementDecision. */
export const MAX_DECISIONS = 100;
/** Label of the PlacementDecisions that one decision is divided into. */
export const DECISION_KEY_LABEL = 'multicluster.x-k8s.io/decision-key';
/** Label of PlacementDecisions: their position in the decision, from 0. */
export const DECISION_INDEX_LABEL = 'multicluster.x-k8s.io/decision-index';

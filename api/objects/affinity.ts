// Where a pod may run by its own spec: affinity to nodes and pods, and spreading, as Kubernetes has them (`core/v1`).
import type { LabelSelector, NodeSelectorTerm } from './selectors.ts';

/** `core/v1` PodAffinityTerm: selects pods, and the topology domain. */
export interface PodAffinityTerm {
  readonly labelSelector?: LabelSelector;
  readonly topologyKey: string;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

/** `core/v1` PodAffinity and PodAntiAffinity, which have the same shape. */
export interface PodAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[];
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly weight: number;
    readonly podAffinityTerm: PodAffinityTerm;
  }[];
}

/** `core/v1` Affinity. */
export interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
    };
    readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
      readonly weight: number;
      readonly preference: NodeSelectorTerm;
    }[];
  };
  readonly podAffinity?: PodAffinity;
  readonly podAntiAffinity?: PodAffinity;
}

/** `core/v1` TopologySpreadConstraint. */
export interface TopologySpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
  readonly labelSelector?: LabelSelector;
  readonly minDomains?: number;
  /** `Honor` (the default) or `Ignore`. */
  readonly nodeAffinityPolicy?: string;
  /** `Honor` or `Ignore` (the default). */
  readonly nodeTaintsPolicy?: string;
  readonly matchLabelKeys?: readonly string[];
}

// Pod metrics of a cluster's metrics server (`metrics.k8s.io/v1beta1`), the fields that are read here.
import type { KubernetesObject, ResourceList } from './core.ts';

/** `metrics.k8s.io/v1beta1` PodMetrics; the metadata is the pod's. */
export interface PodMetrics extends KubernetesObject {
  /** End of the measured interval (RFC 3339). */
  readonly timestamp?: string;
  readonly containers?: readonly { readonly name: string; readonly usage?: ResourceList }[];
}

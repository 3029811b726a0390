// What a cluster's metrics server says of a pod (`metrics.k8s.io/v1beta1`), as far as it is read here.
import type { KubernetesObject, ResourceList } from './core.ts';

/** `metrics.k8s.io/v1beta1` PodMetrics; the metadata are those of the pod. */
export interface PodMetrics extends KubernetesObject {
  /** End of the interval that the figures are of (RFC 3339). */
  readonly timestamp?: string;
  readonly containers?: readonly { readonly name: string; readonly usage?: ResourceList }[];
}

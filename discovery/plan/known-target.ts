// A ClusterTarget as discovery remembers it: whose it is, which entry it was made of, and which cluster it points to.
import type { ClusterTarget } from '../../api/kinds/cluster-target.ts';
import {
  DISCOVERED_BY_LABEL, LEFT_REGISTRY_ANNOTATION, REGISTERED_CLUSTER_ANNOTATION, REGISTERED_NAME_ANNOTATION,
  REGISTRY_ENTRY_ANNOTATION, TEMPLATE_DIGEST_ANNOTATION,
} from '../../api/objects/keys.ts';

/** The fields that decisions are made on. */
export interface KnownTarget {
  readonly name: string;
  readonly uid: string;
  readonly terminating: boolean;
  /** Name of the TargetDiscovery that made it, as a label value; missing on one that it did not create. */
  readonly discoveredBy?: string | undefined;
  readonly entry?: string | undefined;
  /** Name that the registry knows its cluster by, where it has one. */
  readonly registeredName?: string | undefined;
  /** UID of the cluster's kube-system Namespace, where it is known. */
  readonly clusterId?: string | undefined;
  readonly templateDigest?: string | undefined;
  /** Since when its cluster is gone from the registry (RFC 3339). */
  readonly leftAt?: string | undefined;
}

/** Projects an object. */
export function toKnownTarget({ metadata, status }: ClusterTarget): KnownTarget {
  const { name = '', uid = '', labels = {}, annotations = {}, deletionTimestamp } = metadata;
  return {
    name, uid, terminating: deletionTimestamp !== undefined,
    discoveredBy: labels[DISCOVERED_BY_LABEL],
    entry: annotations[REGISTRY_ENTRY_ANNOTATION],
    registeredName: annotations[REGISTERED_NAME_ANNOTATION],
    clusterId: status?.clusterID ?? annotations[REGISTERED_CLUSTER_ANNOTATION],
    templateDigest: annotations[TEMPLATE_DIGEST_ANNOTATION],
    leftAt: annotations[LEFT_REGISTRY_ANNOTATION],
  };
}

/** Whether nothing that matters differs: free capacity in the status changes all the time. */
export function isSameTarget(one: KnownTarget | undefined, other: KnownTarget | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

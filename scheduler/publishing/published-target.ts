// What a ClusterProfile is made from: the target's object, its session, and its cluster's own properties.
import type { ClusterProperty } from '../../api/placement/cluster-inventory.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { toProperties, type PublishedTarget } from './cluster-profile.ts';

/** Polling interval of a cluster's ClusterProperties, in ms. */
const PROPERTIES_MS = 600_000;
/** Pause in ms after they could not be read. */
const RETRY_MS = 30_000;

/** What is read of a target's session. */
export interface SessionFacts extends Pick<PublishedTarget, 'clusterId' | 'availability' | 'endpoint'> {
  readonly session: { readonly hasSynced: boolean } | undefined;
}

/** What is read of a ClusterTarget. */
export interface ObjectFacts extends Pick<PublishedTarget, 'uid' | 'labels' | 'spec'> {
  readonly ref: { readonly name: string };
  readonly status: { readonly clusterID?: string };
}

/** A target, the place of its kubeconfig, and the ClusterProperties of its cluster; undefined until they were read. */
export interface TargetFacts extends Pick<PublishedTarget, 'properties' | 'secretRef'> {
  readonly object: ObjectFacts;
  readonly target: SessionFacts;
}

/** How a list of ClusterProperties ended; `absent` where the kind is not served. */
export type Listed =
  | { readonly kind: 'listed'; readonly items: readonly KubernetesObject[] }
  | { readonly kind: 'absent' | 'forbidden' | 'failed' };

/** What reading the ClusterProperties of a target gave. */
export interface PropertiesRead {
  /** Undefined where they could not be read: they stay what they were. */
  readonly properties: readonly ClusterProperty[] | undefined;
  /** Pause in ms until they are read again. */
  readonly againMs: number;
}

/** What is published of a target. Until its cluster is identified again, the ID in its status counts. */
export function toPublishedTarget({ object, target, properties, secretRef }: TargetFacts): PublishedTarget {
  const { ref, uid, labels, spec, status } = object;
  const { clusterId = status.clusterID, availability, endpoint, session } = target;
  return {
    name: ref.name, uid, labels, spec, clusterId, availability, isSynced: session?.hasSynced === true, properties,
    secretRef, endpoint,
  };
}

/**
 * A cluster without the kind has no properties. A list that is forbidden is not tried sooner: permissions rarely
 * change.
 */
export function toPropertiesRead(listed: Listed): PropertiesRead {
  switch (listed.kind) {
    case 'listed':
      return { properties: toProperties(listed.items), againMs: PROPERTIES_MS };
    case 'absent':
      return { properties: [], againMs: PROPERTIES_MS };
    case 'forbidden':
      return { properties: undefined, againMs: PROPERTIES_MS };
    case 'failed':
      return { properties: undefined, againMs: RETRY_MS };
  }
}

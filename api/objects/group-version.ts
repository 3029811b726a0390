// Resource types of the Kubernetes API, and the API groups that Isthmus serves.
import type { KubernetesObject } from './core.ts';

/** A kind of object: `group` is empty for the core API, `plural` is the name in the path. */
export interface ResourceType<T extends KubernetesObject = KubernetesObject> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never set: makes `T` part of the type, so that a path cannot be read as another kind. */
  readonly shape?: T;
}

/** API group of Admiralty's kinds, which Isthmus serves unchanged. */
export const ADMIRALTY_GROUP = 'multicluster.admiralty.io';

/** API group of the kinds that Admiralty does not have. */
export const ISTHMUS_GROUP = 'isthmus.dev';

/** `apiVersion` of Admiralty's kinds. */
export const ADMIRALTY_API_VERSION = `${ADMIRALTY_GROUP}/v1alpha1`;

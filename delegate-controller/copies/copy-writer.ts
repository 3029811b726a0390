// Reads and writes the copies of one kind in one target.
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { ConnectionState } from '../../kubernetes/watch/informer.ts';
import type { CopyObject, SourceObject } from './follow-plan.ts';
import type { FollowedKind } from './followed-kinds.ts';

/** One kind of objects in one target, and how its copies are reached. */
export interface CopiesOptions {
  readonly client: ClusterClient;
  readonly kind: FollowedKind;
  /** The one namespace of a Target; all when missing. */
  readonly namespace: string | undefined;
  readonly sourceId: string;
  readonly logger: Logger;
}

/** Outcome of a write. */
export type Written =
  /** `digest` is that of the object as the target stored it. */
  | { readonly kind: 'stored'; readonly digest: string }
  | { readonly kind: 'equal' }
  /** The target has an object of that name that is not our copy. */
  | { readonly kind: 'foreign' }
  /** Only a new copy can be what the source's object is now. */
  | { readonly kind: 'unchangeable' }
  /** The cache was stale. */
  | { readonly kind: 'stale' };

/** A copy to write: the source's object from an uncached read, and the cached copy. */
export interface CopyWrite {
  readonly object: KubernetesObject;
  readonly copy: CopyObject | undefined;
}

/** Copies of one kind in a target. */
export interface Copies {
  readonly hasSynced: boolean;
  readonly connection: ConnectionState;
  keys(): Iterable<string>;
  /** The copy of an object, compared with the source's current one. */
  get(key: string, source: SourceObject | undefined | 'unknown'): CopyObject | undefined;
  onChange(listener: (key: string) => void): void;
  run(signal: AbortSignal): void;
  /** The copy was deleted: the last write no longer counts. */
  forget(key: string): void;
  /** Creates or updates a copy. Throws errors of the API server except AlreadyExists. */
  write(write: CopyWrite, signal: AbortSignal): Promise<Written>;
}

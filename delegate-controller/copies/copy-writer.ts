// The copies of one kind in one target, as following sees them: which there are, and how one is written.
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { ConnectionState } from '../../kubernetes/watch/informer.ts';
import type { CopyObject, SourceObject } from './follow-plan.ts';
import type { FollowedKind } from './followed-kinds.ts';

/** Where copies of one kind are. */
export interface CopiesPlace {
  readonly client: ClusterClient;
  readonly kind: FollowedKind;
  /** The one namespace of a Target; all when missing. */
  readonly namespace: string | undefined;
  readonly sourceId: string;
  readonly logger: Logger;
}

/** What became of a write. */
export type Written =
  /** `digest` is that of what the target made of it. */
  | { readonly kind: 'stored'; readonly digest: string }
  | { readonly kind: 'equal' }
  /** The target has an object of that name which is not ours. */
  | { readonly kind: 'foreign' }
  /** What is known is behind. */
  | { readonly kind: 'stale' };

/** What is to be written: the object of the source as read live, and what is known of its copy. */
export interface CopyWrite {
  readonly object: KubernetesObject;
  readonly copy: CopyObject | undefined;
}

/** Copies of one kind in a target. */
export interface Copies {
  readonly hasSynced: boolean;
  readonly connection: ConnectionState;
  keys(): Iterable<string>;
  /** The copy of an object, compared with what the source has now. */
  get(key: string, source: SourceObject | undefined | 'unknown'): CopyObject | undefined;
  onChange(listener: (key: string) => void): void;
  run(signal: AbortSignal): void;
  /** Called when a copy was deleted: what was last written there counts no more. */
  forget(key: string): void;
  /** Makes or changes a copy. Throws what the API server answers, but for an object that is there already. */
  write(write: CopyWrite, signal: AbortSignal): Promise<Written>;
}

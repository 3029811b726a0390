// What a registry says now, or why it cannot be read. Nothing is concluded from a registry that cannot be read.
import type { RegisteredCluster } from './registered-cluster.ts';

/** The entries, or why they are not known. */
export type RegistryReading =
  | {
    readonly kind: 'read'; readonly clusters: readonly RegisteredCluster[];
    /** Whether all watches are open, so that an entry that is missing has left. */
    readonly isComplete: boolean;
    /** Whether entries are hints, whose absence means nothing. */
    readonly areHints?: boolean
  }
  | {
    readonly kind: 'unread'; readonly reason: 'NotServed' | 'Forbidden' | 'Unreadable' | 'Reading';
    readonly message: string
  };

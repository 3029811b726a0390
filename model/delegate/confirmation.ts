// The contract between source and target about unconfirmed candidates (ADR 0048): how long a target keeps one, how it
// learns that one was bound, and from when on the source may assume that it is gone. All times are those of the
// target's API server.
import { CONFIRM_BEFORE_ANNOTATION } from '../../api/objects/keys.ts';
import type { ObjectMeta } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { SourceLease } from '../../api/kinds/source-lease.ts';

/** Time from sending a candidate to its confirmation deadline, in ms. */
export const CONFIRM_WITHIN_MS = 25_000;
/** A candidate with less time left is not bound any more, because its confirmation might be late, in ms. */
export const CONFIRM_MARGIN_MS = 8_000;
/** Maximum grace period of an unconfirmed candidate, in seconds: its pod was never bound. */
export const UNCONFIRMED_GRACE_SECONDS = 5;
/** Time that a source allows the target's controller and kubelet to stop such a candidate, in ms. */
export const STOP_ALLOWANCE_MS = 20_000;

/** The state of a target's API server as its source observes it. Times are in ms of one monotonic clock. */
export interface ServerHealth {
  /**
   * Time since anything arrived from it; undefined where nothing has, or when it has refused or closed connections
   * since: then it may be down while its nodes keep running pods.
   */
  readonly silentMs: number | undefined;
  /** It was seen to refuse or close connections since its last response; false before the first call. */
  readonly isRefusing: boolean;
  /** It responds normally. */
  readonly isReady: boolean;
}

/**
 * Whether a source may assume that a target has stopped a candidate after its deadline. Only a running API server can
 * stop anything: one that is known to be down has stopped nothing, and one that responded recently may not have stopped
 * it yet.
 */
export function hasSurelyStopped(
  { goneAt, now }: { readonly goneAt: number; readonly now: number },
  { silentMs, isReady }: Omit<ServerHealth, 'isRefusing'>,
): boolean {
  return !isReady && goneAt <= now && silentMs !== undefined && silentMs >= STOP_ALLOWANCE_MS;
}

/** Name of the SourceLease whose `renewTime` is the deadline before which all candidates of a source are confirmed. */
export function candidateLeaseName(sourceId: string): string {
  return `${CANDIDATE_LEASE_PREFIX}${sourceId}`;
}

const CANDIDATE_LEASE_PREFIX = 'candidates-';

/** Whether a SourceLease is one of {@link candidateLeaseName}: it never expires. */
export function isCandidateLease({ name = '' }: ObjectMeta): boolean {
  return name.startsWith(CANDIDATE_LEASE_PREFIX);
}

/** Adds a confirmation deadline to a candidate's chaperon, in ms since the epoch. */
export function toBeConfirmed(chaperon: PodChaperon, before: number): PodChaperon {
  const { metadata } = chaperon;
  return {
    ...chaperon,
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, [CONFIRM_BEFORE_ANNOTATION]: new Date(before).toISOString() },
    },
  };
}

/** Deadline of a candidate's confirmation; undefined when it needs none. */
export function confirmBefore({ annotations }: ObjectMeta): number | undefined {
  const time = Date.parse(annotations?.[CONFIRM_BEFORE_ANNOTATION] ?? '');
  return Number.isNaN(time) ? undefined : time;
}

/** Whether a candidate still needs its confirmation. One created after its deadline always does. */
export function isUnconfirmed(metadata: ObjectMeta, lease: Pick<SourceLease, 'spec'> | undefined): boolean {
  const before = confirmBefore(metadata);
  if (before === undefined) return false;
  const isLate = Date.parse(metadata.creationTimestamp ?? '') >= before;
  return isLate || !(Date.parse(lease?.spec.renewTime ?? '') > before);
}

// What a source and a target agree on about candidates that nobody has confirmed (ADR 0048): until when a target lets one live, how it hears that
// one was bound, and from when on its source may take for granted that it has gone. All times are those of the target's API server.
import { CONFIRM_BEFORE_ANNOTATION } from '../../api/objects/keys.ts';
import type { ObjectMeta } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { SourceLease } from '../../api/kinds/source-lease.ts';

/** How long a candidate has from being sent until it must be bound and confirmed, in ms. */
export const CONFIRM_WITHIN_MS = 25_000;
/** One that has less than this left is not bound any more, for its confirmation might come too late, in ms. */
export const CONFIRM_MARGIN_MS = 8_000;
/** How long the containers of a candidate that was not confirmed get to stop at most, in seconds: its user has never heard of them. */
export const STOP_SECONDS = 5;
/** What a source gives the target's controller and kubelet to stop such a candidate, in ms. */
export const STOP_MS = 20_000;

/** What a source knows of a target's API server. Times are in ms of one monotonic clock. */
export interface ServerOutlook {
  /**
   * For how long nothing at all has come from it; undefined when it has refused or ended connections since it last answered: then it may be dead, and
   * its nodes run on what they had begun.
   */
  readonly silentMs: number | undefined;
  /** The source works with it as usual. */
  readonly isReady: boolean;
}

/**
 * Whether a source may take for granted that a target has stopped a candidate whose time has passed. Only an API server that works can stop anything: one
 * that was seen to be gone has stopped nothing, and one that answered a moment ago has had no time yet.
 */
export function hasSurelyStopped({ goneAt, now }: { readonly goneAt: number; readonly now: number }, { silentMs, isReady }: ServerOutlook): boolean {
  return !isReady && goneAt <= now && silentMs !== undefined && silentMs >= STOP_MS;
}

/** Name of the SourceLease whose `renewTime` says up to which of a source's candidates all are confirmed. */
export function candidateLeaseName(sourceId: string): string {
  return `${CANDIDATE_LEASE_PREFIX}${sourceId}`;
}

const CANDIDATE_LEASE_PREFIX = 'candidates-';

/** Whether a SourceLease is one of {@link candidateLeaseName}: it never ends. */
export function isCandidateLease({ name = '' }: ObjectMeta): boolean {
  return name.startsWith(CANDIDATE_LEASE_PREFIX);
}

/** The chaperon of a candidate that the target is to stop unless it is confirmed before this time, in ms since the epoch. */
export function toBeConfirmed(chaperon: PodChaperon, before: number): PodChaperon {
  const { metadata } = chaperon;
  return { ...chaperon, metadata: { ...metadata, annotations: { ...metadata.annotations, [CONFIRM_BEFORE_ANNOTATION]: new Date(before).toISOString() } } };
}

/** Until when a candidate must be confirmed; undefined where it need not be. */
export function confirmBefore({ annotations }: ObjectMeta): number | undefined {
  const time = Date.parse(annotations?.[CONFIRM_BEFORE_ANNOTATION] ?? '');
  return Number.isNaN(time) ? undefined : time;
}

/** Whether nobody has confirmed a candidate that must be. One whose create arrived after its time never is, whatever was confirmed since. */
export function isUnconfirmed(metadata: ObjectMeta, lease: Pick<SourceLease, 'spec'> | undefined): boolean {
  const before = confirmBefore(metadata);
  if (before === undefined) return false;
  const isLate = Date.parse(metadata.creationTimestamp ?? '') >= before;
  return isLate || !(Date.parse(lease?.spec.renewTime ?? '') > before);
}

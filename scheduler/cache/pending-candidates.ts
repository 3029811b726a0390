// Candidates that a target's summary does not count yet, derived from the target's own objects. The scheduler has its
// ledger of assumed pods for this; a command sees only the clusters.
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import type { Chaperon, DelegatePod } from '../../model/delegate/cached-delegate.ts';
import { isTerminal } from '../../model/pod/pod.ts';

/** A proxy pod whose capacity in a target is reserved but not yet counted there. */
export interface PendingCandidate {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
}

/** What a target has of its source. */
export interface ObservedInTarget {
  readonly chaperons: Iterable<Chaperon>;
  readonly delegates: Iterable<DelegatePod>;
  readonly summary: ClusterSummary | undefined;
}

/** Condition times have a resolution of one second. */
const ROUNDING_MS = 1_000;

/**
 * Candidates without a node, and delegates that were assigned to one after the summary was published; sorted by key.
 */
export function pendingCandidates({ chaperons, delegates, summary }: ObservedInTarget): readonly PendingCandidate[] {
  const found = new Map<string, PendingCandidate>();
  const seen = new Set<string>();
  for (const delegate of delegates) {
    seen.add(delegate.parentUid);
    if (!delegate.terminating && !isTerminal(delegate.status.phase) && !isCounted(delegate, summary)) {
      found.set(delegate.parentUid, { key: delegate.parentKey, uid: delegate.parentUid });
    }
  }
  for (const { parentKey: key, parentUid: uid, terminating, ended } of chaperons) {
    if (!seen.has(uid) && !terminating && ended === undefined) found.set(uid, { key, uid });
  }
  return [...found.values()].toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

/** A pod also changes after it was assigned to its node; then the time of that condition decides. */
function isCounted({ verdict, resourceVersion, status }: DelegatePod, summary: ClusterSummary | undefined): boolean {
  const { podsResourceVersion, time } = summary?.observed ?? {};
  if (verdict.kind !== 'scheduled' || podsResourceVersion === undefined) return false;
  if (Number(resourceVersion) <= Number(podsResourceVersion)) return true;
  const scheduledAt = Date.parse(findCondition(status.conditions, 'PodScheduled')?.lastTransitionTime ?? '');
  return scheduledAt + ROUNDING_MS <= Date.parse(time ?? '');
}

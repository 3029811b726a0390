// Chooses the target of a pod: filter, score, select the best. Pure.
import { isUsableFrom, fitsAfterScaleUp, prepareFilters, requirementsIn, type PreparedFilter } from './filters.ts';
import { replicaShareRank, type ReplicaShareRank } from './replica-shares.ts';
import { prepareScores, weightedMean, type PreparedScore } from './scores.ts';
import type { PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { tierOf, untilNextTier } from './tiers.ts';

/** A target that was rejected, and why. */
export interface RejectedTarget extends Rejection {
  readonly target: string;
}

/** A feasible target with its ranking criteria. */
export interface RankedTarget {
  readonly target: TargetSnapshot;
  /** Tier of the policy, from 0; a lower tier precedes every other criterion. */
  readonly tier: number;
  /** The pod fits only on a node that the autoscaler would add; targets with free capacity now precede it. */
  readonly afterScaleUp: boolean;
  /** How far the target would exceed its replica share; lower precedes scores. */
  readonly replicaShareExcess: number;
  /** Weighted mean of the scores, in [0,1]. */
  readonly score: number;
}

/** The result of a decision. */
export type SchedulingDecision =
  | ({ readonly kind: 'chosen'; readonly rejected: readonly RejectedTarget[] } & RankedTarget)
  /** `retryInSeconds`: when the policy's next tier opens. */
  | { readonly kind: 'none'; readonly rejected: readonly RejectedTarget[]; readonly retryInSeconds?: number };

/** Chooses the best target, independent of the order of `targets`: on a tie the key that sorts first wins. */
export function schedulePod(pod: PodToSchedule, targets: Iterable<TargetSnapshot>): SchedulingDecision {
  const { ranked, rejected } = evaluateTargets(pod, targets);
  const best = bestOf(ranked);
  if (best !== undefined) return { kind: 'chosen', ...best, rejected };
  const retryInSeconds = untilNextTier(pod);
  return { kind: 'none', rejected, ...(retryInSeconds !== undefined && { retryInSeconds }) };
}

/**
 * Evaluates every target that is usable from the pod's namespace: feasible ones get their ranking criteria, rejected
 * ones are sorted by key.
 */
export function evaluateTargets(pod: PodToSchedule, targets: Iterable<TargetSnapshot>): {
  readonly ranked: readonly RankedTarget[]; readonly rejected: readonly RejectedTarget[]
} {
  const usable = [...targets].filter((target) => isUsableFrom(target, pod.namespace));
  const filters = prepareFilters(pod, usable);
  const rejected: RejectedTarget[] = [];
  const feasible: TargetSnapshot[] = [];
  for (const target of usable) {
    const rejection = firstRejection(filters, target);
    if (rejection === undefined) feasible.push(target);
    else rejected.push({ target: target.key, ...rejection });
  }
  rejected.sort((a, b) => (a.target < b.target ? -1 : 1));
  return { ranked: rankTargets(pod, feasible, usable), rejected };
}

/** Ranks the feasible targets; replicas are counted over all of `usable`. */
export function rankTargets(
  pod: PodToSchedule, feasible: readonly TargetSnapshot[], usable: readonly TargetSnapshot[],
): readonly RankedTarget[] {
  const scores = prepareScores(pod, feasible);
  const shareRank = replicaShareRank(pod, usable);
  return feasible.map((target) => rankTarget(pod, target, scores, shareRank));
}

/** Ranks one target by prepared scores. */
export function rankTarget(
  pod: PodToSchedule, target: TargetSnapshot, scores: readonly PreparedScore[], shareRank?: ReplicaShareRank,
): RankedTarget {
  return {
    target,
    tier: tierOf(pod.placement?.rules, target) ?? 0,
    afterScaleUp: target.capacity?.hasRoomFor(requirementsIn(pod, target)) !== true && fitsAfterScaleUp(pod, target),
    replicaShareExcess: shareRank === undefined ? 0 : (shareRank(target) ?? Infinity),
    score: weightedMean(scores, target),
  };
}

function bestOf(ranked: readonly RankedTarget[]): RankedTarget | undefined {
  let best: RankedTarget | undefined;
  for (const one of ranked) {
    if (best === undefined || compareRanked(one, best) < 0) best = one;
  }
  return best;
}

/** Negative when `one` precedes: by tier, free capacity now, replica share, score, key. */
export function compareRanked(one: RankedTarget, other: RankedTarget): number {
  if (one.tier !== other.tier) return one.tier - other.tier;
  if (one.afterScaleUp !== other.afterScaleUp) return one.afterScaleUp ? 1 : -1;
  if (one.replicaShareExcess !== other.replicaShareExcess) return one.replicaShareExcess - other.replicaShareExcess;
  if (one.score !== other.score) return other.score - one.score;
  return one.target.key < other.target.key ? -1 : 1;
}

/** Maximum number of targets that are named, so that a condition stays readable and small. */
const NAMED_TARGETS = 20;

/** One sentence for the user: each target, up to the maximum, with the reason of its rejection. */
export function explainRejections(rejected: readonly RejectedTarget[]): string {
  if (rejected.length === 0) {
    return '0/0 targets are available: there is no ClusterTarget, nor a Target in its namespace; create one, for ' +
      'example with "isthmus peer"';
  }
  const each = rejected.slice(0, NAMED_TARGETS)
    .map(({ target, reason, message }) => `${target}: ${reason}: ${message}`);
  const more = rejected.length > NAMED_TARGETS ? ` And ${rejected.length - NAMED_TARGETS} more.` : '';
  return `0/${rejected.length} targets are available: ${each.join('. ')}.${more}`;
}

function firstRejection(filters: readonly PreparedFilter[], target: TargetSnapshot): Rejection | undefined {
  for (const { check } of filters) {
    const rejection = check(target);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

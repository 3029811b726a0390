// Explains a decision: every filter and score of every target, what ranked the winner first, and the smallest change
// that would make a pod fit. It calls the functions that decide, so it cannot disagree with them.
import { PLACEMENT_ANNOTATION } from '../../api/objects/keys.ts';
import type { ScoreName } from '../../api/kinds/placement-policy.ts';
import { formatResourceAmount, PODS } from '../../model/resources/resources.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { UNREACHABLE } from '../../model/proxy/lost-at-placement.ts';
import { isUsableFrom, FILTERS, requirementsIn } from '../decision/filters.ts';
import {
  compareRanked, rankTargets, type RankedTarget, type RejectedTarget, type SchedulingDecision,
} from '../decision/schedule-pod.ts';
import { prepareScores } from '../decision/scores.ts';
import type { PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';

/** The answer of one filter: it does not apply to the pod, passes, or rejects. */
export type CheckAnswer = { readonly filter: string; readonly answer: 'not-asked' | 'passes' }
  | ({ readonly filter: string; readonly answer: 'no' } & Rejection);

/** One score of a target. */
export interface ExplainedScore {
  readonly name: ScoreName;
  readonly weight: number;
  readonly score: number;
}

/** A target in an explanation. */
export interface ExplainedTarget {
  readonly target: string;
  readonly checks: readonly CheckAnswer[];
  /** Only for targets that pass all filters. */
  readonly scores?: readonly ExplainedScore[];
  readonly tier?: number;
  readonly afterScaleUp?: boolean;
  readonly score?: number;
}

/** The criterion that ranked the first before the second. */
export type Deciding = 'tier' | 'capacity-now' | 'share' | 'score' | 'name';

/** The explanation of a decision. */
export interface Explanation {
  readonly chosen?: string;
  /** Best first; rejected targets last, by name. */
  readonly targets: readonly ExplainedTarget[];
  /** Missing when fewer than two targets were feasible. */
  readonly margin?: { readonly over: string; readonly by: Deciding; readonly score: number };
  /** The change that would make the pod fit some target; only when it fits none. */
  readonly smallestChange?: { readonly target: string; readonly changes: readonly string[] };
}

/** Explains the decision that `schedulePod` makes for the same pod and targets. */
export function explainPod(pod: PodToSchedule, targets: readonly TargetSnapshot[]): Explanation {
  const usable = targets.filter((target) => isUsableFrom(target, pod.namespace))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const checked = usable.map((target) => ({ target, checks: checkAll(pod, usable, target) }));
  const feasible = checked.filter(({ checks }) => checks.every(({ answer }) => answer !== 'no'))
    .map(({ target }) => target);
  const ranked = rankTargets(pod, feasible, usable).toSorted(compareRanked);
  const scores = prepareScores(pod, feasible);
  const passing = ranked.map(({ target, tier, afterScaleUp, score }): ExplainedTarget => ({
    target: target.key,
    checks: checked.find((one) => one.target === target)?.checks ?? [],
    tier, afterScaleUp, score,
    scores: scores.map(({ name, weight, score }) => ({ name, weight, score: score(target) })),
  }));
  const failing = checked.filter(({ target }) => !feasible.includes(target));
  const [best, second] = ranked;
  const nearest = best === undefined ? smallestChange(pod, failing) : undefined;
  return {
    ...(best !== undefined && { chosen: best.target.key }),
    targets: [...passing, ...failing.map(({ target, checks }) => ({ target: target.key, checks }))],
    ...(best !== undefined && second !== undefined && {
      margin: { over: second.target.key, by: decidingBetween(best, second), score: best.score - second.score },
    }),
    ...(nearest !== undefined && { smallestChange: nearest }),
  };
}

function checkAll(
  pod: PodToSchedule, usable: readonly TargetSnapshot[], target: TargetSnapshot,
): readonly CheckAnswer[] {
  return FILTERS.map(({ name: filter, prepare }): CheckAnswer => {
    const check = prepare(pod, usable);
    if (check === undefined) return { filter, answer: 'not-asked' };
    const rejection = check(target);
    return rejection === undefined ? { filter, answer: 'passes' } : { filter, answer: 'no', ...rejection };
  });
}

function decidingBetween(one: RankedTarget, other: RankedTarget): Deciding {
  if (one.tier !== other.tier) return 'tier';
  if (one.afterScaleUp !== other.afterScaleUp) return 'capacity-now';
  if (one.replicaShareExcess !== other.replicaShareExcess) return 'share';
  return one.score === other.score ? 'name' : 'score';
}

interface CheckedTarget {
  readonly target: TargetSnapshot;
  readonly checks: readonly CheckAnswer[];
}

/**
 * The target with the fewest rejections, on a tie the one whose first rejection comes last in the chain, and what each
 * rejection asks for.
 */
function smallestChange(pod: PodToSchedule, failing: readonly CheckedTarget[]): Explanation['smallestChange'] {
  const noes = ({ checks }: CheckedTarget) => checks.filter(({ answer }) => answer === 'no').length;
  const firstNo = ({ checks }: CheckedTarget) => checks.findIndex(({ answer }) => answer === 'no');
  const [nearest] = failing.toSorted((a, b) => noes(a) - noes(b) || firstNo(b) - firstNo(a));
  if (nearest === undefined) return undefined;
  const changes = nearest.checks.flatMap((check) => {
    if (check.answer !== 'no') return [];
    const smaller = check.filter === 'Resources' ? smallerRequest(pod, nearest.target) : undefined;
    return [`${check.reason}: ${check.message}${smaller === undefined ? '' : `; or ${smaller}`}`];
  });
  return { target: nearest.target.key, changes };
}

/**
 * The smallest relative reduction of one request that makes the pod fit some node; undefined when no single one does.
 */
function smallerRequest(pod: PodToSchedule, target: TargetSnapshot): string | undefined {
  const requirements = requirementsIn(pod, target);
  let best: { readonly resource: string; readonly asked: number; readonly fits: number } | undefined;
  for (const [resource, asked] of requirements.requests) {
    if (resource === PODS || asked <= 0) continue;
    const fits = largestThatFits(
      asked,
      (amount) => target.capacity?.hasRoomFor(
        { ...requirements, requests: new Map(requirements.requests).set(resource, amount) },
      ) ?? false,
    );
    if (fits !== undefined && (best === undefined || fits / asked > best.fits / best.asked)) best =
      { resource, asked, fits };
  }
  if (best === undefined) return undefined;
  const { resource, asked, fits } = best;
  return `lower the request of the pod to ${formatResourceAmount(resource, fits)} ${resource} instead of ` +
    formatResourceAmount(resource, asked);
}

/** The largest whole amount below `asked` that fits; undefined when not even 0 does. */
function largestThatFits(asked: number, fits: (amount: number) => boolean): number | undefined {
  if (!fits(0)) return undefined;
  let [low, high] = [0, asked];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Maximum number of targets in the record on a bound pod; an annotation must stay small. */
const MOST_RECORDED = 20;

/** The record on a bound pod: where it went and why not elsewhere, as compact JSON. */
export function toPlacementRecord(decision: SchedulingDecision): string | undefined {
  if (decision.kind === 'none') return undefined;
  const { target, tier, afterScaleUp, score, rejected } = decision;
  const reasons = Object.fromEntries(mostRelevant(rejected).map(({ target: key, reason }) => [key, reason]));
  const more = rejected.length - MOST_RECORDED;
  return JSON.stringify({
    target: target.key,
    score: Math.round(score * 1_000) / 1_000,
    ...(tier > 0 && { tier: tier + 1 }),
    ...(afterScaleUp && { afterScaleUp }),
    ...(rejected.length > 0 && { not: reasons }),
    ...(more > 0 && { more }),
  });
}

/** Lost targets come first: pods go back to those that are recorded (`failback`). */
function mostRelevant(rejected: readonly RejectedTarget[]): readonly RejectedTarget[] {
  if (rejected.length <= MOST_RECORDED) return rejected;
  const lost = rejected.filter(({ reason }) => reason === UNREACHABLE);
  return [...lost, ...rejected.filter(({ reason }) => reason !== UNREACHABLE)].slice(0, MOST_RECORDED);
}

/** The same plan with the record added to its Binding. */
export function withPlacementRecord(plan: Plan, record: string | undefined): Plan {
  if (record === undefined) return plan;
  return plan.map((command) => {
    if (command.kind !== 'bind') return command;
    const { metadata } = command.binding;
    return {
      ...command,
      binding: {
        ...command.binding,
        metadata: { ...metadata, annotations: { ...metadata.annotations, [PLACEMENT_ANNOTATION]: record } },
      },
    };
  });
}

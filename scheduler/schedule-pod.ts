// Step 3 of a pod's way: which target. Filter, score, choose; nothing else happens here.
import { concerns, FILTERS } from './filters.ts';
import { leastAllocated } from './scores.ts';
import type { PodToSchedule, Rejection, TargetSnapshot } from './snapshot.ts';

/** A target that the pod cannot go to, and why. */
export interface RejectedTarget extends Rejection {
  readonly target: string;
}

/** The outcome of a decision. */
export type SchedulingDecision =
  | { readonly kind: 'chosen'; readonly target: TargetSnapshot; readonly score: number; readonly rejected: readonly RejectedTarget[] }
  | { readonly kind: 'none'; readonly rejected: readonly RejectedTarget[] };

/** Chooses the best target. Independent of the order of `targets`: equal scores go to the key that sorts first. */
export function schedulePod(pod: PodToSchedule, targets: Iterable<TargetSnapshot>): SchedulingDecision {
  const rejected: RejectedTarget[] = [];
  let best: { readonly target: TargetSnapshot; readonly score: number } | undefined;
  for (const target of targets) {
    if (!concerns(target, pod.namespace)) continue;
    const rejection = firstRejection(pod, target);
    if (rejection !== undefined) {
      rejected.push({ target: target.key, ...rejection });
      continue;
    }
    const score = scoreOf(pod, target);
    if (best === undefined || isBetter({ target, score }, best)) best = { target, score };
  }
  rejected.sort((a, b) => (a.target < b.target ? -1 : 1));
  return best === undefined ? { kind: 'none', rejected } : { kind: 'chosen', ...best, rejected };
}

/** So many targets are named to the user; a condition must stay readable, and small. */
const NAMED_TARGETS = 20;

/** One sentence for the user: every target, or the first twenty, with what is in the way. */
export function explainRejections(rejected: readonly RejectedTarget[]): string {
  if (rejected.length === 0) return '0/0 targets can run this pod: there is no ClusterTarget, nor a Target in its namespace; create one, for example with "isthmus peer"';
  const each = rejected.slice(0, NAMED_TARGETS).map(({ target, reason, message }) => `${target}: ${reason}: ${message}`);
  const more = rejected.length > NAMED_TARGETS ? ` And ${rejected.length - NAMED_TARGETS} more.` : '';
  return `0/${rejected.length} targets can run this pod. ${each.join('. ')}.${more}`;
}

/** How good a target is for a pod, in [0,1]. Depends on this target alone, and not on the pod's refusals. */
export function scoreOf(pod: PodToSchedule, target: TargetSnapshot): number {
  return target.capacity === undefined ? 0 : leastAllocated(target.capacity, pod.requirements.requests);
}

function firstRejection(pod: PodToSchedule, target: TargetSnapshot): Rejection | undefined {
  for (const filter of FILTERS) {
    const rejection = filter(pod, target);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

function isBetter(one: { readonly target: TargetSnapshot; readonly score: number }, other: typeof one): boolean {
  if (one.score !== other.score) return one.score > other.score;
  return one.target.key < other.target.key;
}

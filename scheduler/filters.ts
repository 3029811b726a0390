// Which targets may get a pod: an ordered chain of checks, the first rejection counts and is told to the user.
import type { PodToSchedule, Rejection, TargetSnapshot } from './snapshot.ts';
import { fitsOnNode } from './target-capacity.ts';

/** Gives the reason against a target, or undefined when it has none. */
export type Filter = (pod: PodToSchedule, target: TargetSnapshot) => Rejection | undefined;

/** All checks, cheapest first. A target of another namespace is not even mentioned to the user: see {@link concerns}. */
export const FILTERS: readonly Filter[] = [
  isAvailable, // it can be reached and accepts us
  hasSummary, // it has told its capacity
  hasNotRefused, // its own scheduler, quota or admission has not just said no
  hasRoom, // one of its nodes can take the pod now
];

/** Checks whose answer differs between pods that are otherwise alike; the answers of all others are remembered until the target changes. */
export const PER_POD: ReadonlySet<Filter> = new Set([hasNotRefused]);

/** Whether a target is one for pods of this namespace at all: a Target only serves its own namespace. */
export function concerns(target: TargetSnapshot, namespace: string): boolean {
  return target.ref.kind === 'ClusterTarget' || target.ref.namespace === namespace;
}

function isAvailable(_pod: PodToSchedule, target: TargetSnapshot): Rejection | undefined {
  return target.unavailable;
}

function hasSummary(_pod: PodToSchedule, target: TargetSnapshot): Rejection | undefined {
  if (target.capacity !== undefined) return undefined;
  return { reason: 'NoSummary', message: 'it has not published a ClusterSummary; check that the delegate controller runs there' };
}

function hasNotRefused(pod: PodToSchedule, target: TargetSnapshot): Rejection | undefined {
  return pod.refusals.get(target.key);
}

function hasRoom(pod: PodToSchedule, target: TargetSnapshot): Rejection | undefined {
  if (target.capacity === undefined) return undefined;
  const fit = fitsOnNode(target.capacity, pod.requirements);
  return fit.kind === 'fits' ? undefined : { reason: fit.reason, message: fit.message };
}

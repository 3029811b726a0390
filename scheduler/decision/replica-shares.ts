// Divides the replicas of a workload by weights (3 here, 5 there). A replica share is the part with one weight; each
// next replica goes to the one that is furthest below its weight (D'Hondt's method: exact whenever the weights add up
// to a divisor of the replicas). Replicas are counted by controller.
import { matchesLabelSelector } from '../../model/objects/label-selector.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { labelsFor } from '../snapshot/virtual-node-info.ts';

/** Current replicas of a replica share relative to its weight; the lowest is next. */
interface ReplicaShareState {
  readonly count: number;
  readonly weight: number;
}

/**
 * Replicas of the target's replica share, with one more, relative to its weight; undefined for a target in none. Lower
 * is better.
 */
export type ReplicaShareRank = (target: TargetSnapshot) => number | undefined;

/** Ranks targets by replica shares; undefined for a pod without them. */
export function replicaShareRank(pod: PodToSchedule, targets: readonly TargetSnapshot[]): ReplicaShareRank | undefined {
  const { placement } = pod;
  const replicas = placement?.rules.replicas;
  if (placement === undefined || replicas === undefined) return undefined;
  const { shares } = replicas.value;
  const shareOf = (target: TargetSnapshot) =>
    shares.findIndex(({ targets: selector }) => matchesLabelSelector(selector, labelsFor(replicas, target.nodeInfo)));
  const byNode = countByNode(pod.namespace, placement);
  const states: ReplicaShareState[] = shares.map(({ weight }, index) => ({
    weight,
    count:
      targets.reduce((sum, target) => sum + (shareOf(target) === index ? (byNode.get(target.nodeName) ?? 0) : 0), 0),
  }));
  return (target) => {
    const state = states[shareOf(target)];
    return state === undefined ? undefined : (state.count + 1) / state.weight;
  };
}

/** Replicas of the pod's workload by virtual node. Pods without a controller are counted by equal labels. */
function countByNode(
  namespace: string, { placed, labels, controllerUid }: PlacementConstraints,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const other of placed) {
    if (other.namespace !== namespace || other.terminating || other.controllerUid !== controllerUid) continue;
    if (controllerUid === undefined && !matchesLabelSelector({ matchLabels: labels }, other.labels)) continue;
    for (const [nodeName, count] of other.byNode) counts.set(nodeName, (counts.get(nodeName) ?? 0) + count);
  }
  return counts;
}

/** The filter for a pod whose replica shares are required. */
export function replicaShareFilter(pod: PodToSchedule, targets: readonly TargetSnapshot[]): (
  (target: TargetSnapshot) => Rejection | undefined
) | undefined {
  const replicas = pod.placement?.rules.replicas;
  if (replicas?.value.whenUnsatisfiable !== 'DoNotSchedule') return undefined;
  const rank = replicaShareRank(pod, targets);
  if (rank === undefined) return undefined;
  const least = Math.min(...targets.map((target) => rank(target) ?? Infinity));
  return (target) => {
    const mine = rank(target);
    if (mine === undefined) return {
      reason: 'NotInShares',
      message: `no replica share in ${replicas.by} selects it; add it to one, or label the ClusterTarget or Target`,
    };
    return mine <= least ? undefined : {
      reason: 'ShareUsedUp',
      message:
        `it has its replica share of ${replicas.by} already, and the next replica belongs elsewhere; set ` +
          'whenUnsatisfiable: ScheduleAnyway to let it run here',
    };
  };
}

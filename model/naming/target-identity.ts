// Which of several targets may use a cluster. Two targets for one cluster would count its capacity twice and see each
// candidate twice; a target that leads back to the source would delegate pods in a cycle.
import { targetKey, type TargetRef } from './target-ref.ts';

/** A target whose cluster is known. */
export interface IdentifiedTarget {
  readonly ref: TargetRef;
  /** UID of its kube-system Namespace. */
  readonly clusterId: string;
  /** Creation time of the (Cluster)Target, in ms since the epoch. */
  readonly createdAt: number;
  /** `spec.self`: it is the source on purpose. */
  readonly isSelf: boolean;
}

/** Why a target must not be used, even if everything else is right. */
export interface IdentityProblem {
  readonly reason: 'AnotherCluster' | 'DuplicateCluster' | 'LoopToSource';
  readonly message: string;
}

/** The problem of a target among all identified ones; the oldest of one scope that points to a cluster keeps it. */
export function identityProblem(
  target: IdentifiedTarget, all: Iterable<IdentifiedTarget>, sourceId: string,
): IdentityProblem | undefined {
  if (target.clusterId === sourceId && !target.isSelf) {
    return {
      reason: 'LoopToSource',
      message: 'the kubeconfig points to this cluster itself; use that of another cluster, or spec.self: true',
    };
  }
  let first = target;
  for (const other of all) {
    if (other.clusterId === target.clusterId && scopeOf(other.ref) === scopeOf(target.ref) && isOlder(other, first)) {
      first = other;
    }
  }
  if (first === target) return undefined;
  return {
    reason: 'DuplicateCluster', message: `${targetKey(first.ref)} points to the same cluster; remove one of them`,
  };
}

/**
 * ClusterTargets compete among themselves, Targets within their namespace: a tenant's Target does not affect another's.
 */
function scopeOf(ref: TargetRef): string {
  return ref.kind === 'ClusterTarget' ? '' : ref.namespace;
}

function isOlder(one: IdentifiedTarget, other: IdentifiedTarget): boolean {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt;
  return targetKey(one.ref) < targetKey(other.ref);
}

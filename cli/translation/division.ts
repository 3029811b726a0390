// Copies in several clusters become one workload whose replicas are divided in the same numbers.
import type { PlacementPolicySpec } from '../../api/kinds/placement-policy.ts';
import type { PolicyReplicas } from '../../api/placement/pod-division.ts';
import { named } from './target-selectors.ts';

/** Replicas of all clusters together, and how they are divided. */
export interface Division {
  readonly total: number;
  /** Clusters that get replicas. */
  readonly clusters: readonly string[];
  readonly replicas: PolicyReplicas;
}

/** Divides by the number of replicas, or the weight, of each cluster. */
export function divisionOf(
  counts: ReadonlyMap<string, number>, whenUnsatisfiable: PolicyReplicas['whenUnsatisfiable'] = 'DoNotSchedule',
): Division {
  const used = [...counts].filter(([, count]) => count > 0);
  const divisor = used.reduce((common, [, count]) => commonDivisor(common, count), 0);
  const shares = used.map(([name, count]) => ({ targets: named([name]), weight: count / divisor }));
  return {
    total: used.reduce((sum, [, count]) => sum + count, 0),
    clusters: used.map(([name]) => name),
    replicas: { shares, whenUnsatisfiable },
  };
}

/** Only the clusters that get replicas are allowed; one alone needs no replica shares. */
export function requiredReplicaShares({ clusters, replicas }: Division): PlacementPolicySpec {
  return { require: named(clusters), ...(clusters.length > 1 && { replicas }) };
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

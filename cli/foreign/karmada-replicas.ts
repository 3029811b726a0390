// How Karmada divides replicas: copies in every cluster, weights, free capacity, or as few clusters as possible.
import type { PlacementPolicySpec } from '../../api/kinds/placement-policy.ts';
import { divisionOf } from '../translation/division.ts';
import type { FieldReader } from '../translation/field-reader.ts';
import { readAffinity, type Affinity } from './cluster-affinity.ts';
import type { Manifest } from '../translation/manifest.ts';
import type { Report } from '../translation/report.ts';
import { replicasOf, workloadKind } from '../translation/workloads.ts';

/** The division of a workload's replicas. */
export interface DividedWorkload extends Pick<PlacementPolicySpec, 'replicas' | 'weights'> {
  /** Replicas of all clusters together, where they change. */
  readonly total?: number;
}

/** How the replicas of workloads are divided. */
export interface ReplicaScheduling {
  readonly divide: (workload: Manifest | undefined) => DividedWorkload;
  /** The division that keeps Karmada from applying spread constraints; empty if it applies them. */
  readonly ignoresSpread: '' | 'static' | 'aggregated';
}

/** Reads `replicaScheduling` of a placement. Without it, every cluster gets all replicas. */
export function readReplicaScheduling(placement: FieldReader, affinity: Affinity, report: Report): ReplicaScheduling {
  const standard = placement.has('replicaScheduling') ? 'Divided' : 'Duplicated';
  const scheduling = placement.part('replicaScheduling');
  const type = scheduling.text('replicaSchedulingType') ?? standard;
  const preference = scheduling.text('replicaDivisionPreference') ?? 'Weighted';
  const weights = scheduling.part('weightPreference');
  scheduling.finish();
  if (type === 'Duplicated') return duplicated(affinity, placement.at('replicaScheduling'), report);
  if (type === 'Divided' && preference === 'Aggregated') {
    return { ignoresSpread: 'aggregated', divide: () => ({ weights: { leastAllocated: 0, mostAllocated: 1 } }) };
  }
  if (type === 'Divided' && preference === 'Weighted') return weighted(weights, affinity, report);
  report.unreadable(scheduling.at('replicaSchedulingType'), `${type} with ${preference} is not known`);
  return { ignoresSpread: '', divide: () => ({}) };
}

/** Every cluster gets all replicas. */
function duplicated({ names }: Affinity, field: string, report: Report): ReplicaScheduling {
  const divide = (workload: Manifest | undefined): DividedWorkload => {
    if (names?.length === 1) return {};
    if (workload === undefined || names === undefined) {
      const unknown = names === undefined ? 'how many clusters match' : 'the workload';
      report.lost(
        field,
        `Karmada makes all replicas in every cluster, and ${unknown} is not known here; set the replicas of all ` +
          'clusters together',
      );
      return {};
    }
    if (workloadKind(workload)?.isDivisible !== true) {
      report.lost(
        field,
        `Karmada makes a ${workload.kind} in each of ${names.length} clusters, and here there is one; copy it under ` +
          'other names to have more',
      );
      return {};
    }
    const { total, replicas } = divisionOf(new Map(names.map((name) => [name, replicasOf(workload)])));
    return { total, replicas };
  };
  return { ignoresSpread: '', divide };
}

/** Each cluster gets a part. */
function weighted(preference: FieldReader, { names }: Affinity, report: Report): ReplicaScheduling {
  const weights = preference.records('staticWeightList').map((entry) => readWeight(entry, report));
  const isDynamic = preference.text('dynamicWeight') !== undefined;
  preference.finish();
  if (isDynamic) {
    report.note(preference.at('dynamicWeight'), 'always so: the target with the most free capacity gets the next pod');
    return { ignoresSpread: '', divide: () => ({}) };
  }
  if (weights.length === 0 && names === undefined) {
    report.lost('spec.placement.replicaScheduling', 'equal parts need the names of the clusters; list them');
    return { ignoresSpread: '', divide: () => ({}) };
  }
  const pairs = weights.length === 0 ? (names ?? []).map((name) => [name, 1] as const) : weights.flat();
  const { replicas } = divisionOf(mostOf(pairs.filter(([name]) => names === undefined || names.includes(name))));
  if (replicas.shares.length === 0) report.unreadable(preference.at('staticWeightList'), 'it gives no cluster a part');
  return { ignoresSpread: 'static', divide: () => ({ replicas }) };
}

/** Where several entries match a cluster, the greatest weight counts, as in Karmada. */
function mostOf(pairs: readonly (readonly [name: string, weight: number])[]): ReadonlyMap<string, number> {
  const most = new Map<string, number>();
  for (const [name, weight] of pairs) most.set(name, Math.max(weight, most.get(name) ?? 0));
  return most;
}

/** An entry's weight counts for each of its clusters, so their names must be known. */
function readWeight(entry: FieldReader, report: Report): readonly (readonly [name: string, weight: number])[] {
  const { names } = readAffinity(entry.part('targetCluster'), report);
  const weight = entry.count('weight') ?? 1;
  entry.finish();
  if (names !== undefined) return names.map((name) => [name, weight] as const);
  report.unreadable(
    entry.at('targetCluster'),
    'its weight counts for each cluster that matches, and how many match is not known here; list clusterNames',
  );
  return [];
}

// KubeFed's ReplicaSchedulingPreference: the replicas of all clusters of a FederatedDeployment of the same name.
import type { PlacementPolicySpec } from '../../api/kinds/placement-policy.ts';
import { divisionOf, requiredReplicaShares } from '../translation/division.ts';
import { FieldReader } from '../translation/field-reader.ts';
import { titleOf, type Conversion, type Manifest } from '../translation/manifest.ts';
import { Report } from '../translation/report.ts';
import { clusterNames } from '../translation/target-selectors.ts';
import { mapAt } from '../translation/workloads.ts';

/** How the replicas of a workload are divided. */
export interface DividedReplicas {
  readonly total: number;
  readonly spec: PlacementPolicySpec;
}

/** Clusters that the placement allows. */
export interface AllowedClusters {
  /** Undefined where they are not known by name. */
  readonly names?: readonly string[];
  /** Whether there may be others. */
  readonly isRestricted: boolean;
}

/** The preference of a workload. */
export interface ReplicaPreference {
  /** Divides over clusters; undefined where it cannot be read. */
  readonly divide: (clusters: AllowedClusters, report: Report) => DividedReplicas | undefined;
}

const EVERY_CLUSTER = '*';

/** The preference for a Federated object, if the input has one. */
export function preferenceFor(federated: Manifest, all: readonly Manifest[]): ReplicaPreference | undefined {
  const preference = all.find((other) => isPreference(other) && isFor(other, federated));
  return preference === undefined ? undefined : { divide: (clusters, report) => divide(preference, clusters, report) };
}

/** Reports a preference whose workload is not in the input; the others are read with their workloads. */
export function convertPreference(preference: Manifest, all: readonly Manifest[]): Conversion {
  const report = new Report(titleOf(preference));
  if (!all.some((other) => isFor(preference, other))) {
    const kind = mapAt(preference.fields, 'spec')['targetKind'];
    const what = typeof kind === 'string' ? kind : 'object';
    report.lost('', `the ${what} of the same name is not in the input; add it, because both become one policy`);
  }
  return { objects: [], findings: report.findings };
}

function isPreference({ kind, group }: Manifest): boolean {
  return kind === 'ReplicaSchedulingPreference' && group.startsWith('scheduling.');
}

function isFor(preference: Manifest, { kind, name, namespace }: Manifest): boolean {
  return mapAt(preference.fields, 'spec')['targetKind'] === kind && preference.name === name
    && preference.namespace === namespace;
}

function divide(
  preference: Manifest, { names: clusters, isRestricted }: AllowedClusters, report: Report,
): DividedReplicas | undefined {
  const spec = new FieldReader(mapAt(preference.fields, 'spec'), `${titleOf(preference)} spec`, report);
  spec.text('targetKind');
  const total = spec.count('totalReplicas');
  const whenUnsatisfiable = spec.flag('rebalance') === true ? 'ScheduleAnyway' : 'DoNotSchedule';
  const weights = weightsOf(spec, report);
  if (spec.flag('intersectWithClusterSelector') !== true && isRestricted) {
    report.note(spec.at('clusters'), 'KubeFed may use clusters that placement does not allow, and Isthmus does not');
  }
  spec.finish();
  if (total === undefined) {
    report.lost(spec.at('totalReplicas'), 'it is missing, so there is nothing to divide');
    return undefined;
  }
  return { total, spec: dividedSpec({ clusters, weights, whenUnsatisfiable }, spec, report) };
}

interface Wish {
  readonly clusters: readonly string[] | undefined;
  readonly weights: ReadonlyMap<string, number>;
  readonly whenUnsatisfiable: 'ScheduleAnyway' | 'DoNotSchedule';
}

function dividedSpec({ clusters, weights, whenUnsatisfiable }: Wish, spec: FieldReader, report: Report):
  PlacementPolicySpec {
  const rest = weights.size === 0 ? 1 : weights.get(EVERY_CLUSTER);
  const own = [...weights].filter(([name]) => name !== EVERY_CLUSTER);
  if (clusters === undefined && rest !== undefined) {
    if (own.length > 0) report.lost(
      spec.at('clusters'), '"*" beside clusters of their own takes the names of all clusters; list them in placement',
    );
    return { spread: [{ topologyKey: 'kubernetes.io/hostname' }] };
  }
  const names = clusters ?? own.map(([name]) => name);
  const division = divisionOf(
    new Map(names.map((name) => [name, weights.get(name) ?? rest ?? 0])), whenUnsatisfiable,
  );
  return requiredReplicaShares(division);
}

/** Weights by cluster; one without a weight gets no replicas beyond its minimum. */
function weightsOf(spec: FieldReader, report: Report): ReadonlyMap<string, number> {
  const clusters = spec.map('clusters') ?? {};
  const names = clusterNames(
    Object.keys(clusters).filter((name) => name !== EVERY_CLUSTER), spec.at('clusters'), report,
  ) ?? [];
  const all = [...names, ...(Object.hasOwn(clusters, EVERY_CLUSTER) ? [EVERY_CLUSTER] : [])];
  return new Map(all.map((name) => {
    const cluster = new FieldReader(mapAt(clusters, name), `${spec.at('clusters')}[${JSON.stringify(name)}]`, report);
    const weight = cluster.count('weight') ?? 0;
    for (const limit of ['minReplicas', 'maxReplicas']) {
      if ((cluster.count(limit) ?? 0) > 0) report.lost(
        cluster.at(limit),
        'replica shares have weights, and neither a least nor a greatest number; choose weights that fit',
      );
    }
    cluster.finish();
    return [name, weight] as const;
  }));
}

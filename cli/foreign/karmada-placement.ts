// The placement of a Karmada policy: which clusters, how replicas are divided, how they are spread.
import { PROXY_CONSTRAINTS_ANNOTATION } from '../../api/objects/keys.ts';
import type { PlacementPolicySpec } from '../../api/kinds/placement-policy.ts';
import { FIELD_LABELS, readAffinity, type Affinity } from './cluster-affinity.ts';
import type { FieldReader } from '../translation/field-reader.ts';
import { readReplicaScheduling, type ReplicaScheduling } from './karmada-replicas.ts';
import type { Election, Fields, Manifest } from '../translation/manifest.ts';
import type { Report } from '../translation/report.ts';

/** What a placement is for a workload, or for all pods where there is none. */
export interface Placement {
  readonly forWorkload: (workload: Manifest | undefined, report: Report) => PlacedWorkload;
}

/** The policy of one workload, and what changes in the workload itself. */
export interface PlacedWorkload {
  readonly spec: PlacementPolicySpec;
  readonly election: Election;
}

/** Reads `spec.placement`; everything is allowed where it is missing. */
export function readPlacement(placement: FieldReader, report: Report): Placement {
  const affinity = readAffinity(placement.part('clusterAffinity'), report);
  const replicas = readReplicaScheduling(placement, affinity, report);
  const parts: Parts = {
    affinity, replicas, tiers: readTiers(placement, report), tolerations: readTolerations(placement, report),
    spread: readSpread(placement.records('spreadConstraints'), { affinity, replicas, report }),
  };
  placement.reject({
    workloadAffinity: 'use podAffinity or podAntiAffinity over kubernetes.io/hostname, in the annotation ' +
      PROXY_CONSTRAINTS_ANNOTATION,
  });
  placement.finish();
  return { forWorkload: (workload, about) => placed(workload, parts, about) };
}

function readTiers(placement: FieldReader, report: Report): Parts['tiers'] {
  const tiers = placement.records('clusterAffinities').map((group) => {
    group.text('affinityName');
    return { targets: readAffinity(group, report).selector ?? {} };
  });
  if (tiers.length > 0) report.note(
    placement.at('clusterAffinities'),
    'pods that do not fit into a group go to the next one, each for itself; Karmada moves all of them',
  );
  return tiers;
}

function readTolerations(placement: FieldReader, report: Report): readonly Fields[] {
  const tolerations = placement.maps('clusterTolerations');
  if (tolerations.length > 0) {
    report.note(placement.at('clusterTolerations'), 'taint the virtual nodes of the targets as the clusters are there');
  }
  return tolerations;
}

interface Parts {
  readonly affinity: Affinity;
  readonly tiers: NonNullable<PlacementPolicySpec['tiers']>;
  readonly replicas: ReplicaScheduling;
  readonly spread: PlacementPolicySpec['spread'];
  readonly tolerations: readonly unknown[];
}

function placed(workload: Manifest | undefined, parts: Parts, report: Report): PlacedWorkload {
  const { affinity, tiers, tolerations } = parts;
  const { total, ...divided } = parts.replicas.divide(workload);
  if (tolerations.length > 0 && workload === undefined) {
    report.lost('spec.placement.clusterTolerations', 'they go into the pod template; add the manifest with -f');
  }
  if (tiers.length > 0 && divided.replicas !== undefined) {
    report.lost('spec.placement.replicaScheduling', 'a policy has either tiers or replica shares; the groups are kept');
  }
  return {
    spec: {
      ...(affinity.selector !== undefined && { require: affinity.selector }),
      ...(tiers.length > 0 ? { tiers, ...only(divided, 'weights') } : divided),
      ...(divided.replicas === undefined && parts.spread !== undefined && { spread: parts.spread }),
    },
    election: { ...(total !== undefined && { replicas: total }), ...(tolerations.length > 0 && { tolerations }) },
  };
}

function only(spec: PlacementPolicySpec, field: 'weights'): PlacementPolicySpec {
  return spec[field] === undefined ? {} : { [field]: spec[field] };
}

interface Spreading {
  readonly affinity: Affinity;
  readonly replicas: ReplicaScheduling;
  readonly report: Report;
}

const SPREAD_LABELS: Readonly<Record<string, string>> = { ...FIELD_LABELS, cluster: 'kubernetes.io/hostname' };

/** Even spread over groups. How many groups are used has no counterpart. */
function readSpread(constraints: readonly FieldReader[], spreading: Spreading): PlacementPolicySpec['spread'] {
  const spread = constraints.flatMap((constraint) => {
    const topologyKey = topologyKeyOf(constraint, spreading);
    constraint.finish();
    return topologyKey === undefined ? [] : [{ topologyKey }];
  });
  return spread.length === 0 ? undefined : spread;
}

/** The label of a constraint's groups; undefined where it changes nothing, or is not known. */
function topologyKeyOf(constraint: FieldReader, { affinity, replicas, report }: Spreading): string | undefined {
  const [field = 'cluster', label] = [constraint.text('spreadByField'), constraint.text('spreadByLabel')];
  const [least = 1, most = 0] = [constraint.count('minGroups'), constraint.count('maxGroups')];
  if (replicas.ignoresSpread !== '') {
    report.note(constraint.at('spreadByField'), `Karmada does not apply it with ${replicas.ignoresSpread} division`);
    return undefined;
  }
  const isOfClusters = label === undefined && field === 'cluster';
  if (isOfClusters && isAllOf(affinity.names?.length, { least, most })) return undefined;
  reportGroups(constraint, { least, most }, report);
  return label ?? (Object.hasOwn(SPREAD_LABELS, field) ? SPREAD_LABELS[field] : unknownField(constraint, report));
}

/** How many groups are used; no greatest number when `most` is 0. */
interface Groups {
  readonly least: number;
  readonly most: number;
}

/** Whether all clusters that are listed are used anyway. */
function isAllOf(listed: number | undefined, { least, most }: Groups): boolean {
  return listed !== undefined && least <= listed && (most === 0 || most >= listed);
}

function reportGroups(constraint: FieldReader, { least, most }: Groups, report: Report): void {
  if (most > 0) report.lost(
    constraint.at('maxGroups'), 'the number of groups has no greatest value; allow only the targets that are meant',
  );
  if (least > 1) report.lost(
    constraint.at('minGroups'),
    'the number of groups has no least value; pods are spread as evenly as capacity allows',
  );
}

function unknownField(constraint: FieldReader, report: Report): undefined {
  report.unreadable(constraint.at('spreadByField'), `it is not one of ${Object.keys(SPREAD_LABELS).join(', ')}`);
  return undefined;
}

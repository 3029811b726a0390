// KubeFed (archived 2023): Federated kinds hold a template, the clusters that get a copy of it, and how copies differ.
// Copies of a Deployment become one Deployment whose replicas are divided.
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../api/objects/keys.ts';
import type { PlacementPolicySpec } from '../../api/kinds/placement-policy.ts';
import type { PolicyOverride } from '../../api/placement/delegate-override.ts';
import { isReplicas, toPatchOperation } from '../translation/cluster-overrides.ts';
import { divisionOf, requiredReplicaShares } from '../translation/division.ts';
import { FieldReader } from '../translation/field-reader.ts';
import { preferenceFor, type ReplicaPreference } from './kubefed-preference.ts';
import {
  concluded, metadataIn, titleOf, type Conversion, type Fields, type Manifest,
} from '../translation/manifest.ts';
import { placementPolicy, workloadPolicies } from '../translation/policies.ts';
import { Report } from '../translation/report.ts';
import { clusterNames, isEmpty, named, reportLabels } from '../translation/target-selectors.ts';
import { elected, mapAt, podSelectorOf, replicasOf, workloadVersion } from '../translation/workloads.ts';

/** Kinds that need no placement of their own. */
const FOLLOWING: Readonly<Record<string, string>> =
  { ConfigMap: 'v1', Secret: 'v1', Service: 'v1', Ingress: 'networking.k8s.io/v1' };

/** Which clusters get a copy. */
type Clusters = { readonly kind: 'named'; readonly names: readonly string[] }
  | { readonly kind: 'selected'; readonly selector: LabelSelector } | { readonly kind: 'none' };

/** How copies in one cluster differ. */
interface ClusterChanges {
  readonly replicas: ReadonlyMap<string, number>;
  readonly overrides: readonly PolicyOverride[];
}

/** Converts an object of a Federated kind. `all` is the whole input, where its ReplicaSchedulingPreference may be. */
export function convertFederated(federated: Manifest, all: readonly Manifest[]): Conversion {
  const report = new Report(titleOf(federated));
  const spec = new FieldReader(mapAt(federated.fields, 'spec'), 'spec', report);
  const clusters = withinNamespace(clustersOf(spec, report), federated, all);
  const template = templateIn(federated, spec);
  if (spec.flag('retainReplicas') === true) {
    report.note('spec.retainReplicas', 'a HorizontalPodAutoscaler in the source sets the replicas of all clusters');
  }
  const objects = convertKind({ template, clusters, spec, report, preference: preferenceFor(federated, all) });
  spec.finish();
  return concluded(report, objects);
}

interface Federated {
  readonly template: Manifest;
  readonly clusters: Clusters;
  readonly spec: FieldReader;
  readonly report: Report;
  readonly preference: ReplicaPreference | undefined;
}

function convertKind(federated: Federated): readonly Fields[] {
  const { template, clusters, spec, report } = federated;
  const { kind } = template;
  if (kind === 'Namespace') return convertNamespace(federated);
  if (clusters.kind === 'none') {
    spec.value('overrides');
    report.note('spec.placement', 'it names no clusters, so KubeFed makes no copy; nothing is printed');
    return [];
  }
  if (Object.hasOwn(FOLLOWING, kind)) {
    spec.reject({ overrides: 'it is the same in all targets; make one for each, with names of their own' });
    report.note('spec.placement', 'it follows the pods that use it, to the targets where they run');
    return [template.fields];
  }
  if (kind === 'DaemonSet') {
    report.lost('', 'a DaemonSet runs on the nodes of one cluster; create it in each target');
    return [];
  }
  if (workloadVersion(kind) !== undefined) return convertWorkload(federated);
  report.lost('', `kind ${kind} does not follow pods; create it in each target, with the tool that deploys there`);
  return [];
}

/** The object that each cluster gets a copy of. */
function templateIn({ kind: federatedKind, name, namespace }: Manifest, spec: FieldReader): Manifest {
  const kind = federatedKind.slice('Federated'.length);
  const { metadata: _metadata, status: _status, ...rest } = spec.map('template') ?? {};
  const metadata = mapAt(spec.map('template') ?? {}, 'metadata');
  const kept = Object.fromEntries(['labels', 'annotations'].flatMap((field) =>
    (Object.keys(mapAt(metadata, field)).length === 0 ? [] : [[field, mapAt(metadata, field)]])));
  const given = rest['apiVersion'];
  const apiVersion = typeof given === 'string' ? given : workloadVersion(kind) ?? FOLLOWING[kind] ?? 'v1';
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [];
  const place = kind === 'Namespace' ? undefined : namespace;
  const fields = { apiVersion, kind, metadata: { ...metadataIn(place, name), ...kept }, ...rest };
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  return { fields, group, version, kind, name, ...(place !== undefined && { namespace: place }) };
}

/** A list of names has priority over a selector, as in KubeFed. */
function clustersOf(spec: FieldReader, report: Report): Clusters {
  const placement = spec.record('placement');
  if (placement === undefined) return { kind: 'none' };
  const listed = placement.records('clusters').flatMap((cluster) => {
    const name = cluster.text('name');
    cluster.finish();
    return name === undefined ? [] : [name];
  });
  const given = [...listed, ...placement.texts('clusterNames')];
  const isNamed = placement.has('clusters') || placement.has('clusterNames');
  const selector = placement.selector('clusterSelector');
  placement.finish();
  if (isNamed) {
    const names = clusterNames(given, placement.at('clusters'), report) ?? [];
    return names.length === 0 ? { kind: 'none' } : { kind: 'named', names };
  }
  if (selector === undefined) return { kind: 'none' };
  reportLabels(selector, 'KubeFedClusters', { field: placement.at('clusterSelector'), report });
  return { kind: 'selected', selector };
}

/** KubeFed makes copies only where it has made one of the namespace. */
function withinNamespace(clusters: Clusters, { namespace, kind }: Manifest, all: readonly Manifest[]): Clusters {
  const place = all.find((other) => other.kind === 'FederatedNamespace' && other.name === namespace);
  if (place === undefined || clusters.kind !== 'named' || kind === 'FederatedNamespace') return clusters;
  const unread = new Report(titleOf(place)); // what is wrong with the namespace is said of the namespace
  const allowed = clustersOf(new FieldReader(mapAt(place.fields, 'spec'), 'spec', unread), unread);
  if (allowed.kind !== 'named') return clusters;
  const names = clusters.names.filter((name) => allowed.names.includes(name));
  return names.length === 0 ? { kind: 'none' } : { kind: 'named', names };
}

/** Pods of a namespace may run where the namespace is. */
function convertNamespace({ template, clusters, spec, report }: Federated): readonly Fields[] {
  spec.reject({ overrides: 'Namespaces are not copied, so they do not differ; change those in the targets' });
  const { name } = template;
  const metadata = mapAt(template.fields, 'metadata');
  const labels = { ...mapAt(metadata, 'labels'), [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  const namespace = { ...template.fields, metadata: { ...metadata, labels } };
  if (clusters.kind === 'none') {
    report.lost('spec.placement', 'it names no clusters: without the elect annotation, its pods stay here');
    return [];
  }
  report.note('', `it must exist in the targets: isthmus allow namespace ${name}`);
  const require = clusters.kind === 'named' ? named(clusters.names) : clusters.selector;
  return isEmpty(require) ? [namespace] : [namespace, placementPolicy(name, name, { require })];
}

function convertWorkload({ template, clusters, spec, report, preference }: Federated): readonly Fields[] {
  const podSelector = podSelectorOf(template);
  if (podSelector === undefined) {
    report.lost('spec.template', 'its pods have no labels that a policy could select them by; add some');
    return [];
  }
  const { replicas, overrides } = changesOf(spec, template, report);
  const divided = divide({ template, report, replicas, preference }, clusters);
  if (divided === undefined) return [];
  const workload = elected(template, divided.total === undefined ? {} : { replicas: divided.total });
  return [workload, ...workloadPolicies(template, { podSelector, spec: divided.spec, overrides }, report)];
}

function divide(dividing: Dividing, clusters: Clusters): Divided | undefined {
  switch (clusters.kind) {
    case 'named':
      return divideNamed(dividing, clusters.names);
    case 'selected':
      return divideSelected(dividing, clusters.selector);
    case 'none':
      return undefined;
  }
}

interface Divided {
  readonly total?: number;
  readonly spec: PlacementPolicySpec;
}

interface Dividing {
  readonly template: Manifest;
  readonly report: Report;
  readonly replicas: ReadonlyMap<string, number>;
  readonly preference: ReplicaPreference | undefined;
}

/** Each of these clusters has its copy. */
function divideNamed({ template, report, replicas, preference }: Dividing, names: readonly string[]): Divided
  | undefined {
  if (preference !== undefined) return preference.divide({ names, isRestricted: true }, report);
  const { kind } = template;
  const require = named(names);
  if (!isDivisible(kind)) {
    if (names.length > 1) report.lost(
      'spec.placement',
      `each of the ${names.length} clusters has a ${kind} of its own in KubeFed, and here there is one; copy it ` +
        'under other names to have more',
    );
    const total = names.length === 1 ? replicas.get(names[0] ?? '') : undefined;
    return { ...(total !== undefined && { total }), spec: { require } };
  }
  const copies = replicasOf(template);
  const division = divisionOf(new Map(names.map((name) => [name, replicas.get(name) ?? copies])));
  return {
    total: division.total,
    spec: division.clusters.length === 0 ? { require } : requiredReplicaShares(division),
  };
}

/** How many clusters match is not known here. */
function divideSelected({ template, report, preference }: Dividing, selector: LabelSelector): Divided | undefined {
  const require = isEmpty(selector) ? {} : { require: selector };
  if (preference !== undefined) {
    const divided = preference.divide({ isRestricted: !isEmpty(selector) }, report);
    return divided === undefined ? undefined : { ...divided, spec: { ...require, ...divided.spec } };
  }
  const copies = isDivisible(template.kind) ? `${replicasOf(template)} replicas` : `a ${template.kind}`;
  report.lost(
    'spec.placement.clusterSelector',
    `KubeFed makes ${copies} in every cluster that matches, and how many match is not known here; list the clusters, ` +
      'or set the replicas of all of them together',
  );
  const spread = [{ topologyKey: 'kubernetes.io/hostname' }];
  return { spec: { ...require, ...(isDivisible(template.kind) && { spread }) } };
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
const isDivisible = (kind: string): boolean => kind === 'Deployment' || kind === 'ReplicaSet';

/** Overrides by cluster: replicas, and patches of pods. */
function changesOf(spec: FieldReader, template: Manifest, report: Report): ClusterChanges {
  const replicas = new Map<string, number>();
  const overrides: PolicyOverride[] = [];
  for (const override of spec.records('overrides')) {
    const cluster = override.text('clusterName');
    const patch = override.records('clusterOverrides').flatMap((change) => {
      const [op = 'replace', path = '', value] = [change.text('op'), change.text('path'), change.value('value')];
      change.finish();
      if (isReplicas(path) && typeof value === 'number' && op !== 'remove' && cluster !== undefined) {
        if (isCount(value)) replicas.set(cluster, value);
        else report.unreadable(change.at('value'), 'it is not an integer, 0 or more');
        return [];
      }
      const translated = toPatchOperation(template, { op, path, value });
      if (translated.kind === 'patch') return [translated.operation];
      report.lost(change.at('path'), `${JSON.stringify(path)} has no counterpart: ${translated.why}`);
      return [];
    });
    override.finish();
    const names = clusterNames(cluster === undefined ? [] : [cluster], override.at('clusterName'), report) ?? [];
    if (patch.length > 0 && names.length > 0) overrides.push({ targets: named(names), patch });
  }
  return { replicas, overrides };
}

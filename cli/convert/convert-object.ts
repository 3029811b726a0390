// Which system an object is of, and what it becomes.
import {
  ELECT_ANNOTATION, NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE,
} from '../../api/objects/keys.ts';
import { ADMIRALTY_GROUP } from '../../api/objects/group-version.ts';
import { isDnsLabel, isDnsSubdomain } from '../../model/naming/label-syntax.ts';
import { convertAdmiralty, convertElected, hasElection } from '../foreign/admiralty.ts';
import { convertPropagation } from '../foreign/karmada.ts';
import { convertFederated } from '../foreign/kubefed.ts';
import { convertKubeFedCluster } from '../foreign/kubefed-clusters.ts';
import { convertPreference } from '../foreign/kubefed-preference.ts';
import { convertOffloading, convertResourceOffer } from '../foreign/liqo.ts';
import { titleOf, type Conversion, type Manifest } from '../translation/manifest.ts';
import { Report } from '../translation/report.ts';
import { mapAt, templateOf, withTemplate, workloadKind } from '../translation/workloads.ts';

type Convert = (object: Manifest, all: readonly Manifest[]) => Conversion;

/** A kind of another system. */
interface ForeignKind {
  readonly group: RegExp;
  readonly kind: RegExp;
  readonly versions: readonly string[];
  readonly convert: Convert;
}

const KINDS: readonly ForeignKind[] = [
  {
    group: /^types\.(?:kubefed\.io|kubefed\.k8s\.io|federation\.k8s\.io)$/, kind: /^Federated[A-Z]/,
    versions: ['v1beta1', 'v1alpha1'], convert: convertFederated,
  },
  {
    group: /^scheduling\.(?:kubefed\.io|kubefed\.k8s\.io|federation\.k8s\.io)$/, kind: /^ReplicaSchedulingPreference$/,
    versions: ['v1alpha1'], convert: convertPreference,
  },
  {
    group: /^core\.(?:kubefed\.io|kubefed\.k8s\.io)$/, kind: /^KubeFedCluster$/, versions: ['v1beta1', 'v1alpha1'],
    convert: convertKubeFedCluster,
  },
  {
    group: /^policy\.karmada\.io$/, kind: /^(?:Cluster)?PropagationPolicy$/, versions: ['v1alpha1'],
    convert: convertPropagation,
  },
  {
    group: /^offloading\.liqo\.io$/, kind: /^NamespaceOffloading$/, versions: ['v1beta1', 'v1alpha1'],
    convert: convertOffloading,
  },
  {
    group: /^sharing\.liqo\.io$/, kind: /^ResourceOffer$/, versions: ['v1alpha1', 'v1beta1'],
    convert: convertResourceOffer,
  },
  { group: /^multicluster\.admiralty\.io$/, kind: /./, versions: ['v1alpha1'], convert: convertAdmiralty },
];
/** Groups of which everything is reported that is not converted. */
const FOREIGN_GROUPS = /(?:^|\.)(?:kubefed\.io|kubefed\.k8s\.io|federation\.k8s\.io|karmada\.io|liqo\.io)$/;
/** Kinds that something else in Isthmus takes the place of. */
const INSTEAD: Readonly<Record<string, string>> = {
  Cluster: 'join it: isthmus invite, isthmus join',
  ForeignCluster: 'join it: isthmus invite, isthmus join',
  ResourceSlice: 'a ResourceShare in the target limits what a source may use',
  Quota: 'a ResourceShare in the target limits what a source may use',
  OverridePolicy: 'write overrides into a PlacementPolicy or ClusterPlacementPolicy',
  ClusterOverridePolicy: 'write overrides into a ClusterPlacementPolicy',
};
const LIQO_LABELS = ['liqo.io/enabled', 'liqo.io/scheduling-enabled'];
const LIQO_RUNTIME = 'liqo';

/** Converts one object of the input `all`; one that asks for nothing stays as it is. */
export function convertObject(object: Manifest, all: readonly Manifest[]): Conversion {
  const { group, kind, version } = object;
  const known = KINDS.find((foreign) => foreign.group.test(group) && foreign.kind.test(kind));
  if (known === undefined && !FOREIGN_GROUPS.test(group)) return convertPlain(object);
  const problem = nameProblem(object) ?? (known === undefined ? instead(object) : versionProblem(version, known));
  return problem === undefined && known !== undefined ? known.convert(object, all) : rejected(object, problem ?? '');
}

function instead({ kind }: Manifest): string {
  const what = Object.hasOwn(INSTEAD, kind) ? INSTEAD[kind] : undefined;
  return `kind ${kind} is not converted${what === undefined ? '' : `; ${what}`}`;
}

function versionProblem(version: string, { versions }: ForeignKind): string | undefined {
  return versions.includes(version) ? undefined
    : `its version ${version} is not known; ${versions.join(' and ')} can be converted`;
}

function nameProblem({ name, namespace }: Manifest): string | undefined {
  if (!isDnsSubdomain(name)) return `${JSON.stringify(name)} cannot be the name of an object`;
  if (namespace === undefined || isDnsLabel(namespace)) return undefined;
  return `${JSON.stringify(namespace)} cannot be the name of a namespace`;
}

function rejected(object: Manifest, why: string): Conversion {
  const report = new Report(titleOf(object));
  report.lost('', why);
  return { objects: [], findings: report.findings };
}

/** Objects of Kubernetes itself, and of systems that do not place pods. */
function convertPlain(object: Manifest): Conversion {
  const { kind, group } = object;
  if (group === '' && kind === 'Namespace') return convertNamespace(object);
  if (hasElection(object)) return convertElected(object);
  if (workloadKind(object) !== undefined && mapAt(templateOf(object), 'spec')['runtimeClassName'] === LIQO_RUNTIME) {
    return withoutRuntime(object);
  }
  return { objects: [object.fields], findings: [] };
}

/** `isthmus install --liqo-labels` would take the labels as they are. */
function convertNamespace(namespace: Manifest): Conversion {
  const metadata = mapAt(namespace.fields, 'metadata');
  const labels = mapAt(metadata, 'labels');
  const label = LIQO_LABELS.find((key) => labels[key] === 'true');
  if (label === undefined) return { objects: [namespace.fields], findings: [] };
  const report = new Report(titleOf(namespace));
  report.note(label, `${NAMESPACE_ELECT_LABEL}=${NAMESPACE_ELECT_VALUE} elects all its pods here`);
  const elects = { ...metadata, labels: { ...labels, [NAMESPACE_ELECT_LABEL]: NAMESPACE_ELECT_VALUE } };
  return { objects: [{ ...namespace.fields, metadata: elects }], findings: report.findings };
}

/** Liqo's RuntimeClass sends a pod away whatever its namespace says; it requires nodes of Liqo. */
function withoutRuntime(workload: Manifest): Conversion {
  const report = new Report(titleOf(workload));
  report.note('runtimeClassName', `it requires nodes of Liqo; the annotation ${ELECT_ANNOTATION} takes its place`);
  const fields = withTemplate(workload, (template) => {
    const { runtimeClassName: _runtime, ...spec } = mapAt(template, 'spec');
    return { ...template, spec };
  });
  return { objects: [], elected: [{ manifest: { ...workload, fields }, election: {} }], findings: report.findings };
}

/** Whether an object's kind is one of Admiralty's or another system's. */
export function isForeign({ group }: Manifest): boolean {
  return group === ADMIRALTY_GROUP || FOREIGN_GROUPS.test(group);
}

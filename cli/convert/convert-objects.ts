// Converts all objects of the input together: policies find their workloads in it, and what is printed can be applied.
import {
  NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../api/objects/keys.ts';
import { canonicalJson } from '../../model/objects/canonical-json.ts';
import { admissionProblem, hasElection } from '../foreign/admiralty.ts';
import { MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import { titleOf, type Conversion, type Election, type Fields, type Manifest } from '../translation/manifest.ts';
import { Report, type Finding } from '../translation/report.ts';
import { elected, mapAt, workloadKind } from '../translation/workloads.ts';
import { convertObject, isForeign } from './convert-object.ts';
import { schemaProblem } from './schema-problems.ts';

/** Characters for a dash and a number. */
const NUMBER_LENGTH = 8;

/** What the input becomes. */
export interface Converted {
  /** In the order in which they can be applied. */
  readonly objects: readonly Fields[];
  readonly findings: readonly Finding[];
}

/** Converts the objects. `namespace` is that of namespaced objects that name none. */
export function convertObjects(given: readonly Manifest[], namespace?: string): Converted {
  const all = given.map((object) => inNamespace(object, namespace));
  const elections = new Map<Manifest, Election>();
  const findings: Finding[] = [];
  const made = new Map<Manifest, readonly Fields[]>();
  for (const object of all) {
    const conversion = acceptable(object, convertObject(object, all));
    findings.push(...conversion.findings);
    made.set(object, conversion.objects);
    for (const { manifest, election } of conversion.elected ?? []) {
      const report = new Report(titleOf(manifest));
      elections.set(manifest, joined(elections.get(manifest), election, report));
      if (!made.has(manifest)) made.set(manifest, []);
      findings.push(...report.findings);
    }
  }
  const objects = [...made].flatMap(([manifest, fields]) => {
    const election = elections.get(manifest);
    return election === undefined ? fields : [elected(manifest, election)];
  });
  const whole = inOrder([...optedIn(objects, findings), ...objects], findings);
  return { objects: whole, findings: [...findings, ...whole.flatMap(rejectionOf)] };
}

/** kubectl's `-n` for what other systems and workloads leave out. */
function inNamespace(object: Manifest, namespace: string | undefined): Manifest {
  const isPlaced = (isForeign(object) && !object.kind.startsWith('Cluster')) || workloadKind(object) !== undefined;
  if (namespace === undefined || object.namespace !== undefined || !isPlaced) return object;
  const metadata = { ...mapAt(object.fields, 'metadata'), namespace };
  return { ...object, namespace, fields: { ...object.fields, metadata } };
}

/** Two policies may select one workload. */
function joined(before: Election | undefined, election: Election, report: Report): Election {
  if (before === undefined) return election;
  if (before.replicas !== election.replicas) {
    report.lost('spec.replicas', 'two policies select it, and its replicas differ between them');
  }
  const tolerations = [...before.tolerations ?? [], ...election.tolerations ?? []];
  return { ...before, ...(tolerations.length > 0 && { tolerations }) };
}

/** Namespaces of elected workloads opt in, unless they elect all of their pods anyway. */
function optedIn(objects: readonly Fields[], findings: Finding[]): readonly Fields[] {
  const electing = new Set(objects.filter(electsAll).map((object) => mapAt(object, 'metadata')['name']));
  const namespaces = new Set(objects.map(toManifest).filter(hasElection).map(({ namespace }) => namespace));
  for (const name of namespaces) {
    const report = new Report(titleOf({ kind: 'Namespace', name: name ?? 'NAME' }));
    if (name === undefined) report.note('', `label it ${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}`);
    report.note('', `it must exist in the targets: isthmus allow namespace ${name ?? 'NAME'}`);
    findings.push(...report.findings);
  }
  return [...namespaces].filter((name) => name !== undefined && !electing.has(name)).map((name) => ({
    apiVersion: 'v1', kind: 'Namespace',
    metadata: { name, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } },
  }));
}

function electsAll(object: Fields): boolean {
  return isNamespace(object)
    && mapAt(mapAt(object, 'metadata'), 'labels')[NAMESPACE_ELECT_LABEL] === NAMESPACE_ELECT_VALUE;
}

function isNamespace({ apiVersion, kind }: Fields): boolean {
  return apiVersion === 'v1' && kind === 'Namespace';
}

/** Each object once: Namespaces first, then the kinds of Isthmus, then the rest. */
function inOrder(objects: readonly Fields[], findings: Finding[]): readonly Fields[] {
  const byKey = new Map<string, Fields>();
  const taken = new Set(objects.map(keyOf));
  for (const object of objects) {
    const { kind } = toManifest(object);
    const key = keyOf(object);
    const before = byKey.get(key);
    if (before === undefined || canonicalJson(before) === canonicalJson(object)) byKey.set(key, before ?? object);
    else if (isNamespace(object)) byKey.set(key, mergedNamespace(before, object));
    else if (/^(?:Cluster)?PlacementPolicy$/.test(kind)) addRenamed(object, byKey, taken);
    else {
      const report = new Report(titleOf(toManifest(object)));
      report.lost('', 'there are two of this name; only the first is printed');
      findings.push(...report.findings);
    }
  }
  return [...byKey.values()].map((object, index) => ({ object, index }))
    .toSorted((a, b) => rankOf(a.object) - rankOf(b.object) || a.index - b.index).map(({ object }) => object);
}

function keyOf(object: Fields): string {
  const { kind, namespace, name } = toManifest(object);
  return name === '' ? canonicalJson(object) : [object['apiVersion'], kind, namespace, name].join(' ');
}

/** Under a name that no other object has: of two of one name, kubectl would apply the last. */
function addRenamed(policy: Fields, byKey: Map<string, Fields>, taken: Set<string>): void {
  let number = byKey.size;
  while (taken.has(keyOf(renamed(policy, number)))) number += 1;
  const free = renamed(policy, number);
  taken.add(keyOf(free));
  byKey.set(keyOf(free), free);
}

/** Policies are known by what they select; without this one, its pods could run anywhere. */
function renamed(policy: Fields, number: number): Fields {
  const metadata = mapAt(policy, 'metadata');
  const name = `${String(metadata['name']).slice(0, MAX_NAME_LENGTH - NUMBER_LENGTH)}-${number}`;
  return { ...policy, metadata: { ...metadata, name } };
}

function mergedNamespace(one: Fields, other: Fields): Fields {
  const [a, b] = [mapAt(one, 'metadata'), mapAt(other, 'metadata')];
  const labels = { ...mapAt(a, 'labels'), ...mapAt(b, 'labels') };
  return { ...one, ...other, metadata: { ...a, ...b, labels } };
}

function rankOf(object: Fields): number {
  if (isNamespace(object)) return 0;
  return /^(?:isthmus\.dev|multicluster\.admiralty\.io)\//.test(String(object['apiVersion'])) ? 1 : 2;
}

/** Nothing of a conversion is used if an API server would reject a part: workloads would be elected without policy. */
function acceptable(object: Manifest, conversion: Conversion): Conversion {
  const problem = conversion.objects.map(schemaProblem).find((found) => found !== undefined);
  if (problem === undefined) return conversion;
  const report = new Report(titleOf(object));
  report.lost('', `what it becomes would be rejected by an API server: ${problem.field} ${problem.message}`);
  return { objects: [], findings: [...conversion.findings, ...report.findings] };
}

/** Why admission would deny the pods of an elected workload. */
function rejectionOf(object: Fields): readonly Finding[] {
  const manifest = toManifest(object);
  const rejection = hasElection(manifest) ? admissionProblem(manifest) : undefined;
  const report = new Report(titleOf(manifest));
  if (rejection !== undefined) report.lost('', `admission would deny its pods: ${rejection}`);
  return report.findings;
}

function toManifest(fields: Fields): Manifest {
  const { name, namespace } = mapAt(fields, 'metadata');
  const [apiVersion, kind] = [String(fields['apiVersion']), String(fields['kind'])];
  const slash = apiVersion.indexOf('/');
  return {
    fields, group: slash < 0 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1), kind,
    name: typeof name === 'string' ? name : '', ...(typeof namespace === 'string' && { namespace }),
  };
}

// What cannot work, or works in another way, once pods of these manifests run in other clusters. Every truth is asked
// where it is decided: admission, labels of delegates, Pod Security, schemas.
import { schemaProblem } from '../convert/schema-problems.ts';
import { policyProblem } from '../../scheduler/snapshot/policy-problem.ts';
import { titleOf, type Manifest } from '../translation/manifest.ts';
import { constraintRemarks } from './constraint-rules.ts';
import { electionRemarks, lintedPods, namespaceRemarks, namespacesIn } from './linted-pods.ts';
import { networkRemarks } from './network-rules.ts';
import { podRemarks } from './pod-rules.ts';
import { error, type Remark } from './remark.ts';

/** An object of a file. */
export interface LintedObject {
  readonly path: string;
  readonly object: Manifest;
}

/** A remark with its place. */
export interface LintFinding extends Remark {
  readonly path: string;
  readonly line: number;
  /** `kind/namespace/name`. */
  readonly object: string;
}

/** All findings, in the order of the objects. `fallback` is the namespace of those that name none. */
export function lintObjects(given: readonly LintedObject[], fallback: string): readonly LintFinding[] {
  const objects = given.map(({ object }) => object);
  const namespaces = namespacesIn(objects);
  const all = objects.flatMap((object) => lintedPods(object, namespaces, fallback) ?? []);
  return given.flatMap(({ path, object }) => {
    const pods = all.find(({ workload }) => workload === object);
    const { namespace = fallback } = object;
    const remarks = [
      ...namespaceRemarks(object), ...schemaRemarks(object),
      ...networkRemarks(object, all.filter((other) => other.namespace === namespace)),
      ...(pods === undefined ? [] : electionRemarks(pods, namespaces)),
      ...(pods?.elected === undefined ? [] : [...podRemarks(pods), ...constraintRemarks(pods, all)]),
    ];
    return remarks.map((remark) => ({ path, line: object.line ?? 1, object: titleOf(object), ...remark }));
  });
}

/** Objects of Isthmus that an API server or the scheduler would reject. */
function schemaRemarks({ fields, kind }: Manifest): readonly Remark[] {
  const schema = schemaProblem(fields);
  if (schema !== undefined) return [error(schema.field, `the API server would reject it: it ${schema.message}`)];
  if (!/^(?:Cluster)?PlacementPolicy$/.test(kind)) return [];
  const problem = policyProblem(fields['spec'], kind === 'PlacementPolicy' ? 'namespace' : 'cluster');
  return problem === undefined ? [] : [error('spec', `the policy ${problem}`)];
}

// Why an API server would reject an object of Isthmus: its schema has limits that objects of other systems can exceed.
import { CLUSTER_SOURCE_KIND, SOURCE_KIND } from '../../api/kinds/cluster-source.ts';
import { CLUSTER_TARGET_KIND, TARGET_KIND } from '../../api/kinds/cluster-target.ts';
import { NAMESPACE_ELECTION_KIND } from '../../api/kinds/namespace-election.ts';
import { CLUSTER_PLACEMENT_POLICY_KIND, PLACEMENT_POLICY_KIND } from '../../api/kinds/placement-policy.ts';
import { RESOURCE_SHARE_KIND } from '../../api/kinds/resource-share.ts';
import { TARGET_DISCOVERY_KIND } from '../../api/registry/target-discovery.ts';
import { ADMIRALTY_GROUP } from '../../api/objects/group-version.ts';
import type { KindDefinition } from '../../api/objects/schema.ts';
import { violationOf, type Violation } from '../../model/objects/schema-check.ts';
import type { Fields } from '../translation/manifest.ts';

const KINDS: readonly KindDefinition[] = [
  CLUSTER_PLACEMENT_POLICY_KIND, PLACEMENT_POLICY_KIND, NAMESPACE_ELECTION_KIND, RESOURCE_SHARE_KIND,
  CLUSTER_TARGET_KIND, TARGET_KIND, CLUSTER_SOURCE_KIND, SOURCE_KIND, TARGET_DISCOVERY_KIND,
];
/** Fields of every object. */
const COMMON: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** The first problem of an object of a kind of Isthmus; undefined for others and for one without. */
export function schemaProblem(object: Fields): Violation | undefined {
  const definition = KINDS.find(({ kind, group = ADMIRALTY_GROUP }) =>
    kind === object['kind'] && String(object['apiVersion']).startsWith(`${group}/`));
  if (definition === undefined) return undefined;
  const { versions = ['v1alpha1'], properties, required = [] } = definition;
  const [, version = ''] = String(object['apiVersion']).split('/');
  if (!versions.includes(version)) {
    return { field: 'apiVersion', message: `must be ${versions.join(' or ')}, not ${version}` };
  }
  const own = Object.fromEntries(Object.entries(object).filter(([name]) => !COMMON.has(name)));
  return violationOf(own, { type: 'object', properties, required }, '');
}

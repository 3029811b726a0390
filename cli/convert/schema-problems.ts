// Why an API server would reject an object of Isthmus: its schema has limits that objects of other systems can exceed.
import { CLUSTER_SOURCE_KIND, SOURCE_KIND } from '../../api/kinds/cluster-source.ts';
import { CLUSTER_TARGET_KIND, TARGET_KIND } from '../../api/kinds/cluster-target.ts';
import { NAMESPACE_ELECTION_KIND } from '../../api/kinds/namespace-election.ts';
import { CLUSTER_PLACEMENT_POLICY_KIND, PLACEMENT_POLICY_KIND } from '../../api/kinds/placement-policy.ts';
import { RESOURCE_SHARE_KIND } from '../../api/kinds/resource-share.ts';
import { TARGET_DISCOVERY_KIND } from '../../api/registry/target-discovery.ts';
import { ADMIRALTY_GROUP } from '../../api/objects/group-version.ts';
import type { KindDefinition, Schema } from '../../api/objects/schema.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import type { Fields } from '../translation/manifest.ts';

const KINDS: readonly KindDefinition[] = [
  CLUSTER_PLACEMENT_POLICY_KIND, PLACEMENT_POLICY_KIND, NAMESPACE_ELECTION_KIND, RESOURCE_SHARE_KIND,
  CLUSTER_TARGET_KIND, TARGET_KIND, CLUSTER_SOURCE_KIND, SOURCE_KIND, TARGET_DISCOVERY_KIND,
];
/** Fields of every object. */
const COMMON: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** A field that its schema does not allow, and why. */
export interface SchemaProblem {
  readonly field: string;
  readonly message: string;
}

/** The first problem of an object of a kind of Isthmus; undefined for others and for one without. */
export function schemaProblem(object: Fields): SchemaProblem | undefined {
  const definition = KINDS.find(({ kind, group = ADMIRALTY_GROUP }) =>
    kind === object['kind'] && String(object['apiVersion']).startsWith(`${group}/`));
  if (definition === undefined) return undefined;
  const { versions = ['v1alpha1'], properties, required = [] } = definition;
  const [, version = ''] = String(object['apiVersion']).split('/');
  if (!versions.includes(version)) return { field: 'apiVersion', message: `${versions.join(', ')} is served` };
  const own = Object.fromEntries(Object.entries(object).filter(([name]) => !COMMON.has(name)));
  return problemOf(own, { type: 'object', properties, required }, '');
}

function problemOf(value: unknown, schema: Schema, field: string): SchemaProblem | undefined {
  switch (schema.type) {
    case 'object':
      return isRecord(value) ? objectProblem(value, schema, field) : { field, message: 'it is not an object' };
    case 'array':
      return Array.isArray(value) ? listProblem(value, schema, field) : { field, message: 'it is not a list' };
    case 'string':
      return typeof value === 'string' ? textProblem(value, schema, field) : { field, message: 'it is not a string' };
    case 'integer':
      return Number.isSafeInteger(value) ? numberProblem(Number(value), schema, field)
        : { field, message: 'it is not an integer' };
    case 'boolean':
      return typeof value === 'boolean' ? undefined : { field, message: 'it is not true or false' };
    case undefined:
      return undefined;
    default:
      return undefined;
  }
}

function objectProblem(
  fields: Fields, { properties, additionalProperties, required = [], ...schema }: Schema, field: string,
): SchemaProblem | undefined {
  const at = (name: string): string => (field === '' ? name : `${field}.${name}`);
  const missing = required.find((name) => !Object.hasOwn(fields, name));
  if (missing !== undefined) return { field: at(missing), message: 'it is missing' };
  const names = Object.keys(fields);
  if (schema.maxProperties !== undefined && names.length > schema.maxProperties) {
    return { field, message: `at most ${schema.maxProperties} entries are allowed` };
  }
  for (const name of names) {
    const inner = propertyOf(properties, name) ?? additionalProperties;
    if (inner === undefined && properties !== undefined && schema['x-kubernetes-preserve-unknown-fields'] !== true) {
      return { field: at(name), message: 'there is no such field' };
    }
    const problem = inner === undefined ? undefined : problemOf(fields[name], inner, at(name));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function propertyOf(properties: Schema['properties'], name: string): Schema | undefined {
  return properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function listProblem(list: readonly unknown[], { items, minItems = 0, maxItems }: Schema, field: string):
  SchemaProblem | undefined {
  if (list.length < minItems) return { field, message: 'it is empty' };
  if (maxItems !== undefined && list.length > maxItems) {
    return { field, message: `${list.length} entries, at most ${maxItems} are allowed; select by a label instead` };
  }
  for (const [index, item] of list.entries()) {
    const problem = items === undefined ? undefined : problemOf(item, items, `${field}[${index}]`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function textProblem(text: string, { enum: choices, minLength = 0, maxLength, pattern }: Schema, field: string):
  SchemaProblem | undefined {
  if (choices !== undefined && !choices.includes(text)) {
    return { field, message: `${JSON.stringify(text)} is not one of ${choices.join(', ')}` };
  }
  if (maxLength !== undefined && text.length > maxLength) {
    return { field, message: `it has ${text.length} characters, at most ${maxLength} are allowed` };
  }
  if (text.length < minLength) return { field, message: 'it is empty' };
  const isWrong = pattern !== undefined && !new RegExp(pattern).test(text);
  return isWrong ? { field, message: `${JSON.stringify(text)} does not have the form ${pattern}` } : undefined;
}

function numberProblem(value: number, { minimum, maximum }: Schema, field: string): SchemaProblem | undefined {
  if (minimum !== undefined && value < minimum) return { field, message: `${value} is less than ${minimum}` };
  if (maximum !== undefined && value > maximum) return { field, message: `${value} is more than ${maximum}` };
  return undefined;
}

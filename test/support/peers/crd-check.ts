// A small check of objects against our definitions: unknown and missing fields, types, choices. The API server says the
// same and more.
import type { Schema } from '../../../api/objects/schema.ts';
import { customResourceDefinitions } from '../../../manifests/objects/crds.ts';

const COMMON = new Set(['apiVersion', 'kind', 'metadata']);

/** What is wrong with an object of one of our kinds; nothing for other kinds. */
export function problemsOf(object: Readonly<Record<string, unknown>>): readonly string[] {
  const definition = customResourceDefinitions().find(
    ({ spec }) => spec.names.kind === object['kind'] && String(object['apiVersion']).startsWith(`${spec.group}/`),
  );
  if (definition === undefined) return [];
  const version =
    definition.spec.versions.find(({ name }) => object['apiVersion'] === `${definition.spec.group}/${name}`);
  if (version === undefined) return [`apiVersion: ${String(object['apiVersion'])} is not served`];
  const schema: Schema = version.schema.openAPIV3Schema;
  return check(
    object,
    {
      ...schema,
      properties: Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([name]) => !COMMON.has(name))),
    },
    String(object['kind']), COMMON,
  );
}

function check(value: unknown, schema: Schema, path: string, also: ReadonlySet<string> = new Set()): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return typeof value === 'string' || typeof value === 'number'
    ? []
    : [`${path}: number or string`];
  if (schema.enum !== undefined && !schema.enum.includes(String(value))) {
    return [`${path}: one of ${schema.enum.join(', ')}`];
  }
  if (schema.type === 'object') return checkObject(value, schema, path, also);
  if (schema.type === 'array') return Array.isArray(value) ? value
    .flatMap((item, index) => check(item, schema.items ?? {}, `${path}[${index}]`)) : [`${path}: a list`];
  return isOfType(value, schema.type) ? [] : [`${path}: ${schema.type}`];
}

function isOfType(value: unknown, type: Schema['type']): boolean {
  return type === undefined || (type === 'integer' ? Number.isInteger(value) : typeof value === type);
}

function checkObject(value: unknown, schema: Schema, path: string, also: ReadonlySet<string>): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path}: an object`];
  const fields = value as Readonly<Record<string, unknown>>;
  const missing = (schema.required ?? []).filter((name) => !(name in fields)).map((name) => `${path}.${name}: missing`);
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  return [...missing, ...Object.entries(fields).flatMap(([name, field]) => {
    const inner = schema.properties?.[name] ?? schema.additionalProperties;
    if (inner !== undefined) return check(field, inner, `${path}.${name}`);
    return isOpen || also.has(name) || schema.properties === undefined ? [] : [`${path}.${name}: no such field`];
  })];
}

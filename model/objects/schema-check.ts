// Validates values from other clusters against a schema. API servers enforce schemas, but a malicious server does not,
// and what is read as a list must not turn out to be a string in the middle of a decision.
import type { Schema } from '../../api/objects/schema.ts';
import { isRecord } from './json-values.ts';

/** The part of {@link Schema} that is checked. */
export type Shape = Pick<Schema, 'type' | 'required' | 'x-kubernetes-int-or-string'> & {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly additionalProperties?: Shape;
};

/**
 * The first difference of a value from a shape, as `.status.conditions[0] is not an object`; undefined if none.
 * Only as deep as the shape.
 */
export function misfitOf(value: unknown, shape: Shape, path = ''): string | undefined {
  if (shape.type === 'array') return Array.isArray(value) ? misfitOfItems(value, shape, path) : `${path} is not a list`;
  if (shape.type === 'object') return isRecord(value) ? misfitOfObject(value, shape, path) : `${path} is not an object`;
  if (shape['x-kubernetes-int-or-string'] === true) return typeof value === 'string' || typeof value === 'number'
    ? undefined
    : `${path} is not a string or number`;
  if (shape.type === undefined || fits(value, shape.type)) return undefined;
  return `${path} is no ${shape.type}`;
}

function fits(value: unknown, type: 'string' | 'integer' | 'boolean'): boolean {
  return type === 'integer' ? Number.isSafeInteger(value) : typeof value === type;
}

/** Returns an object that has the shape. Throws TypeError with the first difference; informers skip such an object. */
export function expectShape<T>(object: T, shape: Shape): T {
  const misfit = misfitOf(object, shape);
  if (misfit !== undefined) throw new TypeError(`the object cannot be read: ${misfit.slice(0, 300)}`);
  return object;
}

function misfitOfItems(list: readonly unknown[], { items }: Shape, path: string): string | undefined {
  if (items === undefined) return undefined;
  for (let index = 0; index < list.length; index += 1) {
    const misfit = misfitOf(list[index], items, `${path}[${index}]`);
    if (misfit !== undefined) return misfit;
  }
  return undefined;
}

function misfitOfObject(object: Readonly<Record<string, unknown>>, shape: Shape, path: string): string | undefined {
  const { properties = {}, required = [], additionalProperties } = shape;
  const missing = required.find((name) => !Object.hasOwn(object, name));
  if (missing !== undefined) return `${path}.${missing} is missing`;
  for (const name in properties) {
    const misfit =
      Object.hasOwn(object, name) ? misfitOf(object[name], properties[name] ?? {}, `${path}.${name}`) : undefined;
    if (misfit !== undefined) return misfit;
  }
  return additionalProperties === undefined
    ? undefined
    : misfitOfOthers(object, { properties, additionalProperties }, path);
}

function misfitOfOthers(
  object: Readonly<Record<string, unknown>>,
  { properties, additionalProperties }: { readonly properties: object; readonly additionalProperties: Shape },
  path: string,
): string | undefined {
  for (const [name, value] of Object.entries(object)) {
    const misfit =
      Object.hasOwn(properties, name) ? undefined : misfitOf(value, additionalProperties, `${path}.${name}`);
    if (misfit !== undefined) return misfit;
  }
  return undefined;
}

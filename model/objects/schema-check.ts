// Validates values from other clusters against a schema, and those that a person wrote. API servers enforce schemas,
// but a malicious server does not, and what is read as a list must not turn out to be a string in the middle of a
// decision.
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

/** Of what somebody wrote, in a message. */
const LONGEST = 80;

/**
 * The first thing that an API server or kubectl would reject, as `tiers[0].targets is missing`: types, missing and
 * unknown fields, choices and limits, but no CEL rules. Undefined where the value keeps the schema.
 */
export function violationOf(value: unknown, schema: Schema, path: string): string | undefined {
  if (schema.type === 'array') {
    return Array.isArray(value) ? violationOfList(value, schema, path) : `${path} must be a list`;
  }
  if (schema.type === 'object') {
    return isRecord(value) ? violationOfMap(value, schema, path) : `${path} must be an object`;
  }
  return violationOfScalar(value, schema, path);
}

function violationOfScalar(value: unknown, schema: Schema, path: string): string | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) {
    return typeof value === 'string' || Number.isInteger(value) ? undefined : `${path} must be a string or an integer`;
  }
  const { type } = schema;
  if (type === 'boolean') return typeof value === 'boolean' ? undefined : `${path} must be true or false`;
  if (type === 'string') {
    return typeof value === 'string' ? violationOfText(value, schema, path) : `${path} must be a string`;
  }
  if (type !== 'integer') return undefined;
  return Number.isSafeInteger(value) ? violationOfNumber(Number(value), schema, path) : `${path} must be an integer`;
}

function violationOfText(
  text: string, { enum: choices, minLength = 0, maxLength = Infinity, pattern }: Schema, path: string,
): string | undefined {
  if (choices !== undefined && !choices.includes(text)) return `${path} must be one of ${choices.join(', ')}`;
  if (text.length < minLength) return `${path} must not be empty`;
  if (Array.from(text).length > maxLength) return `${path} has more than ${maxLength} characters`;
  return pattern === undefined || new RegExp(pattern, 'v').test(text) ? undefined : `${path} must match ${pattern}`;
}

function violationOfNumber(number: number, { minimum, maximum }: Schema, path: string): string | undefined {
  if (minimum !== undefined && number < minimum) return `${path} must be at least ${minimum}`;
  return maximum !== undefined && number > maximum ? `${path} must be at most ${maximum}` : undefined;
}

function violationOfList(
  list: readonly unknown[], { items = {}, minItems = 0, maxItems = Infinity }: Schema, path: string,
): string | undefined {
  if (list.length < minItems) return `${path} must have at least ${minItems} ${minItems === 1 ? 'entry' : 'entries'}`;
  if (list.length > maxItems) return `${path} must have at most ${maxItems} entries`;
  return firstOf(list.keys(), (index) => violationOf(list[index], items, `${path}[${index}]`));
}

function violationOfMap(
  map: Readonly<Record<string, unknown>>, schema: Schema, path: string,
): string | undefined {
  const { required = [], maxProperties = Infinity } = schema;
  const missing = required.find((name) => !Object.hasOwn(map, name));
  if (missing !== undefined) return `${path}.${missing} is missing`;
  const names = Object.keys(map);
  if (names.length > maxProperties) return `${path} must have at most ${maxProperties} entries`;
  return firstOf(names, (name) => violationOfField(map[name], name, schema, path));
}

function violationOfField(
  value: unknown, name: string, { properties = {}, additionalProperties, ...schema }: Schema, path: string,
): string | undefined {
  const at = `${path}.${name.slice(0, LONGEST)}`;
  const inner = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
  if (inner !== undefined) return violationOf(value, inner, at);
  return schema['x-kubernetes-preserve-unknown-fields'] === true ? undefined
    : `${at} is not a field; the fields are ${Object.keys(properties).join(', ')}`;
}

function firstOf<T>(things: Iterable<T>, problemOf: (thing: T) => string | undefined): string | undefined {
  for (const thing of things) {
    const problem = problemOf(thing);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

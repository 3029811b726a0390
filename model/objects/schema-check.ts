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
export function shapeProblem(value: unknown, shape: Shape): string | undefined {
  if (shape.type === 'array') return Array.isArray(value) ? misfitOfItems(value, shape) : ' is not a list';
  if (shape.type === 'object') return isRecord(value) ? misfitOfObject(value, shape) : ' is not an object';
  if (shape['x-kubernetes-int-or-string'] === true) return typeof value === 'string' || typeof value === 'number'
    ? undefined
    : ' is not a string or number';
  if (shape.type === undefined || fits(value, shape.type)) return undefined;
  return ` is no ${shape.type}`;
}

/** A problem begins with its path. It is made on the way back, because nearly all values fit. */
function problemAt(step: string, problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : `${step}${problem}`;
}

function fits(value: unknown, type: 'string' | 'integer' | 'boolean'): boolean {
  return type === 'integer' ? Number.isSafeInteger(value) : typeof value === type;
}

/** Returns an object that has the shape. Throws TypeError with the first difference; informers skip such an object. */
export function expectShape<T>(object: T, shape: Shape): T {
  const problem = shapeProblem(object, shape);
  if (problem !== undefined) throw new TypeError(`the object cannot be read: ${problem.slice(0, 300)}`);
  return object;
}

function misfitOfItems(list: readonly unknown[], { items }: Shape): string | undefined {
  if (items === undefined) return undefined;
  for (let index = 0; index < list.length; index += 1) {
    const problem = shapeProblem(list[index], items);
    if (problem !== undefined) return problemAt(`[${index}]`, problem);
  }
  return undefined;
}

function misfitOfObject(object: Readonly<Record<string, unknown>>, shape: Shape): string | undefined {
  const { properties = {}, required = [], additionalProperties } = shape;
  const missing = required.find((name) => !Object.hasOwn(object, name));
  if (missing !== undefined) return `.${missing} is missing`;
  for (const name in properties) {
    const problem = Object.hasOwn(object, name) ? shapeProblem(object[name], properties[name] ?? {}) : undefined;
    if (problem !== undefined) return problemAt(`.${name}`, problem);
  }
  return additionalProperties === undefined ? undefined : misfitOfOthers(object, { properties, additionalProperties });
}

function misfitOfOthers(
  object: Readonly<Record<string, unknown>>,
  { properties, additionalProperties }: { readonly properties: object; readonly additionalProperties: Shape },
): string | undefined {
  for (const [name, value] of Object.entries(object)) {
    const problem = Object.hasOwn(properties, name) ? undefined : shapeProblem(value, additionalProperties);
    if (problem !== undefined) return problemAt(`.${name}`, problem);
  }
  return undefined;
}

/** Longest quoted text in a message, in characters. */
const LONGEST = 80;

/** What an API server or kubectl would reject. */
export interface Violation {
  /** Path of the field; empty for the whole value. */
  readonly field: string;
  /** What is wrong with it, as the end of a sentence that begins with the field. */
  readonly message: string;
}

/**
 * The first violation of a schema: types, missing and unknown fields, choices and limits, but no CEL rules. Undefined
 * where the value keeps the schema.
 */
export function violationOf(value: unknown, schema: Schema, field: string): Violation | undefined {
  if (schema.type === 'array' && Array.isArray(value)) return violationOfList(value, schema, field);
  if (schema.type === 'object' && isRecord(value)) return violationOfMap(value, schema, field);
  return toViolation(field, scalarProblem(value, schema));
}

function toViolation(field: string, message: string | undefined): Violation | undefined {
  return message === undefined ? undefined : { field, message };
}

function scalarProblem(value: unknown, schema: Schema): string | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) return intOrStringProblem(value);
  switch (schema.type) {
    case 'array': return 'must be a list';
    case 'object': return 'must be an object';
    case 'boolean': return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'string': return typeof value === 'string' ? textProblem(value, schema) : 'must be a string';
    case 'integer':
      return Number.isSafeInteger(value) ? numberProblem(Number(value), schema) : 'must be an integer';
    case undefined:
    default:
      return undefined;
  }
}

function intOrStringProblem(value: unknown): string | undefined {
  return typeof value === 'string' || Number.isInteger(value) ? undefined : 'must be a string or an integer';
}

function textProblem(
  text: string, { enum: choices, minLength = 0, maxLength = Infinity, pattern }: Schema,
): string | undefined {
  const shown = JSON.stringify(text.slice(0, LONGEST));
  if (choices !== undefined && !choices.includes(text)) return `must be one of ${choices.join(', ')}, not ${shown}`;
  if (text.length < minLength) return 'must not be empty';
  const length = Array.from(text).length;
  if (length > maxLength) return `has ${length} characters; at most ${maxLength} are allowed`;
  if (pattern === undefined || new RegExp(pattern).test(text)) return undefined;
  return `must match ${pattern}, not ${shown}`;
}

function numberProblem(number: number, { minimum = -Infinity, maximum = Infinity }: Schema): string | undefined {
  if (number < minimum) return `must be at least ${minimum}, not ${number}`;
  return number > maximum ? `must be at most ${maximum}, not ${number}` : undefined;
}

function violationOfList(
  list: readonly unknown[], { items = {}, minItems = 0, maxItems = Infinity }: Schema, field: string,
): Violation | undefined {
  if (list.length < minItems) {
    return { field, message: `must have at least ${minItems} ${minItems === 1 ? 'entry' : 'entries'}` };
  }
  if (list.length > maxItems) {
    return { field, message: `has ${list.length} entries; at most ${maxItems} are allowed; select by a label instead` };
  }
  return firstOf(list.keys(), (index) => violationOf(list[index], items, `${field}[${index}]`));
}

function violationOfMap(
  map: Readonly<Record<string, unknown>>, schema: Schema, field: string,
): Violation | undefined {
  const { required = [], maxProperties = Infinity } = schema;
  const missing = required.find((name) => !Object.hasOwn(map, name));
  if (missing !== undefined) return { field: fieldIn(field, missing), message: 'is missing' };
  const names = Object.keys(map);
  if (names.length > maxProperties) {
    return { field, message: `has ${names.length} entries; at most ${maxProperties} are allowed` };
  }
  return firstOf(names, (name) => violationOfField(map[name], name, schema, field));
}

function violationOfField(
  value: unknown, name: string, { properties = {}, additionalProperties, ...schema }: Schema, parent: string,
): Violation | undefined {
  const field = fieldIn(parent, name.slice(0, LONGEST));
  const inner = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
  if (inner !== undefined) return violationOf(value, inner, field);
  return schema['x-kubernetes-preserve-unknown-fields'] === true ? undefined
    : { field, message: `is not a field; the fields are ${Object.keys(properties).join(', ')}` };
}

function fieldIn(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`;
}

function firstOf<T>(things: Iterable<T>, problemOf: (thing: T) => Violation | undefined): Violation | undefined {
  for (const thing of things) {
    const problem = problemOf(thing);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

// The shapes of scheduling constraints against those that are generated from Kubernetes' own API: a field that is
// missing here would be reported to users as their typo.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  CONSTRAINT_FIELDS, isOtherPodSpecField, knownShapeErrors, shapeErrors,
} from '../../../../model/pod/constraint-shapes.ts';

/** A field of a type of the API, as the official client describes it. */
interface Attribute {
  readonly baseName: string;
  readonly type: string;
}
interface ApiType {
  getAttributeTypeMap(): readonly Attribute[];
}

const CLIENT = new URL('.', import.meta.resolve('@kubernetes/client-node')).href;

/** The fields of a type; undefined for a scalar. Only the types that are asked for are loaded. */
async function fieldsOf(type: string): Promise<readonly Attribute[] | undefined> {
  if (!type.startsWith('V1')) return undefined;
  const loaded = await import(`${CLIENT}gen/models/${type}.js`) as Readonly<Record<string, ApiType>>;
  return loaded[type]?.getAttributeTypeMap();
}

const SCALARS: Readonly<Record<string, unknown>> = { string: 'x', number: 1, boolean: true };

/** A value of a type of the API in which every field is set. */
async function fullValue(type: string): Promise<unknown> {
  const [, element] = /^Array<(.*)>$/.exec(type) ?? [];
  if (element !== undefined) return [await fullValue(element)];
  if (type.startsWith('{')) return { key: 'x' };
  const fields = await fieldsOf(type);
  if (fields === undefined) return SCALARS[type];
  return Object.fromEntries(await Promise.all(
    fields.map(async ({ baseName, type: inner }) => [baseName, await fullValue(inner)] as const),
  ));
}

const podSpec = await fieldsOf('V1PodSpec') ?? assert.fail('the client describes no PodSpec');
const constraints = Object.fromEntries(await Promise.all(podSpec
  .filter(({ baseName }) => CONSTRAINT_FIELDS.has(baseName))
  .map(async ({ baseName, type }) => [baseName, await fullValue(type)] as const)));
const nothingIgnored = (): boolean => false;

/** Every place in a value, as the keys that lead there. */
function* placesIn(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    yield [...path, key];
    yield* placesIn(inner, [...path, key]);
  }
}

/** The value with another one at a place. */
function withAt(value: unknown, [key = '', ...rest]: readonly string[], put: unknown): unknown {
  const inner = rest.length === 0 ? put : withAt((value as Record<string, unknown>)[key], rest, put);
  if (Array.isArray(value)) return value.map((one: unknown, index) => (String(index) === key ? inner : one));
  return { ...(value as object), [key]: inner };
}

describe('the fields of a PodSpec', () => {
  it('are all known: a constraint, or one that does not choose a cluster', () => assert.deepEqual(
    podSpec.map(({ baseName }) => baseName).filter((field) => !CONSTRAINT_FIELDS.has(field)
      && !isOtherPodSpecField(field)),
    [],
  ));
  it('are either the one or the other', () =>
    assert.deepEqual([...CONSTRAINT_FIELDS].filter(isOtherPodSpecField), []));
  it('do not include what Kubernetes does not have', () => {
    for (const field of ['nodeSelectors', 'toleration', '', '__proto__', 'constructor']) {
      assert.equal(isOtherPodSpecField(field) || CONSTRAINT_FIELDS.has(field), false, field);
    }
  });
});

describe('constraints in which every field of Kubernetes is set', () => {
  it('have no error', () => assert.deepEqual(shapeErrors(constraints, nothingIgnored), []));
  it('have none with any of them null, which is as good as missing', () => {
    const isField = (path: readonly string[]): boolean =>
      !/^\d+$|^key$/.test(path.at(-1) ?? '') || path.at(-2) === '0';
    const nulled = [...placesIn(constraints)].filter(isField).filter((path) => !isInMapOrList(path));
    for (const path of nulled) assert.deepEqual(shapeErrors(withAt(constraints, path, null), nothingIgnored), [],
      path.join('.'));
    assert.ok(nulled.length > 100, String(nulled.length));
  });
  it('have one error, at its place, with any value of another kind', () => {
    for (const path of placesIn(constraints)) {
      const [error = '', ...others] = shapeErrors(withAt(constraints, path, Symbol.for('other')), nothingIgnored);
      assert.deepEqual(others, [], path.join('.'));
      assert.match(error, /^must have /);
      assert.ok(isAbout(error, path), `${error} for ${path.join('.')}`);
    }
  });
  it('have one error with an unknown field in any object, which names the field', () => {
    const objects = [[], ...placesIn(constraints)].filter((path) => isShapedObject(valueAtPath(path), path));
    for (const path of objects) {
      const errors = shapeErrors(withAt(constraints, [...path, 'typo'], 1), nothingIgnored);
      assert.equal(errors.length, 1, path.join('.'));
      assert.match(errors[0] ?? '', /^has an unknown field .*typo$/);
    }
    assert.ok(objects.length > 30, String(objects.length));
  });

  function valueAtPath(path: readonly string[]): unknown {
    return path.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], constraints);
  }

  function isMap(path: readonly string[]): boolean {
    return path.at(-1) === 'nodeSelector' || path.at(-1) === 'matchLabels';
  }

  function isShapedObject(value: unknown, path: readonly string[]): boolean {
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !isMap(path);
  }

  /** Within a map or a list of strings null is a value, and a wrong one; an element of a list is not a field. */
  function isInMapOrList(path: readonly string[]): boolean {
    return isMap(path.slice(0, -1)) || Array.isArray(valueAtPath(path.slice(0, -1)));
  }

  /** Maps and lists of strings are named as a whole. */
  function isAbout(error: string, path: readonly string[]): boolean {
    const text = path.join('.').replaceAll(/\.(\d+)/g, '[$1]');
    return [text, text.replace(/\.[^.]*$/, ''), text.replace(/\[\d+\]$/, '')].some((place) =>
      error.includes(` in ${place}`));
  }
});

describe('constraints of a user', () => {
  it('are a mapping', () => {
    for (const value of [null, undefined, [], 'x', 1]) {
      assert.deepEqual(shapeErrors(value, nothingIgnored), ['is not a mapping of fields']);
    }
  });
  it('may have fields that are ignored, with any value', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(shapeErrors({ hostNetwork: value }, isOtherPodSpecField), []);
    }), { numRuns: 50 });
  });
  it('are read the same in any order of their fields', () => {
    fc.assert(fc.property(fc.shuffledSubarray(Object.keys(constraints)), (order) => {
      const some = Object.fromEntries(order.map((field) => [field, constraints[field]]));
      assert.deepEqual(shapeErrors(some, nothingIgnored), []);
    }), { numRuns: 20 });
  });
});

describe('constraints that an API server has accepted', () => {
  it('may have fields that are not known here', () => {
    assert.deepEqual(knownShapeErrors({ nodeSelector: {}, tolerations: [{ key: 'a', future: true }], other: 1 }), []);
  });
  it('must have the shapes that are read, wherever an unknown field is', () => assert.deepEqual(
    knownShapeErrors({ tolerations: [{ future: true }, { key: 1 }], affinity: 'x' }),
    ['must have a string in tolerations[1].key', 'must have a mapping in affinity'],
  ));
});

// The patch from one JSON object to another, applied by an implementation that is not ours.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import jsonPatch from 'fast-json-patch';
import { diffJson, diffMember, memberPointer, type PatchOperation } from '../../../../webhook/review/json-patch.ts';

type Json = Readonly<Record<string, unknown>>;

const KEYS = ['a', 'b', '', '/', '~', '~1', '~01', 'a/b', '-', '0', 'constructor', 'toString', 'ключ'];
const value: fc.Arbitrary<unknown> = fc.letrec<{ readonly value: unknown; readonly object: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' }, fc.constantFrom(null, true, 0, 1, '', 'x'), tie('object'),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
  object: fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 5, noNullPrototype: true }),
})).value;
const object = fc.dictionary(fc.constantFrom(...KEYS), value,
  { maxKeys: 6, noNullPrototype: true }) as fc.Arbitrary<Json>;

const apply = (before: Json, patch: readonly PatchOperation[]): unknown => jsonPatch
  .applyPatch(structuredClone(before), structuredClone(patch) as jsonPatch.Operation[], true, true, false).newDocument;

describe('the patch between two objects', () => {
  it('turns the one into the other', () => {
    fc.assert(fc.property(object, object, (before, after) => {
      assert.deepEqual(apply(before, diffJson(before, after)), after);
    }), { numRuns: 500 });
  });
  it('is empty exactly when they are equal', () => {
    fc.assert(fc.property(object, object, (before, after) => {
      const isEqual = jsonPatch.compare(before, after).length === 0;
      assert.equal(diffJson(before, after).length === 0, isEqual);
      assert.deepEqual(diffJson(before, structuredClone(before)), []);
    }), { numRuns: 300 });
  });
  it('changes each place once, and no place within another that it changes', () => {
    fc.assert(fc.property(object, object, (before, after) => {
      const paths = diffJson(before, after).map(({ path }) => path);
      for (const path of paths) {
        const nested = paths.filter((other) => other === path || other.startsWith(`${path}/`));
        assert.deepEqual(nested, [path]);
      }
    }), { numRuns: 300 });
  });
  it('can be applied in any order: no operation rests on another', () => {
    fc.assert(fc.property(object, object, (before, after) => {
      assert.deepEqual(apply(before, diffJson(before, after).toReversed()), after);
    }), { numRuns: 300 });
  });
  it('says what it does: add where nothing was, replace and remove where something was', () => {
    assert.deepEqual(diffJson({ kept: 1, gone: 1, other: 1, map: { a: 1 } },
      { kept: 1, other: 2, map: { a: 1, b: 2 }, made: null }), [
      { op: 'remove', path: '/gone' }, { op: 'replace', path: '/other', value: 2 },
      { op: 'add', path: '/map/b', value: 2 }, { op: 'add', path: '/made', value: null },
    ]);
  });
  it('replaces a list as a whole, and a value of another kind', () =>
    assert.deepEqual(diffJson({ list: [1, 2], map: {} }, { list: [2], map: [] }), [
      { op: 'replace', path: '/list', value: [2] }, { op: 'replace', path: '/map', value: [] },
    ]));
});

describe('one member', () => {
  const rows: Readonly<Record<string, readonly [before: unknown, after: unknown, op: string | undefined]>> = {
    'that is missing before and after': [undefined, undefined, undefined],
    'that is the same list': [[1], [1], undefined],
    'that becomes null': [1, null, 'replace'], 'that was null': [null, 1, 'replace'],
    'that becomes an empty text': ['a', '', 'replace'], 'that becomes 0': [undefined, 0, 'add'],
    'that is gone': [{}, undefined, 'remove'],
  };
  for (const [name, [before, after, op]] of Object.entries(rows)) {
    it(`${name}: ${op ?? 'nothing'}`, () => {
      const patch: PatchOperation[] = [];
      diffMember(patch, '/x', before, after);
      assert.deepEqual(patch.map((operation) => operation.op), op === undefined ? [] : [op]);
    });
  }
});

describe('a JSON pointer', () => {
  it('leads to the member of any name (RFC 6901)', () => {
    fc.assert(fc.property(fc.oneof(fc.constantFrom(...KEYS), fc.string()).filter((key) => key !== '__proto__'),
      (key) => {
      const holder = JSON.parse(`{"in":{${JSON.stringify(key)}:"found"}}`) as object;
      assert.equal(jsonPatch.getValueByPointer(holder, memberPointer('/in', key)), 'found');
    }), { numRuns: 200 });
  });
});

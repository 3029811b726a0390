import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { canonicalJson } from '../../../../model/objects/canonical-json.ts';

/** JSON values without null in objects, which do not count. */
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string(), fc.integer(), fc.boolean(), fc.array(fc.oneof(tie('value'), fc.constant(null))),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', '10', '9', '"')), tie('value')),
  ),
}));

describe('canonicalJson', () => {
  const cases: Record<string, readonly [value: unknown, text: string]> = {
    'sorts fields, at every depth': [{ b: { d: 1, c: 2 }, a: [] }, '{"a":[],"b":{"c":2,"d":1}}'],
    'leaves out what was never set': [{ a: null, b: undefined, c: 0, d: '' }, '{"c":0,"d":""}'],
    'keeps the places of a list': [[1, null, undefined, { a: null }], '[1,null,null,{}]'],
    'escapes names and texts': [{ 'a"b': '\n' }, '{"a\\"b":"\\n"}'],
    'takes a value that is no object': ['x', '"x"'],
  };
  for (const [what, [given, text]] of Object.entries(cases)) it(what, () => assert.equal(canonicalJson(given), text));

  it('says the same as JSON that was read back', () => {
    fc.assert(fc.property(
      value, (given) => assert.deepEqual(JSON.parse(canonicalJson(given)), JSON.parse(JSON.stringify(given))),
    ));
  });

  it('is one text for one value, in whatever order its fields came', () => {
    const reversed = (of: unknown): unknown => {
      if (typeof of !== 'object' || of === null) return of;
      return Array.isArray(of)
        ? of.map(reversed)
        : Object.fromEntries(Object.entries(of).toReversed().map(([name, field]) => [name, reversed(field)]));
    };
    fc.assert(fc.property(value, (given) => assert.equal(canonicalJson(reversed(given)), canonicalJson(given))));
  });
});

// Values of JSON whose shape is not known.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { isRecord, parsedJson } from '../../../../model/objects/json-values.ts';

describe('a value', () => {
  const values: readonly (readonly [value: unknown, isObject: boolean])[] = [
    [{}, true], [{ a: 1 }, true], [Object.create(null), true],
    [[], false], [null, false], [undefined, false], ['{}', false], [1, false], [true, false],
  ];
  for (const [value, isObject] of values) {
    it(`${JSON.stringify(value)} is ${isObject ? 'an object' : 'none'}`, () => assert.equal(isRecord(value), isObject));
  }
});

describe('a text', () => {
  for (const text of ['', '{', '{"a":}', 'undefined', "{'a':1}", '{}{}']) {
    it(`${JSON.stringify(text)} is not JSON`, () => assert.equal(parsedJson(text), undefined));
  }

  it('of JSON is what JSON.parse says, and no other text is an exception', () => {
    fc.assert(fc.property(fc.json(), (text) => assert.deepEqual(parsedJson(text), JSON.parse(text))));
    fc.assert(fc.property(fc.string(), (text) => void parsedJson(text)));
  });
});

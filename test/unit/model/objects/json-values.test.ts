// Values of JSON whose shape is not known.
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import {
  isRecord, isSameJson, parsedJson, parsedRecord, textsIn, unverifiedClaims,
} from '../../../../model/objects/json-values.ts';

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

  it('that is empty is not parsed: annotations that are not there are asked for at each event of a pod', () => {
    const parse = mock.method(JSON, 'parse');
    assert.deepEqual([parsedJson(''), parsedRecord('')], [undefined, {}]);
    parse.mock.restore();
    assert.equal(parse.mock.callCount(), 0);
  });

  it('of JSON is what JSON.parse says, and no other text is an exception', () => {
    fc.assert(fc.property(fc.json(), (text) => assert.deepEqual(parsedJson(text), JSON.parse(text))));
    fc.assert(fc.property(fc.string(), (text) => void parsedJson(text)));
  });
});

describe('two values', () => {
  const pairs: readonly (readonly [one: string, other: string, isSame: boolean])[] = [
    ['{"a":1,"b":[2]}', '{"b":[2],"a":1}', true], ['null', 'null', true], ['[]', '[]', true],
    ['{}', '[]', false], ['[]', '{}', false], ['{}', 'null', false], ['null', '{}', false], ['0', 'false', false],
    ['""', '[]', false], ['{"a":1}', '{"a":1,"b":1}', false], ['{"a":1,"b":1}', '{"a":1}', false],
    ['[1,2]', '[2,1]', false], ['[1]', '[1,2]', false], ['{"a":null}', '{}', false],
    ['{"a":null}', '{"b":null}', false],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}', true], ['{"__proto__":1}', '{}', false],
    ['{}', '{"toString":null}', false], ['{"toString":null}', '{}', false],
  ];
  for (const [one, other, isSame] of pairs) {
    it(`${one} and ${other} are ${isSame ? 'the same' : 'different'}`, () => {
      assert.equal(isSameJson(JSON.parse(one), JSON.parse(other)), isSame);
    });
  }

  it('are the same exactly where node:util says so', () => {
    const value = fc.jsonValue({ maxDepth: 3 }).map((made) => JSON.stringify(made));
    const read = (text: string): unknown => JSON.parse(text);
    fc.assert(fc.property(value, value, (one, other) => {
      assert.ok(isSameJson(read(one), read(one)));
      assert.equal(isSameJson(read(one), read(other)), isDeepStrictEqual(read(one), read(other)));
    }));
    const small = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 2 }, fc.constantFrom(1, 'a', null), fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('a', 'b'), tie('value'), { noNullPrototype: true })),
    })).value;
    fc.assert(fc.property(small, small, (one, other) => {
      assert.equal(isSameJson(one, other), isDeepStrictEqual({ one }, { one: other }));
    }));
  });
});

describe('what anybody may have written', () => {
  it('is read as an object, or as an empty one', () => {
    assert.deepEqual(parsedRecord('{"a":1}'), { a: 1 });
    for (const text of ['', '{', 'null', '[1]', '"a"', '7']) assert.deepEqual(parsedRecord(text), {}, text);
  });

  it('gives the claims of a token without verifying it', () => {
    const token = (claims: string) => `e30.${Buffer.from(claims).toString('base64url')}.signature`;
    assert.deepEqual(unverifiedClaims(token('{"exp":9,"iat":"x"}')), { exp: 9, iat: 'x' });
    const others = ['', 'a', 'a.b.c', token('[]'), token('null')];
    for (const text of others) assert.deepEqual(unverifiedClaims(text), {}, text);
  });

  it('gives the texts of a list, and nothing of anything else', () => {
    assert.deepEqual(textsIn(['a', 1, null, 'b', ['c']]), ['a', 'b']);
    for (const value of [undefined, null, 'a', { 0: 'a' }]) assert.deepEqual(textsIn(value), []);
  });
});

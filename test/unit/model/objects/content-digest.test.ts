import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { contentDigest } from '../../../../model/objects/canonical-json.ts';

describe('contentDigest', () => {
  it('is the same whatever the order of fields, and with null for a missing one', () => {
    assert.equal(
      contentDigest({ a: 1, b: { c: [1, 2], d: 'x' } }), contentDigest({ b: { d: 'x', c: [1, 2], e: null }, a: 1 }),
    );
  });

  it('differs where the order of a list differs, or a value', () => {
    assert.notEqual(contentDigest([1, 2]), contentDigest([2, 1]));
    assert.notEqual(contentDigest({ a: '1' }), contentDigest({ a: 1 }));
    assert.notEqual(contentDigest(undefined), contentDigest({}));
  });

  it('survives a trip through JSON', () => {
    fc.assert(fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      (value) => assert.equal(contentDigest(JSON.parse(JSON.stringify(value))), contentDigest(value)),
    ));
  });
});

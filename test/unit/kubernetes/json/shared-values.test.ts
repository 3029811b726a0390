import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { SharedValues } from '../../../../kubernetes/json/shared-values.ts';

const parse = (bytes: Buffer, start: number, end: number): unknown => JSON.parse(bytes.toString('utf8', start, end));
const get = (shared: SharedValues, text: string): unknown =>
  shared.get(Buffer.from(`[${text}]`), 1, 1 + Buffer.byteLength(text));

describe('SharedValues', () => {
  it('gives what reading gives, in any order and however many there are', () => {
    const shared = new SharedValues(parse);
    fc.assert(fc.property(fc.array(fc.jsonValue()), (values) => {
      for (const value of [...values, ...values]) {
        assert.deepEqual(get(shared, JSON.stringify(value)), JSON.parse(JSON.stringify(value)));
      }
    }));
  });

  it('gives the same value for the same bytes, which cannot be changed', () => {
    const shared = new SharedValues(parse);
    const text = '{"requests":{"cpu":"1"},"claims":[{"name":"a"}]}';
    const value = get(shared, text) as { requests: { cpu: string }; claims: { name: string }[] };
    assert.equal(get(shared, text), value);
    assert(
      Object.isFrozen(value) && Object.isFrozen(value.requests) && Object.isFrozen(value.claims)
        && Object.isFrozen(value.claims[0]),
    );
  });

  it('takes no value for another that differs in one byte, also where that byte is not sampled', () => {
    const shared = new SharedValues(parse);
    for (let at = 0; at < 200; at += 1) {
      const text = `"${'a'.repeat(at)}b${'a'.repeat(200 - at)}"`;
      assert.equal(get(shared, text), JSON.parse(text));
    }
  });

  it('keeps nothing of long values, nothing of those that cannot be read, and does not grow without bounds', () => {
    const shared = new SharedValues(parse);
    const long = JSON.stringify(['x'.repeat(600)]);
    assert.notEqual(get(shared, long), get(shared, long));
    assert.throws(() => get(shared, '{'), SyntaxError);
    assert.throws(() => get(shared, '{'), SyntaxError);
    let read = 0;
    const counting = new SharedValues((bytes, start, end) => ((read += 1), parse(bytes, start, end)));
    for (let round = 0; round < 2; round += 1) for (let i = 0; i < 50_000; i += 1) get(counting, `"value ${i}"`);
    assert(read > 95_000, `${read} of 100,000 were read: the others were still remembered`);
  });
});

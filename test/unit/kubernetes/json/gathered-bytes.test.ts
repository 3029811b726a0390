import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { GatheredBytes } from '../../../../kubernetes/json/gathered-bytes.ts';

describe('gathered bytes', () => {
  it('are the chunks one after the other, each time they are taken', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 70_000, size: 'max' }), { maxLength: 6 });
    fc.assert(fc.property(fc.array(chunks, { maxLength: 3 }), (rounds) => {
      const gathered = new GatheredBytes();
      const taken = rounds.map((round) => {
        round.forEach((chunk) => gathered.add(chunk));
        assert.equal(gathered.length, round.reduce((sum, { length }) => sum + length, 0));
        return gathered.take();
      });
      rounds.forEach((round, index) => assert.ok(Buffer.concat(round).equals(taken[index] ?? assert.fail())));
    }), { numRuns: 30 });
  });

  it('of single bytes take little more than their number', () => {
    const gathered = new GatheredBytes();
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 1 << 20; count += 1) gathered.add(new Uint8Array(new ArrayBuffer(1)));
    assert.equal(gathered.take().buffer.byteLength, 1 << 20);
    assert.ok(process.memoryUsage().arrayBuffers - before < 32 << 20);
  });
});

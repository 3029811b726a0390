import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ServerClock } from '../../../../kubernetes/connect/server-clock.ts';

const answer = fc.record({ sentAt: fc.nat(1_000_000), outward: fc.nat(5_000), homeward: fc.nat(60_000) });

describe('the clock of a server', () => {
  it('is unknown before an answer, and after what is no date', () => {
    const clock = new ServerClock();
    for (const date of [undefined, 'yesterday']) clock.observe(date, 0, 1);
    assert.deepEqual([clock.earliest(5), clock.latest(5)], [undefined, undefined]);
  });

  it('lies between its bounds, whatever it shows and however long an answer takes', () => {
    fc.assert(fc.property(fc.integer({ min: -1e12, max: 1e12 }),
      answer, fc.nat(1e6), (offset, { sentAt, outward, homeward }, later) => {
      const clock = new ServerClock();
      const stamped = sentAt + outward + offset;
      clock.observe(new Date(Math.floor(stamped / 1_000) * 1_000).toUTCString(), sentAt, sentAt + outward + homeward);
      const now = sentAt + outward + homeward + later;
      const there = now + offset;
      assert.ok((clock.earliest(now) ?? NaN) <= there && there <= (clock.latest(now) ?? NaN));
    }));
  });

  it('follows the last answer when it was set', () => {
    const clock = new ServerClock();
    clock.observe(new Date(1_000_000).toUTCString(), 0, 0);
    clock.observe(new Date(0).toUTCString(), 10, 10);
    assert.deepEqual([clock.earliest(10), clock.latest(10)], [0, 1_000]);
  });
});

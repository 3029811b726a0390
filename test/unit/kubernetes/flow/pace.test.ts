import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Pace } from '../../../../kubernetes/flow/pace.ts';

/** When turns come that are taken at these times; three at once, then one every 10 ms. */
function turns(...times: readonly number[]): readonly number[] {
  const pace = new Pace({ atOnce: 3, everyMs: 10 });
  return times.map((now) => pace.take(now));
}

describe('a turn', () => {
  it('comes at once for a few', () => assert.deepEqual(turns(100, 100, 100), [100, 100, 100]));
  it('comes one after the other for more', () => assert.deepEqual(
    turns(100, 100, 100, 100, 100, 105), [100, 100, 100, 110, 120, 130],
  ));
  it('comes at once again after a while without any', () => assert.deepEqual(
    turns(0, 0, 0, 0, 40, 40, 40, 40), [0, 0, 0, 10, 40, 40, 40, 50],
  ));
  it('comes at once for whoever asks no faster than the pace', () => assert.deepEqual(
    turns(0, 10, 20, 30), [0, 10, 20, 30],
  ));

  it('never comes before it is asked for, nor before an earlier one, nor too many at a time', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 100 });
    fc.assert(fc.property(steps, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 20 }),
      (pauses, atOnce, everyMs) => {
        const pace = new Pace({ atOnce, everyMs });
        let now = 0;
        const given = pauses.map((pause) => pace.take(now += pause));
        now = 0;
        pauses.forEach((pause, index) => assert.ok((given[index] ?? NaN) >= (now += pause)));
        given.forEach((at, index) => {
          assert.ok(at >= (given[index - 1] ?? 0));
          const earlier = given[index - atOnce];
          if (earlier !== undefined) assert.ok(at - earlier >= everyMs, `${at} after ${earlier}`);
        });
      }));
  });
});

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import {
  addRoundTrip, NO_ROUND_TRIPS, toDuration, toStatistics,
} from '../../../../gateway/protocol/round-trip-statistics.ts';

const add = (samples: readonly number[]) => samples.reduce(addRoundTrip, NO_ROUND_TRIPS);

describe('durations', () => {
  const cases: Record<string, number> =
    { '0s': 0, '350µs': 0.35, '1ms': 1, '12.5ms': 12.5, '999.999ms': 999.999, '1s': 1_000, '1.25s': 1_250 };
  for (const [text, ms] of Object.entries(cases)) {
    it(`${ms} ms is ${text}, as Go prints it`, () => assert.equal(toDuration(ms), text));
  }
});

describe('statistics of round trips', () => {
  it('are missing before the first one', () => assert.equal(toStatistics(NO_ROUND_TRIPS), undefined));
  it('of one are that one', () => assert.deepEqual(
    toStatistics(add([2])), { last: '2ms', min: '2ms', average: '2ms', max: '2ms', stdDev: '0s' },
  ));
  it('of several are those of the textbook', () => assert.deepEqual(
    toStatistics(add([2, 4, 4, 4, 5, 5, 7, 9])), { last: '9ms', min: '2ms', average: '5ms', max: '9ms', stdDev: '2ms' },
  ));
  it('equal the sums over all samples', () => {
    fc.assert(fc.property(fc.array(fc.double({ min: 0, max: 5_000, noNaN: true }), { minLength: 1, maxLength: 300 }),
      (samples) => {
      const trips = add(samples);
      const mean = samples.reduce((sum, one) => sum + one, 0) / samples.length;
      assert.ok(Math.abs(trips.mean - mean) < 1e-6);
      assert.ok(
        Math.abs(trips.squares - samples.reduce((sum, one) => sum + (one - mean) ** 2, 0)) < 1e-3
          + trips.squares * 1e-9,
      );
    }));
  });
  it('follow a cable that has become slow for good, after many fast ones', () => {
    const trips = add([...Array.from({ length: 10_000 }, () => 1), ...Array.from({ length: 5_000 }, () => 100)]);
    assert.ok(trips.mean > 95);
  });
});

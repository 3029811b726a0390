import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { untilCommonTick } from '../../../../kubernetes/flow/common-tick.ts';

const TEN_SECONDS = 10_000;

describe('the wait until a tick', () => {
  const waits: readonly (readonly [now: number, ms: number])[] = [
    [0, 10_000], [1_000, 10_000], [1_001, 9_999], [1_500, 9_500], [1_899, 9_101], [999.5, 10_000.5],
  ];
  for (const [now, ms] of waits) {
    it(`is ${ms} ms at ${now}`, () => assert.equal(untilCommonTick(TEN_SECONDS, now), ms));
  }

  const interval = fc.integer({ min: 100, max: 600_000 });
  const time = fc.double({ min: 0, max: 1e9, noNaN: true });

  it('is hardly longer than the interval, and no shorter than nine tenths of it', () => {
    fc.assert(fc.property(interval, time, (ms, now) => {
      const wait = untilCommonTick(ms, now);
      assert.ok(wait <= ms * 1.01 + 1e-3 && wait >= ms * 0.9 - 1e-3, `${wait} of ${ms}`);
    }));
  });

  it('ends at the same time for all that begin between two ticks', () => {
    fc.assert(fc.property(interval, time, fc.double({ min: 0, max: 0.89, noNaN: true }), (ms, now, part) => {
      const tick = now + untilCommonTick(ms, now); // another tick begins there
      const later = tick + part * (ms / 10);
      assert.ok(Math.abs(tick + untilCommonTick(ms, tick) - (later + untilCommonTick(ms, later))) < 1);
    }));
  });

  it('comes before the tick by a part of one, and is never gone by then', () => {
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(fc.property(interval, time, part, (ms, now, before) => {
      const apart = untilCommonTick(ms, now, before);
      assert.ok(Math.abs(untilCommonTick(ms, now) - apart - before * ms / 10) < 1e-3);
      assert.ok(apart >= ms * 0.8 - 1e-3);
    }));
  });

  it('keeps its pace whether timers fire late or a little early', () => {
    for (const off of [-1, 0, 1, 300]) {
      let now = 500;
      for (let round = 0; round < 50; round += 1) now += untilCommonTick(TEN_SECONDS, now) + off;
      assert.equal(Math.round((now - off - 500) / TEN_SECONDS), 50, `timers that are off by ${off} ms`);
    }
  });
});

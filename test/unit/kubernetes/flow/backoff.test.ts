import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { backoffDelay, delay, timerMs } from '../../../../kubernetes/flow/backoff.ts';

const LIMITS = { firstMs: 100, maxMs: 1_000 };

describe('backoffDelay', () => {
  const rows: readonly (readonly [failures: number, random: number, ms: number])[] = [
    [1, 0, 50],
    [1, 0.5, 75],
    [2, 0, 100],
    [3, 0, 200],
    [4, 0, 400],
    [5, 0, 500],
    [5, 0.5, 750],
    [1_000_000, 0, 500],
  ];
  for (const [failures, random, ms] of rows) {
    it(`is ${ms} ms after ${failures} failures when chance says ${random}`, () => assert.equal(
      backoffDelay(LIMITS, failures, random), ms,
    ));
  }

  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  it('is never longer than the cap, nor shorter than half the first delay', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1 }), chance, (failures, random) => {
        const ms = backoffDelay(LIMITS, failures, random);
        assert(ms >= LIMITS.firstMs / 2 && ms <= LIMITS.maxMs, String(ms));
      }),
    );
  });

  it('never shrinks with another failure, at equal chance', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), chance, (failures, random) => {
        assert(backoffDelay(LIMITS, failures + 1, random) >= backoffDelay(LIMITS, failures, random));
      }),
    );
  });
});

describe('timerMs', () => {
  const rows: readonly (readonly [ms: number, waits: number])[] = [
    [0, 0],
    [15, 15],
    [-1, 0],
    [Number.NaN, 0],
    [2 ** 31, 2 ** 31 - 1],
    [Number.POSITIVE_INFINITY, 2 ** 31 - 1],
  ];
  for (const [ms, waits] of rows) it(`makes ${ms} into ${waits}`, () => assert.equal(timerMs(ms), waits));
});

describe('delay', () => {
  it('resolves after the time, and not before', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let over = false;
    const waiting = delay(1_000, new AbortController().signal).then(() => (over = true));
    t.mock.timers.tick(999);
    await Promise.resolve();
    assert.equal(over, false);
    t.mock.timers.tick(1);
    await waiting;
  });

  it('resolves at once when the signal was aborted before', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await delay(1_000, AbortSignal.abort());
  });

  it('resolves when the signal is aborted', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const stop = new AbortController();
    const waiting = delay(1_000, stop.signal);
    stop.abort();
    await waiting;
  });

  it('does not turn a wait of a year into none', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let over = false;
    const stop = new AbortController();
    const waiting = delay(365 * 86_400_000, stop.signal).then(() => (over = true));
    t.mock.timers.tick(86_400_000);
    await Promise.resolve();
    assert.equal(over, false);
    stop.abort();
    await waiting;
  });
});

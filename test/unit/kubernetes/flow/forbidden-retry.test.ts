import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ForbiddenRetry } from '../../../../kubernetes/flow/forbidden-retry.ts';

const NEVER = new AbortController().signal;

/** Notes in which order promises are settled. */
function noted(order: string[], name: string, promise: Promise<void>): Promise<void> {
  return promise.then(() => void order.push(name));
}

describe('turns of what a server refuses', () => {
  it('come one at a time, at least 30 s apart, however many wait and whenever they come', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let now = 1_000;
    t.mock.method(performance, 'now', () => now);
    await fc.assert(fc.asyncProperty(fc.array(fc.nat(40_000), { minLength: 1, maxLength: 12 }), async (gaps) => {
      const turns = new ForbiddenRetry();
      const asked: number[] = [];
      const pass = async (ms: number) => {
        for (let left = ms; left > 0; left -= 500) {
          now += 500;
          t.mock.timers.tick(500);
          await Promise.resolve();
          await Promise.resolve();
        }
      };
      for (const gap of gaps) {
        void turns.next(NEVER).then(() => asked.push(now));
        await pass(gap);
      }
      await pass(gaps.length * 31_500);
      assert.equal(asked.length, gaps.length);
      // in steps of 500
      for (const [index, at] of asked.entries()) {
        assert.ok(index === 0 || at - asked[index - 1]! >= 29_500, `turns at ${asked.join(', ')}`);
      }
    }), { numRuns: 50 });
  });

  it('are given at once to all who wait when something is granted, and again to nobody after that', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const turns = new ForbiddenRetry();
    const order: string[] = [];
    const all = [noted(order, 'one', turns.next(NEVER)), noted(order, 'other', turns.next(NEVER))];
    assert.deepEqual(order, []);
    turns.release();
    await Promise.all(all);
    assert.deepEqual(order, ['one', 'other']);
    const later = noted(order, 'later', turns.next(NEVER));
    t.mock.timers.tick(29_999);
    await Promise.resolve();
    assert.equal(order.length, 2);
    t.mock.timers.tick(1_000);
    await later;
  });

  it('are not waited for by who has stopped', async () => {
    const stop = new AbortController();
    const waiting = new ForbiddenRetry().next(stop.signal);
    stop.abort();
    await waiting;
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { InFlightLimiter } from '../../../../kubernetes/http/in-flight-limiter.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';

const never = new AbortController().signal;

/** Takes slots for calls `group/n`, notes in which order they get them. */
function asking(limiter: InFlightLimiter, names: readonly string[], order: string[]): void {
  for (const name of names) void limiter.acquire(name.split('/')[0]!, never)?.then(() => order.push(name));
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('InFlightLimiter', () => {
  it('gives slots at once while there are some, and one that is left then', async () => {
    const limiter = new InFlightLimiter(2);
    assert.equal(limiter.acquire('a', never), undefined);
    assert.equal(limiter.acquire('a', never), undefined);
    const waiting = limiter.acquire('a', never);
    assert.ok(waiting instanceof Promise);
    limiter.release();
    await waiting;
  });

  it('gives each slot that is left to one that waits, groups in turn', async () => {
    const limiter = new InFlightLimiter(1);
    limiter.acquire('', never);
    const order: string[] = [];
    asking(limiter, ['a/1', 'a/2', 'a/3', 'b/1'], order);
    for (let n = 0; n < 4; n += 1) {
      limiter.release();
      await settled();
      assert.equal(order.length, n + 1);
    }
    assert.deepEqual(order, ['a/1', 'b/1', 'a/2', 'a/3']);
  });

  it('tells one that waited too long that its call was not begun, and keeps no slot for it', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const limiter = new InFlightLimiter(1, 5_000);
    limiter.acquire('', never);
    const late = assert.rejects(
      limiter.acquire('a', never)!,
      (error) => error instanceof ApiError && error.status === 429 && /not sent within 5 s/.test(error.message),
    );
    t.mock.timers.tick(5_000);
    await late;
    limiter.release();
    assert.equal(limiter.acquire('a', never), undefined);
  });

  it('lets go one whose signal is aborted, with its reason', async () => {
    const limiter = new InFlightLimiter(1);
    limiter.acquire('', never);
    const controller = new AbortController();
    const aborted = assert.rejects(limiter.acquire('a', controller.signal)!, /shutting down/);
    const order: string[] = [];
    asking(limiter, ['a/next'], order);
    controller.abort(new Error('shutting down'));
    await aborted;
    await assert.rejects(limiter.acquire('a', controller.signal)!, /shutting down/);
    limiter.release();
    await settled();
    assert.deepEqual(order, ['a/next']);
  });

  it('never has more calls in flight than slots, and at rest gives all of them', async () => {
    const steps = fc.array(fc.constantFrom('acquire', 'release', 'abort'), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (slots, list) => {
        const limiter = new InFlightLimiter(slots);
        let inFlight = 0;
        const waiting: AbortController[] = [];
        for (const step of list) {
          if (step === 'release' && inFlight > 0) {
            inFlight -= 1;
            limiter.release();
          } else if (step === 'abort') {
            waiting.shift()?.abort(new Error('enough'));
          } else if (step === 'acquire') {
            const controller = new AbortController();
            const slot = limiter.acquire('', controller.signal);
            if (slot === undefined) inFlight += 1;
            else {
              waiting.push(controller);
              slot.then(() => (inFlight += 1)).catch(() => undefined);
            }
          }
          await settled();
          assert.ok(inFlight <= slots);
        }
        for (const controller of waiting) controller.abort(new Error('end'));
        for (; inFlight > 0; inFlight -= 1) limiter.release();
        for (let n = 0; n < slots; n += 1) assert.equal(limiter.acquire('', never), undefined);
      }),
    );
  });
});

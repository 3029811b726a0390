import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { CallGate } from '../../../../kubernetes/http/call-gate.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';

const never = new AbortController().signal;

/** Takes places for calls `group/n`, notes in which order they get them. */
function asking(gate: CallGate, names: readonly string[], order: string[]): void {
  for (const name of names) void gate.enter(name.split('/')[0]!, never)?.then(() => order.push(name));
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('CallGate', () => {
  it('gives places at once while there are some, and one that is left then', async () => {
    const gate = new CallGate(2);
    assert.equal(gate.enter('a', never), undefined);
    assert.equal(gate.enter('a', never), undefined);
    const waiting = gate.enter('a', never);
    assert.ok(waiting instanceof Promise);
    gate.leave();
    await waiting;
  });

  it('gives each place that is left to one that waits, groups in turn', async () => {
    const gate = new CallGate(1);
    gate.enter('', never);
    const order: string[] = [];
    asking(gate, ['a/1', 'a/2', 'a/3', 'b/1'], order);
    for (let n = 0; n < 4; n += 1) {
      gate.leave();
      await settled();
      assert.equal(order.length, n + 1);
    }
    assert.deepEqual(order, ['a/1', 'b/1', 'a/2', 'a/3']);
  });

  it('tells one that waited too long that its call was not begun, and keeps no place for it', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const gate = new CallGate(1, 5_000);
    gate.enter('', never);
    const late = assert.rejects(
      gate.enter('a', never)!,
      (error) => error instanceof ApiError && error.status === 429 && /not sent within 5 s/.test(error.message),
    );
    t.mock.timers.tick(5_000);
    await late;
    gate.leave();
    assert.equal(gate.enter('a', never), undefined);
  });

  it('lets go one whose signal is aborted, with its reason', async () => {
    const gate = new CallGate(1);
    gate.enter('', never);
    const controller = new AbortController();
    const aborted = assert.rejects(gate.enter('a', controller.signal)!, /shutting down/);
    const order: string[] = [];
    asking(gate, ['a/next'], order);
    controller.abort(new Error('shutting down'));
    await aborted;
    await assert.rejects(gate.enter('a', controller.signal)!, /shutting down/);
    gate.leave();
    await settled();
    assert.deepEqual(order, ['a/next']);
  });

  it('never has more calls in flight than places, and at rest gives all of them', async () => {
    const steps = fc.array(fc.constantFrom('enter', 'leave', 'abort'), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (places, list) => {
        const gate = new CallGate(places);
        let inFlight = 0;
        const waiting: AbortController[] = [];
        for (const step of list) {
          if (step === 'leave' && inFlight > 0) {
            inFlight -= 1;
            gate.leave();
          } else if (step === 'abort') {
            waiting.shift()?.abort(new Error('enough'));
          } else if (step === 'enter') {
            const controller = new AbortController();
            const place = gate.enter('', controller.signal);
            if (place === undefined) inFlight += 1;
            else {
              waiting.push(controller);
              place.then(() => (inFlight += 1)).catch(() => undefined);
            }
          }
          await settled();
          assert.ok(inFlight <= places);
        }
        for (const controller of waiting) controller.abort(new Error('end'));
        for (; inFlight > 0; inFlight -= 1) gate.leave();
        for (let n = 0; n < places; n += 1) assert.equal(gate.enter('', never), undefined);
      }),
    );
  });
});

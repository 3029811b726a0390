import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CALLS_IN_FLIGHT } from '../../../../kubernetes/http/in-flight-limiter.ts';
import { CallQueue } from '../../../../kubernetes/http/call-queue.ts';
import { UnsentError } from '../../../../kubernetes/http/pending-call.ts';

const never = new AbortController().signal;
const path = '/api/v1/namespaces/a/pods';
const LIMIT_MS = 10_000;

/** All slots are taken. */
function busyQueue(): CallQueue {
  const queue = new CallQueue();
  for (let slot = 0; slot < CALLS_IN_FLIGHT; slot += 1) {
    assert.equal(queue.acquire({ path }, LIMIT_MS, never), undefined);
  }
  return queue;
}

describe('the queue of calls', () => {
  it('is at once while there are slots, and then when one is given back', async () => {
    const queue = busyQueue();
    const waiting = queue.acquire({ path }, LIMIT_MS, never);
    queue.release();
    await waiting;
    const next = queue.acquire({ path }, LIMIT_MS, never);
    assert.notEqual(next, undefined, 'the slot was taken by the one that waited');
    queue.release();
    await next;
  });

  it('never comes for a call that may not wait any more for a connection: it is unsent, without a slot', async () => {
    const queue = busyQueue();
    const patience = new AbortController();
    const waiting = queue.acquire({ path, connectTimeout: { signal: patience.signal, ms: 60_000 } }, LIMIT_MS, never);
    patience.abort(new Error('the target is silent'));
    await assert.rejects(waiting as Promise<void>, (error) => (
      error instanceof UnsentError && error.message === 'the target is silent'
    ));
    const next = queue.acquire({ path }, LIMIT_MS, never);
    queue.release();
    await next;
  });

  it('ends with the reason of the signal of the call itself, whether it waits for a slot or for the rate', async () => {
    const [busy, throttled] = [busyQueue(), new CallQueue()];
    throttled.rateLimiter.throttled(5_000);
    for (const queue of [busy, throttled]) {
      const stop = new AbortController();
      const connectTimeout = { signal: new AbortController().signal, ms: 60_000 };
      const waiting = queue.acquire({ path, connectTimeout }, LIMIT_MS, stop.signal);
      stop.abort(new Error('stopped'));
      await assert.rejects(waiting as Promise<void>, (error) => (
        error instanceof Error && !(error instanceof UnsentError) && error.message === 'stopped'
      ));
    }
  });
});

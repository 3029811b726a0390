import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { Fence } from '../../../../kubernetes/flow/fence.ts';
import { NotLeaderError } from '../../../../kubernetes/flow/fence.ts';
import {
  sendCall, UnsentError, type CallController, type CallHandler, type CallPath,
} from '../../../../kubernetes/http/pending-call.ts';
import { DeadlineError } from '../../../../kubernetes/flow/api-error.ts';

/** A connection that keeps what is sent until the test answers it. */
class SilentPool {
  aborted: Error | undefined;
  handler: CallHandler | undefined;
  readonly #controller: CallController = { abort: (reason: Error) => (this.aborted = reason) };

  readonly path: CallPath = {
    dispatch: (_request, handler) => {
      this.handler = handler;
      handler.onRequestStart(this.#controller);
    },
  };

  answer(): void {
    this.handler?.onResponseStart(this.#controller, 200, {});
    this.handler?.onResponseEnd();
  }
}

/** A right by the mocked clock; `until` in its ms. */
function fence(until: number): Fence & { until: number } {
  return {
    until, holds() { return this.until > Date.now(); }, msLeft() { return Math.max(0, this.until - Date.now()); },
  };
}

describe('a call on its way', () => {
  let pool: SilentPool;
  beforeEach(() => {
    pool = new SilentPool();
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  });
  afterEach(() => mock.timers.reset());

  /** How the call ended so far. */
  function send(timeoutMs: number, right?: Fence): { outcome: unknown } {
    const call: { outcome: unknown } = { outcome: 'on its way' };
    const settled = (outcome: unknown) => (call.outcome = outcome);
    const request = { origin: 'https://server', path: '/', method: 'PATCH', headers: {}, reset: false } as const;
    void sendCall(pool.path, request, { maxBytes: 100, timeoutMs, fence: right }, undefined)
      .then(({ status }) => settled(status), settled);
    return call;
  }
  const pass = async (ms: number) => {
    // Timers of a longer step would all see the clock at its end.
    for (let passed = 0; passed < ms; passed += 1) mock.timers.tick(1);
    await Promise.resolve();
    await Promise.resolve();
  };

  const assertGivenUp = ({ outcome }: { outcome: unknown }, message: string) => {
    assert(outcome instanceof DeadlineError);
    assert.equal(outcome.message, message);
    assert.equal(pool.aborted, outcome, 'its place in the connection is free');
  };

  for (
    const [name, right] of [['nothing bounds it', undefined], ['its right lasts for longer', fence(60_000)], [
      'its right lasts just as long', fence(10_000),
    ]] as const
  ) {
    it(`has all of its own time when ${name}`, async () => {
      const call = send(10_000, right);
      await pass(9_999);
      assert.equal(call.outcome, 'on its way');
      await pass(1);
      assertGivenUp(call, 'no answer within 10 s');
    });
  }

  it('is given up when its right ends', async () => {
    const call = send(10_000, fence(1_500));
    await pass(1_499);
    assert.equal(call.outcome, 'on its way');
    await pass(1);
    assertGivenUp(call, 'no answer within 1.5 s');
  });

  it('goes on when its right has been renewed by then', async () => {
    const right = fence(1_500);
    const call = send(10_000, right);
    await pass(1_000);
    right.until = 6_000;
    await pass(4_000);
    assert.equal(call.outcome, 'on its way');
    pool.answer();
    await pass(0);
    assert.equal(call.outcome, 200);
    await pass(60_000);
    assert.equal(pool.aborted, undefined);
  });

  it('is given up when a renewed right ends', async () => {
    const right = fence(1_500);
    const call = send(10_000, right);
    await pass(1_000);
    right.until = 3_000;
    await pass(1_999);
    assert.equal(call.outcome, 'on its way');
    await pass(1);
    assertGivenUp(call, 'no answer within 3 s');
  });

  it('never has more than its own time, however often its right is renewed', async () => {
    const right = fence(1_500);
    const call = send(10_000, right);
    for (let second = 1; second < 10; second += 1) {
      await pass(1_000);
      right.until = Date.now() + 1_500;
    }
    await pass(999);
    assert.equal(call.outcome, 'on its way');
    await pass(1);
    assertGivenUp(call, 'no answer within 10 s');
  });

  it('looks again when a timer came before the end of the right', async () => {
    const call = send(10_000, fence(1_500.7));
    await pass(1_500);
    assert.equal(call.outcome, 'on its way');
    await pass(1);
    assertGivenUp(call, 'no answer within 1.501 s');
  });

  it('waits for a connection again when the server has refused it, within its bounds for that', async () => {
    const waiting = new AbortController();
    const call: { outcome: unknown } = { outcome: 'on its way' };
    const connectTimeout = { signal: waiting.signal, ms: 500 };
    const bounds = { maxBytes: 100, timeoutMs: 10_000, fence: undefined, connectTimeout };
    const request = { origin: 'https://server', path: '/', method: 'POST', headers: {}, reset: false } as const;
    void sendCall(pool.path, request, bounds, undefined).catch((error: unknown) => (call.outcome = error));
    await pass(2_000);
    assert.equal(call.outcome, 'on its way', 'it is written, so its outcome is waited for');
    pool.handler?.onRefused();
    await pass(499);
    assert.equal(call.outcome, 'on its way');
    await pass(1);
    assert((call.outcome as unknown) instanceof UnsentError);
  });

  it('ends unsent when it was refused after nobody wanted it any more', async () => {
    const waiting = new AbortController();
    const call: { outcome: unknown } = { outcome: 'on its way' };
    const connectTimeout = { signal: waiting.signal, ms: 500 };
    const bounds = { maxBytes: 100, timeoutMs: 10_000, fence: undefined, connectTimeout };
    const request = { origin: 'https://server', path: '/', method: 'POST', headers: {}, reset: false } as const;
    void sendCall(pool.path, request, bounds, undefined).catch((error: unknown) => (call.outcome = error));
    waiting.abort(new Error('another target was chosen'));
    await pass(1);
    assert.equal(call.outcome, 'on its way');
    pool.handler?.onRefused();
    await pass(0);
    assert((call.outcome as unknown) instanceof UnsentError);
  });

  it('is not written without a right', async () => {
    const call = send(10_000, fence(0));
    await pass(0);
    assert(call.outcome instanceof NotLeaderError);
    assert.equal(pool.aborted, call.outcome);
  });
});

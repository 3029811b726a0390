// Virtual time: the clock moves only by `pass`.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { describe, it, type TestContext } from 'node:test';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { RATE_LIMITS, RateLimiter, type RateLimits } from '../../../../kubernetes/flow/rate-limiter.ts';

function harness(t: TestContext, limits: RateLimits = { perSecond: 100, burst: 3 }) {
  let now = 1_000;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(performance, 'now', () => now);
  t.mock.method(Math, 'random', () => 0);
  const limiter = new RateLimiter(limits);
  const stop = new AbortController();
  const admitted: string[] = [];
  const ask = (name: string, timeoutMs = 15_000, signal = stop.signal) => {
    const waiting = limiter.admit(timeoutMs, signal);
    if (waiting === undefined) admitted.push(name);
    else void waiting.then(() => admitted.push(name));
  };
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1) {
      now += 1;
      t.mock.timers.tick(1);
      await setImmediate();
    }
  };
  return { limiter, stop, admitted, ask, pass };
}

describe('RateLimiter', () => {
  it('is wide enough to be noticed by nobody but those who are told to slow down', () => assert(
    RATE_LIMITS.perSecond >= 500 && RATE_LIMITS.burst >= 500,
  ));

  it('admits a burst at once, then one after another, in the order of asking', async (t) => {
    const { ask, pass, admitted } = harness(t);
    for (const name of ['a', 'b', 'c', 'd', 'e']) ask(name);
    assert.deepEqual(admitted, ['a', 'b', 'c']);
    await pass(11);
    assert.deepEqual(admitted, ['a', 'b', 'c', 'd']);
    await pass(11);
    assert.deepEqual(admitted, ['a', 'b', 'c', 'd', 'e']);
  });

  it('does not let a later call pass those that wait', async (t) => {
    const { ask, pass, admitted } = harness(t);
    for (const name of ['a', 'b', 'c', 'waits']) ask(name);
    await pass(5);
    ask('later');
    await pass(30);
    assert.deepEqual(admitted.slice(3), ['waits', 'later']);
  });

  it('sends nothing while the server has asked for a pause, and little after it', async (t) => {
    const { limiter, ask, pass, admitted } = harness(t, { perSecond: 1_000, burst: 100 });
    limiter.throttled(1_000);
    for (let i = 0; i < 20; i += 1) ask(`call-${i}`);
    await pass(1_000);
    assert.deepEqual(admitted, []);
    await pass(150);
    assert(admitted.length >= 1 && admitted.length <= 4, `${admitted.length} calls find out whether the pause is over`);
    await pass(1_000);
    assert.equal(admitted.length, 20);
  });

  it('refuses at once what would have to wait for longer than its deadline, and says for how long', (t) => {
    const { limiter, stop } = harness(t);
    limiter.throttled(60_000);
    assert.throws(
      () => limiter.admit(15_000, stop.signal),
      (error) => error instanceof ApiError && error.status === 429 && error.retryAfterMs === 60_000,
    );
  });

  it('lets those go who no longer want to wait, without a place for them', async (t) => {
    const { limiter, ask, pass, admitted } = harness(t);
    limiter.throttled(1_000);
    const leaving = new AbortController();
    ask('leaves', 15_000, leaving.signal);
    ask('stays');
    leaving.abort();
    await setImmediate();
    assert.deepEqual(admitted, ['leaves']);
    await pass(2_100);
    assert.deepEqual(admitted, ['leaves', 'stays']);
  });

  it('leaves no listener on the signals of one who no longer wants to wait', async (t) => {
    const { limiter } = harness(t);
    limiter.throttled(1_000);
    const [leaving, staying] = [new AbortController(), new AbortController()];
    const waiting = limiter.admit(15_000, staying.signal, leaving.signal);
    leaving.abort();
    await waiting;
    await limiter.admit(15_000, staying.signal, leaving.signal);
    assert.deepEqual(getEventListeners(staying.signal, 'abort'), []);
  });
});

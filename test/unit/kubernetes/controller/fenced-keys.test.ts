import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { pino } from 'pino';
import { DONE, startController } from '../../../../kubernetes/controller/controller.ts';
import { NotLeaderError, type Fence } from '../../../../kubernetes/flow/fence.ts';
import { FENCED_KEY_TTL_MS, FencedKeys } from '../../../../kubernetes/controller/fenced-keys.ts';

class Right implements Fence {
  isHeld = false;

  holds(): boolean {
    return this.isHeld;
  }

  msLeft(): number {
    return this.isHeld ? 1_000 : 0;
  }
}

const settled = () => new Promise(setImmediate);

describe('keys that were refused', () => {
  let stop: AbortController;
  beforeEach(() => {
    stop = new AbortController();
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  });
  afterEach(() => {
    stop.abort();
    mock.timers.reset();
  });

  /** Lets time pass, and what waits for nothing but a turn run. */
  const pass = async (ms: number) => {
    mock.timers.tick(ms);
    await settled();
  };

  it('come back once each, when their own right holds again', async () => {
    const [ours, other] = [new Right(), new Right()];
    const again: string[] = [];
    const refused = new FencedKeys((key) => again.push(key), stop.signal);
    refused.add('a', ours);
    refused.add('b', ours);
    refused.add('a', ours);
    refused.add('c', other);
    await pass(10_000);
    assert.deepEqual(again, []);
    ours.isHeld = true;
    await pass(200);
    assert.deepEqual(again, ['a', 'b']);
    await pass(4_000);
    assert.deepEqual(again, ['a', 'b']);
    other.isHeld = true;
    await pass(200);
    assert.deepEqual(again, ['a', 'b', 'c']);
  });

  it('wait again when the right has lapsed once more', async () => {
    const right = new Right();
    const again: string[] = [];
    const refused = new FencedKeys((key) => again.push(key), stop.signal);
    for (let lapse = 1; lapse <= 3; lapse += 1) {
      right.isHeld = false;
      refused.add('a', right);
      await pass(1_000);
      right.isHeld = true;
      await pass(200);
      assert.equal(again.length, lapse);
    }
  });

  it('are not kept for a right that is not coming back: their controller tries them by itself', async () => {
    const right = new Right();
    const again: string[] = [];
    const refused = new FencedKeys((key) => again.push(key), stop.signal);
    refused.add('a', right);
    for (let passed = 0; passed < FENCED_KEY_TTL_MS; passed += 1_000) await pass(1_000);
    right.isHeld = true;
    await pass(10_000);
    assert.deepEqual(again, []);
  });

  it('are forgotten when all ends', async () => {
    const right = new Right();
    const again: string[] = [];
    const refused = new FencedKeys((key) => again.push(key), stop.signal);
    refused.add('a', right);
    stop.abort();
    right.isHeld = true;
    await pass(1_000);
    assert.deepEqual(again, []);
  });

  it('are not tried each second by their controller, and all of them as soon as it leads', async () => {
    const right = new Right();
    const [tried, written] = [[] as string[], [] as string[]];
    const reconcile = async (key: string) => {
      tried.push(key);
      if (!right.holds()) throw new NotLeaderError(right);
      written.push(key);
      return DONE;
    };
    const controller =
      startController({ name: 'test', reconcile, concurrency: 4, logger: pino({ level: 'silent' }) }, stop.signal);
    await settled();
    const keys = Array.from({ length: 100 }, (_, index) => `ns/${index}`);
    for (const key of keys) controller.enqueue(key);
    await controller.idle();
    for (let second = 0; second < 9; second += 1) await pass(1_000);
    assert.equal(tried.length, 100, 'once each');
    right.isHeld = true;
    await pass(200);
    await controller.idle();
    assert.deepEqual(written.toSorted(), keys.toSorted());
  });
});

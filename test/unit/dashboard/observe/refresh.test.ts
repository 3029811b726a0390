import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { RecentValue, Refresh } from '../../../../dashboard/observe/refresh.ts';

/** Work that a test lets end, one run after the other. */
class SteppedWork {
  runs = 0;
  hasWork = true;
  #end: () => void = () => undefined;
  #begun: () => void = () => undefined;

  readonly work = async (): Promise<boolean> => {
    this.runs += 1;
    this.#begun();
    await new Promise<void>((resolve) => (this.#end = resolve));
    return this.hasWork;
  };

  begins(): Promise<void> {
    return new Promise((resolve) => (this.#begun = resolve));
  }

  end(): void {
    this.#end();
  }
}

function unexpected(error: unknown): never {
  throw new Error('the work has not failed', { cause: error });
}

describe('a refresh', () => {
  it('works once at the beginning, and again when it was woken meanwhile, but never twice at once', async () => {
    const [stepped, stopped] = [new SteppedWork(), new AbortController()];
    const refresh = new Refresh({ work: stepped.work, failed: unexpected, pauseMs: 1 });
    const running = refresh.run(stopped.signal);
    assert.equal(stepped.runs, 1);
    for (let wakes = 0; wakes < 100; wakes += 1) refresh.wake();
    assert.equal(stepped.runs, 1);
    const second = stepped.begins();
    stepped.end();
    await second;
    assert.equal(stepped.runs, 2, 'a hundred wakes are one more run');
    stopped.abort();
    stepped.end();
    await running;
    assert.equal(stepped.runs, 2);
  });

  for (const [what, hasWork, pauseMs] of [
    ['waits for the next wake', true, 1], ['does not pause after there was nothing to do', false, 2 ** 31 - 1],
  ] as const) {
    it(what, async () => {
      const [stepped, stopped] = [new SteppedWork(), new AbortController()];
      stepped.hasWork = hasWork;
      const refresh = new Refresh({ work: stepped.work, failed: unexpected, pauseMs });
      const running = refresh.run(stopped.signal);
      const second = stepped.begins();
      stepped.end();
      refresh.wake();
      await second;
      stopped.abort();
      stepped.end();
      await running;
    });
  }

  it('goes on after work that failed', async () => {
    let [runs, begun] = [0, (): void => undefined];
    const stopped = new AbortController();
    const told: unknown[] = [];
    const work = async (): Promise<boolean> => {
      runs += 1;
      begun();
      throw new Error('broken');
    };
    const refresh = new Refresh({ work, failed: (error) => told.push(error), pauseMs: 1 });
    const running = refresh.run(stopped.signal);
    const again = new Promise<void>((resolve) => (begun = resolve));
    refresh.wake();
    await again;
    assert.equal(runs, 2);
    stopped.abort();
    await running;
    assert.deepEqual(told, [new Error('broken')], 'what the aborted run throws is no failure');
  });

  it('tells a failure that comes at once, without a promise, like any other', async () => {
    const stopped = new AbortController();
    const failed = new Promise<unknown>((resolve) => {
      const work = (): Promise<boolean> => JSON.parse('{') as Promise<boolean>;
      void new Refresh({ work, failed: resolve, pauseMs: 1 }).run(stopped.signal);
    });
    assert.ok(await failed instanceof SyntaxError);
    stopped.abort();
  });

  it('tells no failure of work that is interrupted', async () => {
    const stopped = new AbortController();
    const work = (signal: AbortSignal): Promise<boolean> =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    const running = new Refresh({ work, failed: unexpected, pauseMs: 1 }).run(stopped.signal);
    stopped.abort();
    await running;
  });
});

describe('a recent value', () => {
  const FRESH_MS = 2_000;
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  /** Reads 1, 2, 3, and so on. */
  function numbers(test: TestContext) {
    test.mock.timers.enable({ apis: ['setTimeout'] });
    const told = { stale: 0, reads: 0 };
    const recent = new RecentValue<number>(FRESH_MS, () => (told.stale += 1));
    const get = (): Promise<number> => recent.get(async () => (told.reads += 1));
    const pass = async (ms: number): Promise<void> => {
      await settle();
      test.mock.timers.tick(ms);
    };
    return { told, recent, get, pass };
  }

  it('is used again until its time is over, and nothing is told when nothing changed', async (test) => {
    const { told, get, pass } = numbers(test);
    assert.deepEqual([await get(), await get()], [1, 1]);
    await pass(FRESH_MS - 1);
    assert.equal(await get(), 1);
    await pass(1);
    assert.equal(await get(), 2);
    assert.equal(told.stale, 0);
  });

  it('tells a change that it did not show, once it is read anew', async (test) => {
    const { told, recent, get, pass } = numbers(test);
    await get();
    recent.changed();
    assert.deepEqual([await get(), told.stale], [1, 0]);
    await pass(FRESH_MS);
    assert.deepEqual([told.stale, await get()], [1, 2]);
    await pass(FRESH_MS);
    assert.equal(told.stale, 1, 'the second value showed it');
  });

  it('does not let the end of a forgotten value end a later one', async (test) => {
    const { told, recent, get, pass } = numbers(test);
    await get();
    await pass(FRESH_MS - 1);
    recent.forget();
    assert.equal(await get(), 2);
    recent.changed();
    await pass(1);
    assert.deepEqual([await get(), told.stale], [2, 0]);
  });

  it('uses a failure again, too, and then reads anew', async (test) => {
    const { told, recent, get, pass } = numbers(test);
    const broken = () => recent.get(() => Promise.reject(new Error('unreachable')));
    await assert.rejects(broken());
    await assert.rejects(get(), /unreachable/);
    await pass(FRESH_MS);
    assert.deepEqual([await get(), told.reads], [1, 1]);
  });
});

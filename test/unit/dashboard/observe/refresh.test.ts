import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Refresh } from '../../../../dashboard/observe/refresh.ts';

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

describe('a refresh', () => {
  it('works once at the beginning, and again when it was woken meanwhile, but never twice at once', async () => {
    const [stepped, stopped] = [new SteppedWork(), new AbortController()];
    const refresh = new Refresh(stepped.work, 1);
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
      const refresh = new Refresh(stepped.work, pauseMs);
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
    const refresh = new Refresh(async () => {
      runs += 1;
      begun();
      throw new Error('broken');
    }, 1);
    const running = refresh.run(stopped.signal);
    const again = new Promise<void>((resolve) => (begun = resolve));
    refresh.wake();
    await again;
    assert.equal(runs, 2);
    stopped.abort();
    await running;
  });
});

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Shared, type Running } from '../../../../dashboard/observe/shared.ts';
import { aborted } from '../../../../process/lifecycle.ts';

const KEPT_MS = 1_000;

/** Things that say whether they run. */
function things(): { readonly running: Set<string>; readonly made: string[]; readonly shared: Shared<Running> } {
  const [running, made] = [new Set<string>(), [] as string[]];
  const shared = new Shared<Running>((key) => {
    made.push(key);
    return {
      run: async (signal) => {
        running.add(key);
        await aborted(signal);
        running.delete(key);
      },
    };
  }, KEPT_MS);
  return { running, made, shared };
}

/** Lets what waits for an abort go on. */
async function settled(): Promise<void> {
  await new Promise((resolve) => process.nextTick(resolve));
}

function withTimers(test: TestContext): void {
  test.mock.timers.enable({ apis: ['setTimeout'] });
}

describe('what several screens look at', () => {
  it('runs once, from the first user until some time after the last', async (test) => {
    withTimers(test);
    const { running, made, shared } = things();
    const [one, other] = [shared.use('a'), shared.use('a')];
    assert.equal(one.value, other.value);
    assert.deepEqual([made, [...running]], [['a'], ['a']]);
    one.release();
    test.mock.timers.tick(10 * KEPT_MS);
    await settled();
    assert.deepEqual([...running], ['a']);
    other.release();
    test.mock.timers.tick(KEPT_MS - 1);
    await settled();
    assert.deepEqual([...running], ['a'], 'going to another screen and back begins nothing anew');
    test.mock.timers.tick(1);
    await settled();
    assert.deepEqual([...running], [], 'nobody looks: nothing runs');
  });

  it('goes on for whoever comes back in time, and begins anew later', async (test) => {
    withTimers(test);
    const { running, made, shared } = things();
    shared.use('a').release();
    test.mock.timers.tick(KEPT_MS - 1);
    const again = shared.use('a');
    test.mock.timers.tick(10 * KEPT_MS);
    await settled();
    assert.deepEqual([made, [...running]], [['a'], ['a']]);
    again.release();
    test.mock.timers.tick(KEPT_MS);
    shared.use('a');
    assert.deepEqual(made, ['a', 'a']);
  });

  it('is one thing for each key', () => {
    const { made, shared } = things();
    assert.notEqual(shared.use('a').value, shared.use('b').value);
    assert.deepEqual(made, ['a', 'b']);
    return shared.close();
  });

  it('ends with its page, used or not', async () => {
    const { running, shared } = things();
    shared.use('a');
    shared.use('b').release();
    await shared.close();
    assert.deepEqual([...running], []);
  });
});

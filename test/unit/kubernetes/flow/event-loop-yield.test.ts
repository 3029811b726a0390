import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { yieldToEventLoop } from '../../../../kubernetes/flow/event-loop-yield.ts';
import { WorkQueue } from '../../../../kubernetes/controller/work-queue.ts';
import { beginTurn } from '../../../support/processes/begun-turn.ts';

function busyFor(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until) continue;
}

describe('turns of the event loop', () => {
  beforeEach(beginTurn);

  it('work that never waits lets others have theirs before it is done', async () => {
    const [total, stopped] = [300, new AbortController()];
    let done = 0;
    const queue = new WorkQueue(async () => {
      busyFor(1);
      done += 1;
    }, 1_000, stopped.signal);
    for (let key = 0; key < total; key += 1) queue.add(`a/${key}`);
    const seen: number[] = [];
    const look = () => {
      seen.push(done);
      if (done < total) setImmediate(look);
    };
    setImmediate(look);
    await queue.idle();
    stopped.abort();
    const most = Math.max(...seen.map((count, index) => count - (seen[index - 1] ?? 0)));
    assert.equal(done, total);
    assert.ok(most <= 60, `${most} keys in one turn`);
  });

  it('a few pieces of work wait for nobody', async () => {
    const waits = Array.from({ length: 5 }, () => yieldToEventLoop());
    assert.deepEqual(waits, [undefined, undefined, undefined, undefined, undefined]);
  });
});

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import { collectGarbage } from '../../../support/processes/collect-garbage.ts';
import { FairQueue, namespaceOf } from '../../../../kubernetes/flow/fair-queue.ts';

/** Everything in the order in which it is dequeued. */
function drained(items: readonly (readonly [group: string, name: string])[]): readonly (string | undefined)[] {
  const queue = new FairQueue<string>();
  for (const [group, name] of items) queue.enqueue(name, group);
  return items.map(() => queue.dequeue());
}

describe('a fair queue', () => {
  it('is empty at first', () => {
    const queue = new FairQueue<string>();
    assert.equal(queue.size, 0);
    assert.equal(queue.dequeue(), undefined);
  });

  it('takes turns between groups, first in, first out within one', () => assert.deepEqual(
    drained([['a', 'a1'], ['a', 'a2'], ['a', 'a3'], ['b', 'b1'], ['c', 'c1'], ['b', 'b2']]),
    ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'],
  ));

  it('lets an item of a new group wait for at most one of each other group', () => {
    const queue = new FairQueue<string>();
    for (let index = 0; index < 10_000; index += 1) queue.enqueue('burst', 'noisy');
    queue.enqueue('mine', 'quiet');
    assert.deepEqual([queue.dequeue(), queue.dequeue()], ['burst', 'mine']);
  });

  it('keeps nothing of what was taken, while others of its group wait', async () => {
    const queue = new FairQueue<object>();
    const put = (id: number): WeakRef<object> => {
      const item = { id };
      queue.enqueue(item, 'a');
      return new WeakRef(item);
    };
    const [first, second, third] = [1, 2, 3].map(put);
    for (let taken = 0; taken < 2; taken += 1) queue.dequeue();
    await collectGarbage();
    assert.deepEqual([first, second, third].map((item) => item?.deref()), [undefined, undefined, { id: 3 }]);
  });

  const items = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat()), { maxLength: 200 })
    .map((all) => all.map(([group], index) => [group, `${group}${index}`] as const));

  it('loses, repeats and reorders nothing within a group', () => fc.assert(fc.property(items, (all) => {
    const order = drained(all);
    for (const group of ['a', 'b', 'c', 'd']) {
      const put = all.filter(([one]) => one === group).map(([, name]) => name);
      assert.deepEqual(order.filter((name) => name?.startsWith(group)), put);
    }
  })));

  it('never serves a group twice while another one waits', () => fc.assert(fc.property(items, (all) => {
    const order = drained(all).map((name) => name?.[0]);
    for (const [index, group] of order.entries()) {
      if (order[index + 1] === group) assert.ok(order.slice(index + 1).every((later) => later === group));
    }
  })));

  it('counts what waits, also after long use, and drops it when it is cleared', () => fc.assert(fc.property(
    fc.array(fc.oneof(fc.constantFrom('a', 'b'), fc.constant(undefined)), { maxLength: 4_000, size: 'max' }),
    (steps) => {
      const queue = new FairQueue<string>();
      let waiting = 0;
      for (const group of steps) {
        if (group === undefined) waiting -= queue.dequeue() === undefined ? 0 : 1;
        else {
          queue.enqueue('item', group);
          waiting += 1;
        }
        assert.equal(queue.size, waiting);
      }
      queue.clear();
      assert.deepEqual([queue.size, queue.dequeue()], [0, undefined]);
    },
  ), { numRuns: 20 }));
});

describe('the namespace of a key', () => {
  const rows: Record<string, string> = { 'shop/web-0': 'shop', 'node-1': '', '/odd': '', 'a/b/c': 'a', '': '' };
  for (const [key, namespace] of Object.entries(rows)) {
    it(`of "${key}" is "${namespace}"`, () => assert.equal(namespaceOf(key), namespace));
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { inSchedulingOrder, WaitingPods, type WaitingPod } from '../../../../scheduler/queue/waiting-pods.ts';

function pod(key: string, rest: Partial<WaitingPod> = {}): WaitingPod {
  return { key, namespace: key.split('/')[0]!, priority: 0, createdAt: 0, ...rest };
}

describe('the order in which waiting pods get their turn', () => {
  const cases: Record<string, readonly [pods: readonly WaitingPod[], order: string]> = {
    'within a namespace the oldest goes first':
      [[pod('a/late', { createdAt: 2 }), pod('a/early', { createdAt: 1 })], 'a/early a/late'],
    'equal age is told apart by name': [[pod('a/y'), pod('a/x')], 'a/x a/y'],
    'higher priority goes before older ones':
      [[pod('a/old'), pod('a/urgent', { priority: 5, createdAt: 9 })], 'a/urgent a/old'],
    'and before other namespaces':
      [[pod('a/x', { priority: 1 }), pod('a/y', { priority: 1 }), pod('b/x')], 'a/x a/y b/x'],
    'namespaces take turns, though one was there first': [
      [
        pod('a/1', { createdAt: 1 }), pod('a/2', { createdAt: 2 }), pod('a/3', { createdAt: 3 }),
        pod('b/1', { createdAt: 8 }), pod('b/2', { createdAt: 9 }),
      ],
      'a/1 b/1 a/2 b/2 a/3',
    ],
    'negative priorities go last': [[pod('a/low', { priority: -1 }), pod('b/x', { createdAt: 7 })], 'b/x a/low'],
  };
  for (const [name, [pods, order]] of Object.entries(cases)) {
    it(name, () => assert.equal(inSchedulingOrder(pods).map(({ key }) => key).join(' '), order));
  }

  const somePods = fc.uniqueArray(
    fc.record({
      name: fc.integer({ min: 0, max: 50 }), namespace: fc.constantFrom('a', 'b', 'c'),
      priority: fc.integer({ min: -2, max: 2 }), createdAt: fc.integer({ min: 0, max: 5 }),
    }),
    { selector: ({ namespace, name }) => `${namespace}/${name}` },
  ).map((parts) => parts.map(({ name, ...rest }) => ({ key: `${rest.namespace}/${name}`, ...rest })));

  it('is the same in whatever order they came, and leaves nobody out', () => {
    fc.assert(fc.property(somePods, fc.infiniteStream(fc.nat()), (pods, random) => {
      const shuffled =
        pods.map((one) => ({ one, at: random.next().value })).toSorted((a, b) => a.at - b.at).map(({ one }) => one);
      assert.deepEqual(inSchedulingOrder(shuffled), inSchedulingOrder(pods));
      assert.deepEqual(new Set(inSchedulingOrder(pods)), new Set(pods));
    }));
  });

  it('never lets a namespace go ahead of another by more than one turn while both wait', () => {
    fc.assert(fc.property(somePods, (pods) => {
      const same = inSchedulingOrder(pods.map((one) => ({ ...one, priority: 0 })));
      for (let n = 1; n <= same.length; n += 1) {
        const served = (namespace: string, upTo: number) => same.slice(0, upTo)
          .filter((one) => one.namespace === namespace).length;
        for (const one of ['a', 'b', 'c']) {
          for (const other of ['a', 'b', 'c']) {
            const stillWaits = served(other, n) < served(other, same.length);
            if (stillWaits) assert.ok(served(one, n) - served(other, n) <= 1);
          }
        }
      }
    }));
  });
});

describe('WaitingPods', () => {
  it('gives each pod once, as it was last seen', () => {
    const waiting = new WaitingPods();
    waiting.add(pod('a/x'));
    waiting.add(pod('a/y'));
    waiting.add(pod('a/y', { priority: 9 }));
    assert.deepEqual(waiting.takeAll(), ['a/y', 'a/x']);
    assert.deepEqual(waiting.takeAll(), []);
  });

  it('forgets a pod that is taken out', () => {
    const waiting = new WaitingPods();
    waiting.add(pod('a/x'));
    assert.ok(waiting.delete('a/x'));
    assert.ok(!waiting.delete('a/x'));
    assert.deepEqual(waiting.takeAll(), []);
  });
});

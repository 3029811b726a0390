import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { PlacedPods, type PlacedPod } from '../../../../scheduler/snapshot/placed-pods.ts';

function aPlaced(uid: string, change: Partial<PlacedPod> = {}): PlacedPod {
  return { uid, namespace: 'team-a', labels: { app: 'web' }, terminating: false, ...change };
}

const counts = (pods: PlacedPods) => [...pods.classes()].map(({ byNode }) => Object.fromEntries(byNode));

describe('PlacedPods', () => {
  it('counts pods that are alike together, by node', () => {
    const pods = new PlacedPods();
    pods.place(aPlaced('1'), 'n1');
    pods.place(aPlaced('2'), 'n1');
    pods.place(aPlaced('3'), 'n2');
    assert.deepEqual(counts(pods), [{ n1: 2, n2: 1 }]);
    assert.equal(pods.size, 3);
  });

  it('tells labels in any order for the same', () => {
    const pods = new PlacedPods();
    pods.place(aPlaced('1', { labels: { a: '1', b: '2' } }), 'n1');
    pods.place(aPlaced('2', { labels: { b: '2', a: '1' } }), 'n1');
    assert.deepEqual(counts(pods), [{ n1: 2 }]);
  });

  const others: Record<string, Partial<PlacedPod>> = {
    namespace: { namespace: 'team-b' },
    labels: { labels: { app: 'db' } },
    controller: { controllerUid: 'rs' },
    'being deleted': { terminating: true },
    'anti-affinity': { antiAffinity: [{ topologyKey: 'zone', labelSelector: {} }] },
  };
  for (const [what, change] of Object.entries(others)) {
    it(`keeps pods apart that differ in ${what}`, () => {
      const pods = new PlacedPods();
      pods.place(aPlaced('1'), 'n1');
      pods.place(aPlaced('2', change), 'n1');
      assert.deepEqual(counts(pods), [{ n1: 1 }, { n1: 1 }]);
    });
  }

  it('moves a pod that is bound elsewhere than its candidate was', () => {
    const pods = new PlacedPods();
    pods.place(aPlaced('1'), 'n1');
    pods.place(aPlaced('1'), 'n2');
    assert.deepEqual(counts(pods), [{ n2: 1 }]);
    assert.equal(pods.nodeOf('1'), 'n2');
  });

  it('counts a pod anew whose labels were changed', () => {
    const pods = new PlacedPods();
    pods.place(aPlaced('1'), 'n1');
    pods.place(aPlaced('1', { labels: { app: 'db' } }), 'n1');
    assert.deepEqual([...pods.classes()].map(({ labels }) => labels), [{ app: 'db' }]);
  });

  it('counts a pod once that is told of twice', () => {
    const pods = new PlacedPods();
    pods.place(aPlaced('1'), 'n1');
    pods.place(aPlaced('1'), 'n1');
    assert.deepEqual(counts(pods), [{ n1: 1 }]);
  });

  it('knows whether some pod keeps others away', () => {
    const pods = new PlacedPods();
    const aloof = { antiAffinity: [{ topologyKey: 'zone', labelSelector: {} }] };
    assert.equal(pods.hasAntiAffinity, false);
    pods.place(aPlaced('1', aloof), 'n1');
    pods.place(aPlaced('2', aloof), 'n1');
    pods.remove('1');
    assert.equal(pods.hasAntiAffinity, true);
    pods.remove('2');
    assert.equal(pods.hasAntiAffinity, false);
  });

  it('forgets a pod that it does not know without harm', () => {
    const pods = new PlacedPods();
    pods.remove('1');
    assert.equal(pods.size, 0);
  });

  it('holds what the last word on each pod was, and nothing of pods that are gone', () => {
    const step = fc.record({
      uid: fc.constantFrom('1', '2', '3'), node: fc.option(fc.constantFrom('n1', 'n2'), { nil: undefined }),
      app: fc.constantFrom('web', 'db'),
    });
    fc.assert(fc.property(fc.array(step), (steps) => {
      const pods = new PlacedPods();
      const last = new Map<string, string>();
      for (const { uid, node, app } of steps) {
        if (node === undefined) {
          pods.remove(uid);
          last.delete(uid);
        } else {
          pods.place(aPlaced(uid, { labels: { app } }), node);
          last.set(uid, `${app} ${node}`);
        }
      }
      const found = [...pods.classes()].flatMap(({ labels, byNode }) => [...byNode].flatMap(
        ([node, count]) => Array.from({ length: count }, () => `${labels['app']} ${node}`),
      ));
      assert.deepEqual(found.toSorted(), [...last.values()].toSorted());
    }));
  });
});

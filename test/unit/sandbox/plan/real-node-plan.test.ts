// Addresses of real nodes: distinct, and none that this machine routes already.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { planClusters } from '../../../../sandbox/plan/cluster-plan.ts';
import { freeSlots, planRealNetwork, rangesOverlap, slotPodRange } from '../../../../sandbox/plan/real-node-plan.ts';
import { samplePlans } from '../sample-plan.ts';

const shape = { clusterName: 'target-1', directory: '/sandbox/target-1', nodes: 2, slot: 5 };

describe('rangesOverlap', () => {
  const rows = [
    ['10.0.0.0/8', '10.133.0.0/16', true], ['10.133.4.0/24', '10.133.0.0/16', true],
    ['10.133.0.0/16', '10.134.0.0/16', false], ['198.18.5.1', '198.18.5.0/24', true],
    ['198.18.6.1', '198.18.5.0/24', false], ['0.0.0.0/0', '203.0.113.9', true], ['10.0.0.1', '10.0.0.1', true],
  ] as const;
  for (const [left, right, overlap] of rows) {
    it(`${left} and ${right}: ${overlap}`, () => {
      assert.deepEqual([rangesOverlap(left, right), rangesOverlap(right, left)], [overlap, overlap]);
    });
  }
});

describe('freeSlots', () => {
  it('begins where it is told to', () => assert.equal(freeSlots(3, ['default'], 40), 40));
  it('leaves out slots whose nodes or pods this machine routes', () => {
    assert.equal(freeSlots(3, ['198.18.41.0/24', '10.172.0.0/16'], 40), 45);
  });
  it('finds none where everything is routed', () => assert.equal(freeSlots(1, ['10.0.0.0/8'], 0), undefined));
  it('gives slots whose ranges meet no route', () => {
    const route = fc.tuple(fc.constantFrom(10, 198), fc.nat(255), fc.nat(255), fc.integer({ min: 8, max: 32 })).map(
      ([first, second, third, length]) => `${first}.${second}.${third}.0/${length}`,
    );
    fc.assert(fc.property(fc.array(route, { maxLength: 8 }), fc.nat(127), fc.integer({ min: 1, max: 9 }), (
      routes, from, count,
    ) => {
      const first = freeSlots(count, routes, from);
      if (first === undefined) return;
      for (let slot = first; slot < first + count; slot += 1) {
        const { range } = planRealNetwork({ ...shape, slot });
        for (const taken of routes) {
          assert.ok(!rangesOverlap(taken, range) && !rangesOverlap(taken, slotPodRange(slot)), `${slot} ${taken}`);
        }
      }
    }));
  });
});

describe('planRealNetwork', () => {
  it('gives every node an address, a range of pods and a folder of its own', () => {
    assert.deepEqual(planRealNetwork(shape), {
      address: '198.18.5.1', interface: 'isthmus5', range: '198.18.5.0/24',
      nodes: [1, 2].map((number) => ({
        name: `target-1-node-${number}`, directory: `/sandbox/target-1/nodes/target-1-node-${number}`,
        address: `198.18.5.${9 + number}`, podRange: `10.133.${number}.0/24`,
        cgroup: `isthmus5-target-1-node-${number}`,
      })),
    });
  });
  it('refuses a slot that is none', () => assert.throws(() => planRealNetwork({ ...shape, slot: 128 }), RangeError));
});

describe('planClusters with real nodes', () => {
  const plans = samplePlans({ firstSlot: 7, nodes: 2 });

  it('puts each API server into the network of its nodes', () => {
    assert.deepEqual(plans.map(({ address }) => address), ['198.18.7.1', '198.18.8.1', '198.18.9.1']);
  });
  it('keeps the pods of a node within those of its cluster, and clusters apart', () => {
    for (const { podCidr, realNetwork } of plans) {
      for (const { podRange } of realNetwork?.nodes ?? []) assert.ok(rangesOverlap(podRange, podCidr));
      assert.equal(plans.filter((other) => rangesOverlap(other.podCidr, podCidr)).length, 1);
    }
  });
  it('plans none for simulated nodes', () => {
    assert.ok(samplePlans().every((plan) => plan.realNetwork === undefined && plan.address === '127.0.0.1'));
    assert.throws(() => planClusters({ ...shape, targets: 1 } as never, []), RangeError);
  });
});

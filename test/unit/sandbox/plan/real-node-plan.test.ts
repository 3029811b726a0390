// Addresses of real nodes: distinct, and none that this machine routes already.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { planClusters, serverUrl } from '../../../../sandbox/plan/cluster-plan.ts';
import {
  addressIn, freeSlots, nodeRange, planRealNetwork, rangesOverlap, slotOf, slotPodRange,
} from '../../../../sandbox/plan/real-node-plan.ts';
import { samplePlans } from '../sample-plan.ts';

const shape = {
  clusterName: 'target-1', directory: '/sandbox/target-1', nodes: 2, families: ['IPv4'], slot: 5,
} as const;

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
  it('begins where it is told to', () => assert.equal(freeSlots(3, { routes: ['default'], taken: [] }, 40), 40));
  it('leaves out slots whose nodes or pods this machine routes', () => {
    assert.equal(freeSlots(3, { routes: ['198.18.41.0/24', '10.172.0.0/16'], taken: [] }, 40), 45);
  });
  it('leaves out slots of other sandboxes', () => {
    assert.equal(freeSlots(3, { routes: [], taken: [41, 44] }, 40), 45);
  });
  it('finds none where everything is routed', () => {
    assert.equal(freeSlots(1, { routes: ['10.0.0.0/8'], taken: [] }, 0), undefined);
  });
  it('gives slots whose ranges meet no route', () => {
    const route = fc.tuple(fc.constantFrom(10, 198), fc.nat(255), fc.nat(255), fc.integer({ min: 8, max: 32 })).map(
      ([first, second, third, length]) => `${first}.${second}.${third}.0/${length}`,
    );
    fc.assert(fc.property(fc.array(route, { maxLength: 8 }), fc.nat(127), fc.integer({ min: 1, max: 9 }), (
      routes, from, count,
    ) => {
      const first = freeSlots(count, { routes, taken: [] }, from);
      if (first === undefined) return;
      for (let slot = first; slot < first + count; slot += 1) {
        const range = nodeRange(slot);
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
      addresses: ['198.18.5.1'], interface: 'isthmus5',
      nodes: [1, 2].map((number) => ({
        name: `target-1-node-${number}`, directory: `/sandbox/target-1/nodes/target-1-node-${number}`,
        addresses: [`198.18.5.${9 + number}`], podRanges: [`10.133.${number}.0/24`],
        cgroup: `isthmus5-target-1-node-${number}`,
      })),
    });
  });
  it('gives one of each family, in the order of the cluster', () => {
    const { addresses, nodes: [node] } = planRealNetwork({ ...shape, families: ['IPv6', 'IPv4'] });
    assert.deepEqual([addresses, node?.addresses, node?.podRanges], [
      ['fd69:7374:686d:5::1', '198.18.5.1'], ['fd69:7374:686d:5::a', '198.18.5.10'],
      ['fd69:7374:686d:1501::/64', '10.133.1.0/24'],
    ]);
  });
  it('refuses a slot that is none', () => assert.throws(() => planRealNetwork({ ...shape, slot: 128 }), RangeError));
});

describe('slotOf', () => {
  for (const [name, expected] of [
    ['isthmus7', 7], ['isthmus', undefined], ['eth0', undefined], ['isthmus7x', undefined],
  ] as const) {
    it(`${name}: ${expected}`, () => assert.equal(slotOf(name), expected));
  }
});

describe('addressIn', () => {
  for (const [range, number, expected] of [
    ['10.64.0.0/16', 10, '10.64.0.10'], ['fd69:7374:686d:a000::/112', 10, 'fd69:7374:686d:a000::a'],
  ] as const) {
    it(`number ${number} of ${range}`, () => assert.equal(addressIn(range, number), expected));
  }
});

describe('planClusters with IPv6', () => {
  const plans = samplePlans({
    targets: 2, firstSlot: 7, nodes: 1, families: [['IPv6'], ['IPv6', 'IPv4'], ['IPv4', 'IPv6']],
  });
  it('prefers the first family', () => assert.deepEqual(
    plans.map((plan) => serverUrl(plan).replace(/:\d+$/, '')),
    ['https://[fd69:7374:686d:7::1]', 'https://[fd69:7374:686d:8::1]', 'https://198.18.9.1'],
  ));
  it('gives pods and Services ranges of each family, and clusters their own', () => {
    assert.deepEqual(plans.map(({ podCidrs, serviceCidrs }) => [...podCidrs, ...serviceCidrs]), [
      ['fd69:7374:686d:1700::/56', 'fd69:7374:686d:a000::/112'],
      ['fd69:7374:686d:1800::/56', '10.136.0.0/16', 'fd69:7374:686d:a001::/112', '10.65.0.0/16'],
      ['10.137.0.0/16', 'fd69:7374:686d:1900::/56', '10.66.0.0/16', 'fd69:7374:686d:a002::/112'],
    ]);
  });
});

describe('planClusters with real nodes', () => {
  const plans = samplePlans({ firstSlot: 7, nodes: 2 });

  it('puts each API server into the network of its nodes', () => {
    assert.deepEqual(plans.map(({ address }) => address), ['198.18.7.1', '198.18.8.1', '198.18.9.1']);
  });
  it('keeps the pods of a node within those of its cluster, and clusters apart', () => {
    for (const { podCidrs: [podCidr = ''], realNetwork } of plans) {
      for (const { podRanges: [range = ''] } of realNetwork?.nodes ?? []) assert.ok(rangesOverlap(range, podCidr));
      assert.equal(plans.filter(({ podCidrs: [other = ''] }) => rangesOverlap(other, podCidr)).length, 1);
    }
  });
  it('plans none for simulated nodes', () => {
    assert.ok(samplePlans().every((plan) => plan.realNetwork === undefined && plan.address === '127.0.0.1'));
    assert.throws(() => planClusters({ ...shape, targets: 1 } as never, []), RangeError);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  tunnelAddress, planPodPlane, type PodPeer, type PodPlaneSelf,
} from '../../../../pod-plane/plan/pod-plane-plan.ts';

const key = (letter: string) => `${letter.repeat(42)}A=`;
const self = (more: Partial<PodPlaneSelf> = {}): PodPlaneSelf =>
  ({ clusterId: 'own', prefixes: [{ own: '10.0.0.0/16', seen: '10.0.0.0/16' }], isReachable: true, ...more });
const peer = (clusterId: string, number: number, more: Partial<PodPeer> = {}): PodPeer => ({
  clusterId, addresses: [`192.0.2.${number}:51820`], publicKeys: [key(clusterId.slice(0, 1).toUpperCase())],
  ranges: [`10.${number}.0.0/16`], ...more,
});
const ranges = (of: PodPlaneSelf, peers: readonly PodPeer[]) =>
  Object.fromEntries(planPodPlane(of, peers).peers.map(({ clusterId, allowedIPs }) => [clusterId, allowedIPs]));

describe('the plan of a pod plane', () => {
  it('gives each peer its ranges, and routes all of them', () => {
    const plan = planPodPlane(self(), [peer('b', 2), peer('a', 1)]);
    assert.deepEqual(plan.peers.map(({ clusterId, allowedIPs }) => [clusterId, allowedIPs]), [
      ['a', ['10.1.0.0/16']], ['b', ['10.2.0.0/16']],
    ]);
    assert.deepEqual(plan.routes, ['10.1.0.0/16', '10.2.0.0/16']);
  });
  it('gives the ranges to the first of several keys only', () => {
    assert.deepEqual(
      planPodPlane(self(), [peer('a', 1, { publicKeys: [key('A'), key('B')] })]).peers.map(
        ({ publicKey, allowedIPs }) => [publicKey, allowedIPs],
      ),
      [[key('A'), ['10.1.0.0/16']], [key('B'), []]],
    );
  });

  const refusals: [string, PodPeer, RegExp][] = [
    ['without a key', peer('a', 1, { publicKeys: [] }), /announced no key/],
    ['with a key that is none', peer('a', 1, { publicKeys: ['x'] }), /announced no key/],
    ['without ranges', peer('a', 1, { ranges: [] }), /--cluster-cidr/],
    ['with our range', peer('a', 1, { ranges: ['10.0.5.0/24'] }), /10\.0\.5\.0\/24 is ours/],
    ['with everybody\'s range', peer('a', 1, { ranges: ['0.0.0.0/0'] }), /is ours/],
  ];
  for (const [what, refused, words] of refusals) {
    it(`C2-33: refuses a peer ${what}, and says so`, () => {
      const plan = planPodPlane(self(), [refused, peer('b', 2)]);
      assert.match(plan.refused.get('a') ?? '', words);
      assert.deepEqual(plan.routes, ['10.2.0.0/16']);
    });
  }
  it('C2-33: refuses the second of two peers with one range', () => {
    const plan = planPodPlane(self(), [peer('b', 1), peer('a', 1)]);
    assert.deepEqual([...plan.refused.keys()], ['b']);
    assert.match(plan.refused.get('b') ?? '', /that of a as well/);
  });
  it('does not refuse a peer because of one that was refused', () => assert.deepEqual(
    [...planPodPlane(self(), [peer('a', 1, { ranges: ['10.0.0.0/8'] }), peer('b', 2)]).refused.keys()], ['a'],
  ));
});

describe('members that can only dial out', () => {
  const hidden = (id: string, number: number) => peer(id, number, { addresses: [] });
  it('are peers of those that can be dialled', () => assert.deepEqual(
    ranges(self(), [hidden('a', 1)]), { a: ['10.1.0.0/16'] },
  ));
  it('reach one another over the first that can be', () => assert.deepEqual(
    ranges(self({ isReachable: false }), [hidden('a', 1), peer('hub', 9), peer('other', 8)]),
    { hub: ['10.9.0.0/16', '10.1.0.0/16'], other: ['10.8.0.0/16'] },
  ));
  it('are routed all the same', () => assert.deepEqual(
    planPodPlane(self({ isReachable: false }), [hidden('a', 1), peer('hub', 9)]).routes, ['10.1.0.0/16', '10.9.0.0/16'],
  ));
  it('wait for one another where nobody can be dialled', () => assert.deepEqual(
    ranges(self({ isReachable: false }), [hidden('a', 1)]), { a: ['10.1.0.0/16'] },
  ));
  it('are passed on by a hub to one another only', () => assert.deepEqual(
    planPodPlane(self(), [hidden('a', 1), hidden('b', 2), peer('c', 3)]).relayed, ['10.1.0.0/16', '10.2.0.0/16'],
  ));
  it('are not passed on by one that cannot be dialled', () => assert.deepEqual(
    planPodPlane(self({ isReachable: false }), [hidden('a', 1), hidden('b', 2)]).relayed, [],
  ));
});

describe('laws of the plan', () => {
  const peers = fc.uniqueArray(
    fc.record(
      { id: fc.constantFrom('a', 'b', 'c', 'd'), number: fc.integer({ min: 0, max: 3 }), hidden: fc.boolean() },
    ),
    { selector: ({ id }) => id },
  ).map((list) => list.map(({ id, number, hidden }) => peer(id, number, hidden ? { addresses: [] } : {})));
  it('no range is with two peers, and no own range is with one', () => {
    fc.assert(fc.property(peers, fc.boolean(), (list, isReachable) => {
      const all = planPodPlane(self({ isReachable }), list).peers.flatMap(({ allowedIPs }) => allowedIPs);
      assert.equal(new Set(all).size, all.length);
      assert.ok(!all.includes('10.0.0.0/16'));
    }), { numRuns: 100 });
  });
  it('every peer is either routed or refused with a reason', () => {
    fc.assert(fc.property(peers, fc.boolean(), (list, isReachable) => {
      const { routes, refused } = planPodPlane(self({ isReachable }), list);
      for (const one of list) {
        assert.notEqual(refused.has(one.clusterId), routes.includes(one.ranges[0] ?? '') && !list.some(
          (other) => other !== one && other.ranges[0] === one.ranges[0] && !refused.has(other.clusterId),
        ));
      }
    }), { numRuns: 100 });
  });
});

describe('the tunnel\'s address', () => {
  it('is the first of the first range', () => assert.equal(tunnelAddress(['10.1.0.0/16', '10.2.0.0/16']), '10.1.0.0'));
  it('is none without a range', () => assert.equal(tunnelAddress([]), undefined));
});

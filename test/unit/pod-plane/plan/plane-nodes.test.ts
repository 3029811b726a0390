import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Node } from '../../../../api/objects/core.ts';
import {
  announcedAddresses, gatewayCandidates, leaseIdentity, readLeaseIdentity, toPlaneNode, workersOf, type PlaneNode,
} from '../../../../pod-plane/plan/plane-nodes.ts';

const node = (name: string, more: Partial<PlaneNode> = {}): PlaneNode => ({
  name, address: `10.0.0.${name.charCodeAt(0)}`, podCIDR: `10.1.${name.charCodeAt(0)}.0/24`, isLabelled: false,
  isReady: true, ...more,
});
const object = (more: Partial<Node> = {}): Node => ({
  metadata: { name: 'a' }, spec: { podCIDR: '10.1.0.0/24' },
  status: { addresses: [{ type: 'Hostname', address: 'a' }, { type: 'InternalIP', address: '10.0.0.1' }] }, ...more,
});

describe('a node of the pod plane', () => {
  const rows: [string, Node, PlaneNode | undefined][] = [
    ['has its own address and its part of the pod range', object(), {
      name: 'a', address: '10.0.0.1', podCIDR: '10.1.0.0/24', isLabelled: false, isReady: false,
    }],
    [
      'may be labelled, and ready',
      object({
        metadata: { name: 'a', labels: { 'isthmus.dev/gateway': 'true' } },
        status: {
          addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
          conditions: [{ type: 'Ready', status: 'True' } as never],
        },
      }),
      { name: 'a', address: '10.0.0.1', podCIDR: '10.1.0.0/24', isLabelled: true, isReady: true },
    ],
    [
      'is none that stands for another cluster',
      object({ metadata: { name: 'a', labels: { 'virtual-kubelet.io/provider': 'admiralty' } } }), undefined,
    ],
    ['is none without an address', object({ status: {} }), undefined],
    [
      'is none with an address of IPv6 alone',
      object({ status: { addresses: [{ type: 'InternalIP', address: 'fd00::1' }] } }), undefined,
    ],
    [
      'has the range of IPv4 where the cluster prefers IPv6',
      object({ spec: { podCIDR: 'fd00:1::/64', podCIDRs: ['fd00:1::/64', '10.1.0.0/24'] } }),
      { name: 'a', address: '10.0.0.1', podCIDR: '10.1.0.0/24', isLabelled: false, isReady: false },
    ],
    ['may have a part of the pod range that only its network plugin knows', object({ spec: {} }), {
      name: 'a', address: '10.0.0.1', podCIDR: undefined, isLabelled: false, isReady: false,
    }],
  ];
  for (const [what, given, expected] of rows) it(what, () => assert.deepEqual(toPlaneNode(given), expected));
});

describe('nodes that the gateway is chosen from', () => {
  const rows: [string, readonly PlaneNode[], readonly string[]][] = [
    [
      'are those that are labelled, ready or not',
      [node('a'), node('c', { isLabelled: true }), node('b', { isLabelled: true, isReady: false })], ['b', 'c'],
    ],
    [
      'are the first three that are ready, where none is labelled',
      [node('e'), node('d'), node('c'), node('b'), node('a', { isReady: false })], ['b', 'c', 'd'],
    ],
    ['are none where no node is ready', [node('a', { isReady: false })], []],
  ];
  for (const [what, nodes, expected] of rows) {
    it(what, () => assert.deepEqual(gatewayCandidates(nodes).map(({ name }) => name), expected));
  }
  it('are the same for every node, in whatever order it learns of them', () => {
    const nodes = ['a', 'b', 'c', 'd', 'e', 'f'].map((name, index) => node(name, { isReady: index % 2 === 0 }));
    fc.assert(fc.property(
      fc.shuffledSubarray(nodes, { minLength: nodes.length }),
      (shuffled) => assert.deepEqual(gatewayCandidates(shuffled), gatewayCandidates(nodes)),
    ));
  });
});

describe('addresses that peers are told', () => {
  it('are that of the gateway first, then those of whoever may be it next', () => {
    const nodes = [node('a', { isLabelled: true }), node('b', { isLabelled: true }), node('c')];
    assert.deepEqual(
      announcedAddresses(node('b', { isLabelled: true }), nodes, 51_820), ['10.0.0.98:51820', '10.0.0.97:51820'],
    );
  });
  it('are that of the gateway even while it is no candidate any more', () => assert.deepEqual(
    announcedAddresses(node('c'), [node('a', { isLabelled: true })], 1), ['10.0.0.99:1', '10.0.0.97:1'],
  ));
});

describe('nodes behind the gateway', () => {
  it('are all others whose part of the pod range is known', () => {
    assert.deepEqual(workersOf([node('a'), node('b'), node('c', { podCIDR: undefined })], 'a'), [
      { name: 'b', address: '10.0.0.98', podCIDR: '10.1.98.0/24' },
    ]);
  });
});

describe('the holder of the lease', () => {
  it('names its node and its run, whatever they are called', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9.-]{1,20}$/), fc.string(), (name, instanceId) => assert.deepEqual(
        readLeaseIdentity(leaseIdentity(name, instanceId)), { node: name, instanceId },
      )),
    );
  });
  it(
    'is on no node when nobody holds it', () => assert.deepEqual(readLeaseIdentity(''), { node: '', instanceId: '' }),
  );
});

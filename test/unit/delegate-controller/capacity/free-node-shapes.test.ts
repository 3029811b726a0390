// The free shapes that a target publishes: what a source concludes from them must hold on the nodes that there are.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { freeOn, GroupFreeShapes } from '../../../../delegate-controller/capacity/free-node-shapes.ts';
import type { NodeTemplate } from '../../../../delegate-controller/capacity/node-groups.ts';
import type { NodeState } from '../../../../delegate-controller/capacity/node-ledger.ts';
import { nodeDigest, splitDigests } from '../../../../model/resources/node-digest.ts';
import { parseResourceList, type ResourceAmounts } from '../../../../model/resources/resources.ts';

type Amounts = Readonly<Record<string, number>>;

const TEMPLATE: NodeTemplate = { labels: { zone: 'a', pool: 'gpu' }, perNodeLabels: [], taints: [], key: 'template' };
const EXACT = { steps: Infinity, nodeNames: false };

const aNode = (name: string, allocatable: Amounts, used: Amounts = {}): NodeState => ({
  node: { name, allocatable: new Map(Object.entries(allocatable)), labels: {}, taints: [] },
  used: new Map(Object.entries(used)),
} as unknown as NodeState);

/** What a source reads: the free amounts of each node, in any order. */
function read(nodes: readonly NodeState[],
  how: Parameters<GroupFreeShapes['toNodeGroup']>[0]): readonly ResourceAmounts[] {
  const { shape, holes } = new GroupFreeShapes(TEMPLATE, nodes).toNodeGroup(how, new Set());
  return holes.flatMap(({ count, free }) =>
    Array.from({ length: count }, () => parseResourceList({ ...shape, ...free }).amounts));
}

const free = (state: NodeState, resource: string): number => freeOn(state, resource);
const fits = (requests: Amounts, room: (resource: string) => number): boolean =>
  Object.entries(requests).every(([resource, amount]) => amount <= room(resource));

const RESOURCES = ['cpu', 'memory', 'pods', 'nvidia.com/gpu'];
const amounts = fc.dictionary(fc.constantFrom(...RESOURCES), fc.nat({ max: 5_000 }), { noNullPrototype: true });
const nodes = fc.array(fc.tuple(amounts, amounts), { minLength: 1, maxLength: 12 })
  .map((all) => all.map(([room, used], index) => aNode(`node-${index}`, room, used)));
const steps = fc.constantFrom(1, 2, 4, 16, Infinity);

describe('the free amount of a resource on a node', () => {
  it('is what its pods leave, and never less than nothing', () => {
    const node = aNode('a', { cpu: 4_000 }, { cpu: 1_500, pods: 3 });
    assert.deepEqual([freeOn(node, 'cpu'), freeOn(node, 'pods'), freeOn(node, 'other')], [2_500, 0, 0]);
    assert.equal(freeOn(aNode('a', { cpu: 1 }, { cpu: 5 }), 'cpu'), 0, 'static pods may overcommit a node');
  });
});

describe('published shapes', () => {
  it('are the nodes themselves where nothing is rounded', () => {
    fc.assert(fc.property(nodes, (all) => {
      const sorted = (list: readonly string[]) => list.toSorted();
      const names = [...new Set(all.flatMap(({ node }) => [...node.allocatable.keys()]))];
      const there = all.map((state) => names.map((resource) => free(state, resource)).join());
      const told = read(all, EXACT).map((room) => names.map((resource) => room.get(resource) ?? 0).join());
      assert.deepEqual(sorted(told), sorted(there));
    }), { numRuns: 80 });
  });

  it('stand for as many nodes as there are, however they are rounded', () => {
    fc.assert(fc.property(nodes, steps, (all, count) => {
      const shapes = new GroupFreeShapes(TEMPLATE, all);
      assert.equal(shapes.size, all.length);
      assert.equal(read(all, { steps: count, nodeNames: false }).length, all.length);
    }), { numRuns: 80 });
  });

  it('never show a node emptier than it is: a pod that fits by them fits on a node', () => {
    fc.assert(fc.property(nodes, steps, amounts, (all, count, requests) => {
      const told = read(all, { steps: count, nodeNames: false });
      const isTold = told.some((room) => fits(requests, (resource) => room.get(resource) ?? 0));
      if (isTold) assert.ok(all.some((state) => fits(requests, (resource) => free(state, resource))));
    }), { numRuns: 120 });
  });

  it('never have more of a resource in all than the nodes have', () => {
    fc.assert(fc.property(nodes, steps, (all, count) => {
      const told = read(all, { steps: count, nodeNames: false });
      for (const resource of RESOURCES) {
        const sum = told.reduce((total, room) => total + (room.get(resource) ?? 0), 0);
        assert.ok(sum <= all.reduce((total, state) => total + free(state, resource), 0), resource);
      }
    }), { numRuns: 120 });
  });

  it('never hide that a pod fits: rounding changes how many do, not whether one does', () => {
    fc.assert(fc.property(nodes, steps, fc.nat(), (all, count, which) => {
      const state = all[which % all.length]!;
      const requests = Object.fromEntries([...state.node.allocatable.keys()].map((name) => [name, free(state, name)]));
      const told = read(all, { steps: count, nodeNames: false });
      assert.ok(told.some((room) => fits(requests, (resource) => room.get(resource) ?? 0)), JSON.stringify(requests));
    }), { numRuns: 120 });
  });

  it('do not depend on the order of the nodes', () => {
    fc.assert(fc.property(nodes, steps, (all, count) => {
      const how = { steps: count, nodeNames: true };
      const one = new GroupFreeShapes(TEMPLATE, all).toNodeGroup(how, new Set());
      assert.deepEqual(new GroupFreeShapes(TEMPLATE, all.toReversed()).toNodeGroup(how, new Set()), one);
    }), { numRuns: 100 });
  });

  it('are fewer, or as many, with fewer steps', () => {
    fc.assert(fc.property(nodes, (all) => {
      const counts = [1, 4, Infinity].map((count) =>
        new GroupFreeShapes(TEMPLATE, all).toNodeGroup({ steps: count, nodeNames: false }, new Set()).holes.length);
      assert.deepEqual(counts, counts.toSorted((one, other) => one - other));
    }), { numRuns: 100 });
  });

  it('are merged by equal amounts, with the names of their nodes where asked', () => {
    const all = ['c', 'a', 'b'].map((name) => aNode(name, { cpu: 4_000 }, { cpu: name === 'b' ? 1_000 : 0 }));
    const { holes } = new GroupFreeShapes(TEMPLATE, all).toNodeGroup({ steps: Infinity, nodeNames: true }, new Set());
    const named = holes.map(({ count, nodes: names }) => [count, splitDigests(names ?? '')]);
    assert.deepEqual(named.toSorted(([one = 0], [other = 0]) => Number(other) - Number(one)), [
      [2, [nodeDigest('a'), nodeDigest('c')].toSorted()], [1, [nodeDigest('b')]],
    ]);
  });

  it('leave out what is as large as the whole node, and labels that all nodes have', () => {
    const all = [aNode('a', { cpu: 4_000, pods: 110 }, { pods: 10 })];
    const group = new GroupFreeShapes(TEMPLATE, all).toNodeGroup(EXACT, new Set(['zone']));
    assert.deepEqual(group, {
      labels: { pool: 'gpu' }, shape: { cpu: '4', pods: '110' }, holes: [{ count: 1, free: { pods: '100' } }],
    });
  });
});

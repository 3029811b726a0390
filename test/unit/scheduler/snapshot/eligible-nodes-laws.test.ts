// Groups of nodes against the nodes themselves: what a summary says of a pod is what the nodes, one by one, would say.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { NodeGroup } from '../../../../api/kinds/cluster-summary.ts';
import type { StringMap, Taint, Toleration } from '../../../../api/objects/core.ts';
import { HOSTNAME_LABEL, matchesNodeSelector } from '../../../../model/pod/node-selector.ts';
import { firstUntoleratedTaint } from '../../../../model/pod/tolerations.ts';
import { nodeDigest } from '../../../../model/resources/node-digest.ts';
import { headroomGroups, idOf, eligibleRows, readGroups } from '../../../../scheduler/snapshot/eligible-nodes.ts';

const NAMES = ['n0', 'n1', 'n2', 'n3'];
const labels = fc.dictionary(fc.constantFrom('zone', 'arch'), fc.constantFrom('a', 'b'), { noNullPrototype: true });
const taints: fc.Arbitrary<readonly Taint[]> = fc.array(fc.record({
  key: fc.constantFrom('gpu', 'spot'), effect: fc.constantFrom('NoSchedule' as const, 'PreferNoSchedule' as const),
}), { maxLength: 2 });
const requirement = fc.oneof(
  fc.record({
    key: fc.constantFrom('zone', 'arch'), operator: fc.constantFrom('In', 'NotIn'),
    values: fc.subarray(['a', 'b'], { minLength: 1 }),
  }),
  fc.record({
    key: fc.constant(HOSTNAME_LABEL), operator: fc.constantFrom('In', 'NotIn'),
    values: fc.subarray([...NAMES, 'n9'], { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    key: fc.constantFrom('zone', 'arch', HOSTNAME_LABEL), operator: fc.constantFrom('Exists', 'DoesNotExist'),
  }),
);
const field = fc.record({
  key: fc.constant('metadata.name'), operator: fc.constantFrom('In', 'NotIn'),
  values: fc.constantFrom(...NAMES, 'n9').map((name) => [name]),
});
const term = fc.record({
  matchExpressions: fc.array(requirement, { maxLength: 2 }), matchFields: fc.array(field, { maxLength: 1 }),
});
const tolerations: fc.Arbitrary<readonly Toleration[]> = fc.array(
  fc.constantFrom<Toleration>({ operator: 'Exists' }, { key: 'gpu', operator: 'Exists' }), { maxLength: 2 },
);
const terms = fc.option(fc.array(term, { minLength: 1, maxLength: 2 }), { nil: undefined });
const pods = fc.record({ nodeSelector: labels, terms, tolerations }).map(({ terms: its, ...rest }) => ({
  requests: new Map(), ...rest,
  ...(its && {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: its } } },
  }),
}));

/** A group with one row for each of its names, as a target publishes it. */
const groupOf = ({ names, ...its }: {
  readonly labels: StringMap; readonly taints: readonly Taint[]; readonly names: readonly string[]
}): NodeGroup => ({
  ...its, perNodeLabels: [HOSTNAME_LABEL], shape: { cpu: '4' },
  holes: names.map((name, index) => ({ count: 1, free: { cpu: String(index) }, nodes: nodeDigest(name) })),
});
const groups = fc.array(fc.record({ labels, taints, names: fc.subarray(NAMES, { minLength: 1 }) }),
  { minLength: 1, maxLength: 3 });

describe('the eligible rows of a pod', () => {
  it('are those whose node would take it', () => {
    fc.assert(fc.property(pods, groups, (pod, all) => {
      const read = readGroups(all.map(groupOf), {});
      const eligible = eligibleRows(pod, read);
      const nodes = all.flatMap(({ names, ...rest }) => names.map((name) => ({ ...rest, name })));
      for (const [index, { group }] of read.rows.entries()) {
        const { name, labels: own, taints: its } = nodes[index] ?? assert.fail();
        const takes = firstUntoleratedTaint(its, pod.tolerations) === undefined
          && matchesNodeSelector(pod, { ...own, [HOSTNAME_LABEL]: name }, name, new Set());
        const isEligible = eligible.groups[group] === 1 || (eligible.groups[group] === 2 && eligible.rows[index] === 1);
        assert.equal(isEligible, takes, `${name} of ${JSON.stringify(all)}`);
      }
    }), { numRuns: 250 });
  });
  it('are the same where labels are common to all nodes, and where each group has them', () => {
    fc.assert(fc.property(pods, groups, labels, (pod, all, common) => {
      const separate = all.map(({ labels: own, ...rest }) => ({ ...rest, labels: { ...common, ...own } }));
      const [one, other] = [readGroups(all.map(groupOf), common), readGroups(separate.map(groupOf), {})];
      assert.deepEqual(eligibleRows(pod, one), eligibleRows(pod, other));
      assert.deepEqual([...one.ids], [...other.ids]);
    }), { numRuns: 60 });
  });
  it('are the same when they are asked for again, after other pods and other targets', () => {
    fc.assert(fc.property(pods, pods, groups, groups, (pod, other, all, others) => {
      const read = readGroups(all.map(groupOf), {});
      const first = eligibleRows(pod, read);
      eligibleRows(other, read);
      eligibleRows(pod, readGroups(others.map(groupOf), {}));
      assert.deepEqual(eligibleRows(pod, read), first);
    }), { numRuns: 60 });
  });
});

describe('a number for a text', () => {
  it('is the same for the same, and another for any other', () => {
    fc.assert(fc.property(fc.string(), fc.string(), (one, other) => {
      assert.equal(idOf(one), idOf(one));
      assert.equal(idOf(one) === idOf(other), one === other);
    }));
  });
});

describe('shapes', () => {
  it('without nodes, or with fewer than none, are no rows', () => {
    const holes = [0, -1, 2].map((count) => ({ count, free: { cpu: '1' } }));
    assert.deepEqual(readGroups([{ holes }], {}).rows.map(({ count }) => count), [2]);
  });
});

describe('nodes that Karpenter may add', () => {
  const grown = (group: Partial<NodeGroup>) =>
    headroomGroups(readGroups([{ shape: { cpu: '4' }, holes: [{ count: 3, free: {} }], ...group }], {}).groups);
  const POOL = { 'karpenter.sh/nodepool': 'default' };

  const rows: Readonly<Record<string, readonly [group: Partial<NodeGroup>, count: number]>> = {
    'are as its nodes are': [{ labels: POOL }, 1],
    'are found by the label of its older versions': [{ labels: { 'karpenter.sh/provisioner-name': 'default' } }, 1],
    'are found where the label differs from node to node': [{ perNodeLabels: ['karpenter.sh/nodepool'] }, 1],
    'are none where nothing made the nodes': [{ labels: { zone: 'a' } }, 0],
    'are none where the size of a node is not known': [{ labels: POOL, shape: {} }, 0],
  };
  for (const [what, [group, count]] of Object.entries(rows)) it(what, () => assert.equal(grown(group).length, count));

  it('are one more of each group, empty, with taints and labels but without a name', () => {
    const taint: Taint = { key: 'gpu', effect: 'NoSchedule' };
    const group = { labels: POOL, taints: [taint], perNodeLabels: [HOSTNAME_LABEL, 'instance-id'] };
    assert.deepEqual(grown(group), [{
      labels: POOL, taints: [taint], perNodeLabels: ['instance-id'], shape: { cpu: '4' },
      holes: [{ count: 1, free: {} }],
    }]);
  });
});

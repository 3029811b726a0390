// Which changes of a target's free capacity can wait: small in every group of nodes, in what is free there, and in
// nothing else.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSummary, NodeGroup } from '../../../../api/kinds/cluster-summary.ts';
import { isSmallChange } from '../../../../delegate-controller/capacity/small-change.ts';

const SHAPE = { cpu: '10', memory: '10Gi', pods: '100' };
const FOUR_FREE: NodeGroup = { shape: SHAPE, holes: [{ count: 4, free: {} }] };
const NEARLY_FULL: NodeGroup = {
  labels: { disk: 'fast' }, shape: SHAPE,
  holes: [{ count: 1, free: { cpu: '500m' } }, { count: 1, free: { cpu: '0' } }],
};
const summary = (nodeGroups: readonly NodeGroup[], more: Partial<ClusterSummary> = {}): ClusterSummary =>
  ({ metadata: {}, allocatable: { cpu: '60' }, free: { cpu: '40' }, nodeGroups, ...more });
const BEFORE = summary([FOUR_FREE, NEARLY_FULL]);
const fourFree = (...holes: NodeGroup['holes']) => summary([{ ...FOUR_FREE, holes }, NEARLY_FULL]);
const nearlyFull = (...holes: NodeGroup['holes']) => summary([FOUR_FREE, { ...NEARLY_FULL, holes }]);

interface Row {
  readonly name: string;
  readonly after: ClusterSummary;
  readonly small: boolean;
}

const ROWS: readonly Row[] = [
  { name: 'nothing', after: BEFORE, small: true },
  {
    name: 'sums, the largest node and the time, without their groups', small: true,
    after: { ...BEFORE, free: { cpu: '39' }, largestFree: { cpu: '9' }, observed: { podsResourceVersion: '7' } },
  },
  {
    name: 'a tenth of one node', small: true,
    after: fourFree({ count: 3, free: {} }, { count: 1, free: { cpu: '9' } }),
  },
  { name: 'a tenth of each node', after: fourFree({ count: 4, free: { cpu: '9' } }), small: true },
  { name: 'more than a tenth of each', after: fourFree({ count: 4, free: { cpu: '8999m' } }), small: false },
  {
    name: 'more than a tenth of the sum, with one node as free as before', small: false,
    after: fourFree({ count: 1, free: {} }, { count: 3, free: { memory: '8Gi' } }),
  },
  {
    name: 'the best node, with little in sum', small: false,
    after: nearlyFull({ count: 1, free: { cpu: '440m' } }, { count: 1, free: { cpu: '60m' } }),
  },
  {
    name: 'a pod of a nearly full group that leaves', small: false,
    after: nearlyFull({ count: 2, free: { cpu: '500m' } }),
  },
  {
    name: 'a small pod of a nearly full group', small: true,
    after: nearlyFull({ count: 1, free: { cpu: '460m' } }, { count: 1, free: { cpu: '0' } }),
  },
  { name: 'the last room', after: nearlyFull({ count: 2, free: { cpu: '0' } }), small: false },
  { name: 'a node more', after: fourFree({ count: 5, free: {} }), small: false },
  { name: 'a group more', after: summary([FOUR_FREE, NEARLY_FULL, FOUR_FREE]), small: false },
  { name: 'a group less', after: summary([FOUR_FREE]), small: false },
  {
    name: 'a taint', after: summary([{ ...FOUR_FREE, taints: [{ key: 'a', effect: 'NoSchedule' }] }, NEARLY_FULL]),
    small: false,
  },
  {
    name: 'a GPU', small: false,
    after: { ...BEFORE, gpus: [{ resource: 'nvidia.com/gpu', allocatable: 99, free: 98, largest: 8 }] },
  },
  { name: 'a ResourceShare', after: { ...BEFORE, shares: [{ source: '*', limits: { cpu: '1' } }] }, small: false },
];

describe('a change of free capacity is small', () => {
  for (const { name, after, small } of ROWS) {
    it(`${small ? 'with' : 'not with'} ${name}`, () => assert.equal(isSmallChange(BEFORE, after), small));
  }

  it('not from nothing to something, nor back', () => {
    const full = nearlyFull({ count: 2, free: { cpu: '0' } });
    const little = nearlyFull({ count: 1, free: { cpu: '0' } }, { count: 1, free: { cpu: '1m' } });
    assert.equal(isSmallChange(full, little), false);
    assert.equal(isSmallChange(summary([]), summary([FOUR_FREE])), false);
  });
});

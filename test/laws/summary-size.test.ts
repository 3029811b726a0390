import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { Node } from '../../api/objects/core.ts';
import { RandomSource } from '../../benchmarks/load/random-source.ts';
import { syntheticNode, syntheticPod } from '../../benchmarks/load/synthetic-nodes.ts';
import { toClusterSummary } from '../../delegate-controller/capacity/cluster-summary.ts';
import { NodeGrouper } from '../../delegate-controller/capacity/node-groups.ts';
import { NodeLedger, type NodeState } from '../../delegate-controller/capacity/node-ledger.ts';
import { toTargetNodeRecord } from '../../delegate-controller/target-cache/target-node.ts';
import { toTargetPodRecord } from '../../delegate-controller/target-cache/target-pod.ts';
import {
  addAmounts, NO_AMOUNTS, parseResourceList, subtractAmounts, type ResourceAmounts,
} from '../../model/resources/resources.ts';
import { toTargetCapacity } from '../../scheduler/snapshot/target-capacity.ts';
import { aNode, labelled, named, tainted, withAllocatable } from '../support/objects/builders.ts';

interface LargeCluster {
  readonly nodes: readonly Node[];
  readonly ledger: NodeLedger;
  readonly summary: ClusterSummary;
}

function clusterOf(nodes: readonly Node[], podsPerNode: number): LargeCluster {
  const random = new RandomSource(7);
  const ledger = new NodeLedger();
  for (const node of nodes) ledger.setNode(node.metadata.name!, toTargetNodeRecord(node));
  for (let i = 0; i < nodes.length * podsPerNode; i += 1) {
    ledger.changePod(undefined, toTargetPodRecord(syntheticPod(i, random.oneOf(nodes).metadata.name!, random)));
  }
  return { nodes, ledger, summary: toClusterSummary(ledger, new NodeGrouper(), { podsResourceVersion: '123456789' }) };
}

function mixedCluster(size: number, podsPerNode: number): LargeCluster {
  const random = new RandomSource(42);
  return clusterOf(Array.from({ length: size }, (_, index) => syntheticNode(index, random)), podsPerNode);
}

function bytesOf(summary: ClusterSummary): number {
  return Buffer.byteLength(JSON.stringify(summary));
}

function shapesOf({ nodeGroups = [] }: ClusterSummary): { readonly count: number; readonly free: ResourceAmounts }[] {
  return nodeGroups.flatMap(({ shape, holes }) => holes.map(
    ({ count, free }) => ({ count, free: parseResourceList({ ...shape, ...free }).amounts }),
  ));
}

function sumOfFreeShapes(summary: ClusterSummary): ResourceAmounts {
  return shapesOf(summary).reduce(
    (sum, { count, free }) =>
      addAmounts(sum, new Map([...free].map(([resource, amount]) => [resource, amount * count]))),
    NO_AMOUNTS,
  );
}

function fits(
  summary: ClusterSummary, requests: Record<string, string>, nodeSelector?: Record<string, string>,
): boolean {
  const gpu = { tolerations: [{ operator: 'Exists' as const }] };
  return toTargetCapacity(summary).hasRoomFor(
    { requests: parseResourceList({ pods: '1', ...requests }).amounts, ...gpu, ...(nodeSelector && { nodeSelector }) },
  );
}

function freeOn({ node, used }: NodeState): ResourceAmounts {
  return new Map(
    [...subtractAmounts(node.allocatable, used)].map(([resource, amount]) => [resource, Math.max(0, amount)]),
  );
}

function fitsIn(free: ResourceAmounts, requests: ResourceAmounts): boolean {
  return [...requests].every(([resource, requested]) => requested === 0 || requested <= (free.get(resource) ?? 0));
}

describe('the size of a summary', () => {
  const { nodes, ledger, summary } = mixedCluster(5_000, 12);

  it('of 5,000 mixed nodes with 60,000 pods is at most 100 kB', () => assert.ok(
    bytesOf(summary) <= 100_000, `${bytesOf(summary)}`,
  ));

  it('costs detail, and says which', () => {
    assert.ok((summary.reduced?.steps ?? 0) >= 2, JSON.stringify(summary.reduced));
    assert.deepEqual(
      [summary.reduced?.labels, summary.reduced?.nodes, summary.reduced?.nodeNames], [undefined, undefined, undefined],
    );
  });

  it('costs no sums', () => {
    const states = [...ledger.states()];
    const free = states.map(freeOn).reduce(addAmounts, NO_AMOUNTS);
    assert.equal(parseResourceList(summary.free).amounts.get('cpu'), free.get('cpu'));
    assert.equal(shapesOf(summary).reduce((sum, { count }) => sum + count, 0), 5_000);
  });

  it('never shows more free than there is', () => {
    const [shown, real] = [sumOfFreeShapes(summary), parseResourceList(summary.free).amounts];
    for (const [resource, amount] of shown) assert.ok(amount <= (real.get(resource) ?? 0), resource);
    assert.ok((shown.get('cpu') ?? 0) >= 0.8 * (real.get('cpu') ?? 0), `${shown.get('cpu')} of ${real.get('cpu')}`);
  });

  it('costs no answer: what fits on some node fits by the summary, and nothing else does', () => {
    const random = new RandomSource(3);
    const capacity = toTargetCapacity(summary);
    const states = [...ledger.states()];
    for (let i = 0; i < 2_000; i += 1) {
      const requests =
        parseResourceList({ cpu: `${random.below(40_000)}m`, memory: `${random.below(120_000)}Mi`, pods: '1' }).amounts;
      const really = states.some((state) => fitsIn(freeOn(state), requests));
      assert.equal(
        capacity.hasRoomFor({ requests, tolerations: [{ operator: 'Exists' }] }), really, JSON.stringify([...requests]),
      );
    }
  });

  it('knows how much is free on the emptiest node', () => {
    const largest = String(summary.largestFree?.['memory']);
    assert.equal(fits(summary, { memory: largest }), true);
    assert.equal(
      fits(summary, { memory: `${(parseResourceList({ memory: largest }).amounts.get('memory') ?? 0) + 1}` }), false,
    );
  });

  it('has groups by pool and zone, not by what names single nodes', () => {
    assert.ok((summary.nodeGroups?.length ?? 0) <= 27, `${summary.nodeGroups?.length}`);
    const perNode = new Set(summary.nodeGroups?.flatMap(({ perNodeLabels = [] }) => perNodeLabels));
    assert.deepEqual(
      [...perNode].toSorted(), ['example.com/instance-id', 'kubernetes.io/hostname', 'nvidia.com/gfd.timestamp'],
    );
  });

  it('still answers for single nodes', () => {
    const hostname = nodes[1234]?.metadata.name ?? '';
    assert.equal(fits(summary, { cpu: '10m' }, { 'kubernetes.io/hostname': hostname }), true);
    assert.equal(fits(summary, { cpu: '10m' }, { 'kubernetes.io/hostname': 'no-such-node' }), false);
  });

  it('tells of GPUs and slices by product', () => {
    assert.deepEqual(summary.gpus?.map(({ resource, product }) => [resource, product]), [
      ['nvidia.com/gpu', 'NVIDIA-A100-SXM4-40GB'],
      ['nvidia.com/gpu', 'NVIDIA-A10G'], ['nvidia.com/mig-1g.10gb', 'NVIDIA-A100-SXM4-80GB'],
    ]);
  });

  it('is exact for a small cluster', () => {
    const small = mixedCluster(100, 12);
    assert.equal(small.summary.reduced, undefined);
    assert.deepEqual(sumOfFreeShapes(small.summary), parseResourceList(small.summary.free).amounts);
  });

  it('holds for three times as many nodes, without their names', () => {
    const { summary } = mixedCluster(15_000, 2);
    assert.ok(bytesOf(summary) <= 100_000, `${bytesOf(summary)}`);
    assert.equal(summary.reduced?.nodeNames, true);
  });

  it('holds where a label has a value for every few nodes: it is left out, and says so', () => {
    const rack = (i: number) =>
      aNode(named(`n${i}`), labelled({ rack: `row-${i >> 2}-${'x'.repeat(40)}`, zone: `z${i % 3}` }));
    const { summary } = clusterOf(Array.from({ length: 4_000 }, (_, i) => rack(i)), 1);
    assert.ok(bytesOf(summary) <= 100_000, `${bytesOf(summary)}`);
    assert.deepEqual(summary.reduced?.labels, ['rack']);
    assert.equal(fits(summary, { cpu: '1' }, { zone: 'z1', rack: 'row-5' }), true);
  });

  it('holds where every node has a taint of its own: some nodes are not shown, and counted', () => {
    const own = (i: number) => aNode(
      named(`n${i}`), tainted({ key: 'owner', value: `team-${i}-${'x'.repeat(40)}`, effect: 'NoSchedule' }),
      withAllocatable({ cpu: `${i}`, pods: '9' }),
    );
    const { summary } = clusterOf(Array.from({ length: 2_000 }, (_, i) => own(i + 1)), 0);
    assert.ok(bytesOf(summary) <= 100_000, `${bytesOf(summary)}`);
    assert.equal((summary.reduced?.nodes ?? 0) + shapesOf(summary).reduce((sum, { count }) => sum + count, 0), 2_000);
  });
});

describe('what an event costs', () => {
  it('an event of a pod touches its node alone, however many there are', () => {
    const { ledger } = mixedCluster(500, 1);
    const before = new Map([...ledger.states()].map(({ node, used }) => [node.name, new Map(used)]));
    const name = [...before.keys()][250] ?? '';
    ledger.changePod(undefined, toTargetPodRecord(syntheticPod(1e6, name, new RandomSource(1))));
    const touched = [...ledger.states()]
      .filter(({ node, used }) => used.get('cpu') !== before.get(node.name)?.get('cpu'))
      .map(({ node }) => node.name);
    assert.deepEqual(touched, [name]);
  });
});

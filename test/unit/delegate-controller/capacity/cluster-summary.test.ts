import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ClusterSummary } from '../../../../api/kinds/cluster-summary.ts';
import type { Node, Pod, Taint } from '../../../../api/objects/core.ts';
import { PROVIDER_KEY, PROVIDER_VALUE } from '../../../../api/objects/keys.ts';
import { toClusterSummary } from '../../../../delegate-controller/capacity/cluster-summary.ts';
import { NodeGrouper } from '../../../../delegate-controller/capacity/node-groups.ts';
import { NodeLedger } from '../../../../delegate-controller/capacity/node-ledger.ts';
import { toTargetNodeRecord } from '../../../../delegate-controller/target-cache/target-node.ts';
import { toTargetPodRecord } from '../../../../delegate-controller/target-cache/target-pod.ts';
import { nodeDigest } from '../../../../model/resources/node-digest.ts';
import {
  addAmounts, NO_AMOUNTS, parseResourceList, type ResourceAmounts,
} from '../../../../model/resources/resources.ts';
import {
  aNode, aPod,
  cordoned, frozen, inPhase, labelled, named, onNode, tainted, withAllocatable, withReady, withRequests, type Change,
} from '../../../support/objects/builders.ts';

const ROOM = { cpu: '4', memory: '8Gi', pods: '10' };
const virtual = labelled({ [PROVIDER_KEY]: PROVIDER_VALUE });

function summaryOf(nodes: readonly Node[], pods: readonly Pod[] = []): ClusterSummary {
  const ledger = new NodeLedger();
  for (const node of frozen(nodes)) ledger.setNode(node.metadata.name ?? '', toTargetNodeRecord(node));
  for (const pod of frozen(pods)) ledger.changePod(undefined, toTargetPodRecord(pod));
  return toClusterSummary(ledger, new NodeGrouper(), { podsResourceVersion: '42' });
}

function amountsOf(list: ClusterSummary['free']): ResourceAmounts {
  return new Map([...parseResourceList(list).amounts].filter(([, amount]) => amount !== 0));
}

function sumOfFreeShapes({ nodeGroups = [] }: ClusterSummary): ResourceAmounts {
  const nodes = nodeGroups.flatMap(({ shape, holes }) => holes.flatMap(
    ({ count, free }) => Array.from({ length: count }, () => amountsOf({ ...shape, ...free })),
  ));
  return nodes.reduce(addAmounts, NO_AMOUNTS);
}

function countNodes({ nodeGroups = [] }: ClusterSummary): number {
  return nodeGroups.flatMap(({ holes }) => holes).reduce((sum, { count }) => sum + count, 0);
}

describe('toClusterSummary', () => {
  it('of a cluster without nodes says that there are none', () => {
    assert.deepEqual(summaryOf([]), {
      apiVersion: 'multicluster.admiralty.io/v1alpha1',
      kind: 'ClusterSummary', metadata: { name: 'singleton', labels: {} },
      capacity: {}, allocatable: {},
      free: {}, largestFree: {}, commonLabels: {}, nodeGroups: [], observed: { podsResourceVersion: '42' },
    });
  });

  it('says what is there, what is free and where', () => {
    const nodes = [aNode(named('a'), withAllocatable(ROOM)), aNode(named('b'), withAllocatable(ROOM))];
    const { capacity, allocatable, free, nodeGroups } =
      summaryOf(nodes, [aPod(onNode('a'), inPhase('Running'), withRequests({ cpu: '1', memory: '1Gi' }))]);
    const total = { cpu: '8', memory: '16Gi', pods: '20' };
    assert.deepEqual({ capacity, allocatable, free }, {
      capacity: total, allocatable: total, free: { cpu: '7', memory: '15Gi', pods: '19' },
    });
    const shapes = [{ count: 1, free: { cpu: '3', memory: '7Gi', pods: '9' }, nodes: nodeDigest('a') }, {
      count: 1, free: {}, nodes: nodeDigest('b'),
    }];
    assert.deepEqual(nodeGroups, [{ labels: {}, shape: ROOM, holes: shapes }]);
  });

  const pods: Record<string, readonly [pod: Pod, freeCpu: string]> = {
    'a pod that runs takes room': [aPod(onNode('node-1'), inPhase('Running'), withRequests({ cpu: '1' })), '3'],
    'a pod that has its node takes room before it runs': [aPod(onNode('node-1'), withRequests({ cpu: '1' })), '3'],
    'a pod without a node takes none': [aPod(withRequests({ cpu: '1' })), '4'],
    'a pod that ended well takes none': [aPod(onNode('node-1'), inPhase('Succeeded'), withRequests({ cpu: '1' })), '4'],
    'a pod that ended badly takes none': [aPod(onNode('node-1'), inPhase('Failed'), withRequests({ cpu: '1' })), '4'],
    'a pod on a node that does not count takes none of the others':
      [aPod(onNode('gone'), withRequests({ cpu: '1' })), '4'],
    'a node that promises more than it has has nothing left, not less':
      [aPod(onNode('node-1'), withRequests({ cpu: '9' })), '0'],
  };
  for (const [sentence, [pod, freeCpu]] of Object.entries(pods)) {
    it(sentence, () => assert.equal(summaryOf([aNode()], [pod]).free?.['cpu'], freeCpu));
  }

  it('puts nodes together that are alike in labels and taints, whatever their names', () => {
    const host = (name: string) => aNode(named(name), labelled({ 'kubernetes.io/hostname': name, zone: 'a' }));
    const { commonLabels, nodeGroups } = summaryOf([host('a'), host('b')]);
    assert.deepEqual(commonLabels, { zone: 'a' });
    assert.deepEqual(
      nodeGroups?.map(({ labels, perNodeLabels, holes }) => [labels, perNodeLabels, holes.map(({ count }) => count)]),
      [[{}, ['kubernetes.io/hostname'], [2]]],
    );
  });

  it('keeps nodes apart that differ in a label or a taint', () => {
    const nodes = [aNode(named('a')), aNode(named('b'), labelled({ zone: 'b' })), aNode(
      named('c'), tainted({ key: 'k', effect: 'NoSchedule' }),
    )];
    assert.deepEqual(summaryOf(nodes).nodeGroups?.map(({ labels, taints }) => [labels, taints]), [
      [{ zone: 'b' }, undefined], [{}, undefined], [{}, [{ key: 'k', effect: 'NoSchedule' }]],
    ]);
  });

  // Node controllers write the time, which our schema does not have: with it the API server would reject the summary.
  it('tells of a taint what it is, not since when', () => {
    const since = (timeAdded: string) => ({ key: 'k', value: 'v', effect: 'NoSchedule', timeAdded }) as Taint;
    const nodes = [aNode(named('a'), tainted(since('2026-01-01T00:00:00Z'))), aNode(
      named('b'), tainted(since('2026-01-02T00:00:00Z')),
    )];
    assert.deepEqual(
      summaryOf(nodes).nodeGroups?.map(({ taints }) => taints), [[{ key: 'k', value: 'v', effect: 'NoSchedule' }]],
    );
  });

  it('shows the labels on which all nodes that have them agree', () => {
    const nodes = [
      aNode(named('a'), labelled({ os: 'linux', zone: 'a', gpu: 'yes' })),
      aNode(named('b'), labelled({ os: 'linux', zone: 'b' })), aNode(named('c'), labelled({ zone: 'a' })),
    ];
    assert.deepEqual(summaryOf(nodes).metadata.labels, { os: 'linux', gpu: 'yes' });
  });
});

const node = fc.record({
  room: fc.record({
    cpu: fc.nat(8).map(String), memory: fc.nat(8).map((gib) => `${gib}Gi`), pods: fc.nat(3).map(String),
    'nvidia.com/gpu': fc.nat(2).map(String),
  }),
  change: fc.constantFrom<Change<Node>>(
    (same) => same, labelled({ zone: 'a' }), tainted({ key: 'k', effect: 'NoSchedule' }), cordoned(),
    withReady('False'), virtual,
  ),
});
const nodes = fc.array(node, { maxLength: 6 })
  .map((all) => all.map(({ room, change }, index) => aNode(named(`n${index}`), withAllocatable(room), change)));
const pod = fc.record({
  node: fc.nat(6), cpu: fc.nat(4).map(String),
  phase: fc.constantFrom<Pod['status']>({ phase: 'Running' }, { phase: 'Failed' }),
});
const pods = fc.array(pod, { maxLength: 10 }).map((all) => all.map(
  ({ node, cpu, phase }) => ({ ...aPod(onNode(`n${node}`), withRequests({ cpu })), status: phase ?? {} }),
));

describe('laws of the summary', () => {
  it('the free node shapes add up to what is free', () => {
    fc.assert(
      fc.property(nodes, pods, (nodes, pods) => {
        const summary = summaryOf(nodes, pods);
        assert.deepEqual(sumOfFreeShapes(summary), amountsOf(summary.free));
      }),
    );
  });

  it('there are as many nodes in the groups as may take pods', () => {
    fc.assert(
      fc.property(nodes, (nodes) => assert.equal(
        countNodes(summaryOf(nodes)), nodes.filter((node) => toTargetNodeRecord(node) !== undefined).length,
      )),
    );
  });

  it('nodes that may take no pods, and what is on them, change nothing', () => {
    fc.assert(
      fc.property(nodes, pods, (nodes, pods) => {
        const counting = nodes.filter((node) => toTargetNodeRecord(node) !== undefined);
        assert.deepEqual(summaryOf(nodes, pods), summaryOf(counting, pods));
      }),
    );
  });

  it('pods that have ended change nothing', () => {
    fc.assert(
      fc.property(nodes, pods, (nodes, pods) => assert.deepEqual(
        summaryOf(nodes, pods), summaryOf(nodes, pods.filter(({ status }) => status.phase === 'Running')),
      )),
    );
  });

  it('the order in which nodes and pods are known does not matter, so nothing is written for it', () => {
    fc.assert(
      fc.property(nodes, pods, (nodes, pods) => assert.equal(
        JSON.stringify(summaryOf(nodes.toReversed(), pods.toReversed())), JSON.stringify(summaryOf(nodes, pods)),
      )),
    );
  });

  it('never more is free than there is', () => {
    fc.assert(
      fc.property(nodes, pods, (nodes, pods) => {
        const { free, allocatable } = summaryOf(nodes, pods);
        const total = amountsOf(allocatable);
        for (const [resource, amount] of amountsOf(free)) {
          assert.ok(amount > 0 && amount <= (total.get(resource) ?? 0), resource);
        }
      }),
    );
  });
});

// The nodes of a sandbox cluster.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodesAreReady } from '../../../../sandbox/control-plane/control-plane.ts';
import { nodeObjects } from '../../../../sandbox/plan/node-objects.ts';
import { samplePlans, sampleTarget } from '../sample-plan.ts';

describe('nodeObjects', () => {
  it('makes the planned number, with distinct names', () => {
    assert.deepEqual(nodeObjects(sampleTarget()).map((node) => node.metadata.name), [
      'target-1-node-1', 'target-1-node-2', 'target-1-node-3',
    ]);
    assert.deepEqual(nodeObjects(samplePlans()[0]!), []);
  });

  it('gives each the promised room', () => {
    const [node] = nodeObjects(sampleTarget());
    assert.deepEqual(
      node!.status.allocatable, { cpu: '32', memory: '128Gi', pods: '110', 'ephemeral-storage': '100Gi' },
    );
    assert.deepEqual(node!.status.capacity, node!.status.allocatable);
  });

  it('adds GPUs only where there are some', () => {
    assert.equal(nodeObjects(sampleTarget({ gpus: 8 }))[0]!.status.allocatable['nvidia.com/gpu'], '8');
    assert.equal('nvidia.com/gpu' in nodeObjects(sampleTarget())[0]!.status.allocatable, false);
  });

  it('labels hostname, platform, region and zone', () => {
    const [first, second] = nodeObjects(sampleTarget());
    assert.deepEqual(first!.metadata.labels, {
      'kubernetes.io/hostname': 'target-1-node-1',
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      'node.kubernetes.io/instance-type': 'sandbox-32cpu-128gi',
      'topology.kubernetes.io/region': 'eu-west',
      'topology.kubernetes.io/zone': 'eu-west-a',
    });
    assert.equal(second!.metadata.labels['topology.kubernetes.io/zone'], 'eu-west-b');
  });

  it('marks them as kwok nodes', () => assert.equal(
    nodeObjects(sampleTarget())[0]!.metadata.annotations['kwok.x-k8s.io/node'], 'fake',
  ));
});

describe('nodesAreReady', () => {
  const ready =
    { status: { conditions: [{ type: 'MemoryPressure', status: 'False' }, { type: 'Ready', status: 'True' }] } };
  const rows: readonly (readonly [what: string, items: readonly object[], count: number, answer: boolean])[] = [
    ['no nodes are wanted', [], 0, true],
    ['all are ready', [ready, ready], 2, true],
    ['one is missing', [ready], 2, false],
    ['one is not ready', [ready, { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } }], 2, false],
    ['one has no status yet', [ready, {}], 2, false],
    [
      'one is still tainted', [ready, { ...ready, spec: { taints: [{ key: 'node.kubernetes.io/not-ready' }] } }], 2,
      false,
    ],
  ];
  for (const [what, items, count, answer] of rows) {
    it(`${answer ? 'yes' : 'no'} when ${what}`, () => assert.equal(nodesAreReady({ items }, count), answer));
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, PROVIDER_KEY, PROVIDER_VALUE, TARGET_NAME_LABEL, TARGET_NAMESPACE_LABEL,
} from '../../../../api/objects/keys.ts';
import { nodeFacts, targetFacts, targetRow } from '../../../../dashboard/headlamp/target-facts.ts';
import { toVirtualNode, toVirtualNodeStatus } from '../../../../virtual-node/node/virtual-node.ts';

const node = (labels: Readonly<Record<string, string>>, more: Omit<Node, 'metadata'> = {}): Node => (
  { metadata: { name: 'admiralty-eu', labels: { [PROVIDER_KEY]: PROVIDER_VALUE, ...labels } }, ...more }
);
const ofEu = { [CLUSTER_TARGET_NAME_LABEL]: 'eu' };
const ready = { type: 'TargetReady', status: 'True', reason: 'Ready', message: 'the target takes pods' } as const;
const lost = { type: 'TargetReady', status: 'False', reason: 'Unreachable', message: 'check its address' } as const;

describe('the facts of a virtual node', () => {
  it('are those that the virtual node controller writes', () => {
    for (const target of [
      { kind: 'ClusterTarget', name: 'eu' }, { kind: 'Target', namespace: 'team', name: 'us' },
    ] as const) {
      const problem = { reason: 'Unauthorized', message: 'renew the credentials' };
      const written = toVirtualNode(target, undefined);
      const status = toVirtualNodeStatus(
        undefined, { sourceId: 's', kubelet: undefined, problem }, undefined, '2026-01-01T10:00:00Z',
      );
      const amounts = { capacity: { cpu: '8' }, allocatable: { cpu: '4', pods: '9' } };
      assert.deepEqual(nodeFacts({ ...written, status: { ...status, ...amounts } }), {
        target, state: 'Unauthorized', message: 'renew the credentials', isCordoned: false,
        resources: [
          { name: 'cpu', capacity: '8', allocatable: '4' }, { name: 'pods', capacity: '', allocatable: '9' },
        ],
      });
    }
  });

  it('say whether it is ready and cordoned', () => {
    const shown = (conditions: NonNullable<Node['status']>['conditions'], unschedulable = false) => {
      const shownNode = node(ofEu, { spec: { unschedulable }, status: { conditions: conditions ?? [] } });
      const { state, isCordoned } = nodeFacts(shownNode) ?? {};
      return [state, isCordoned];
    };
    assert.deepEqual([shown([ready]), shown([lost], true), shown([])], [
      ['Ready', false], ['Unreachable', true], ['Unknown', false],
    ]);
  });

  for (const [what, labels] of [
    ['another provider', { ...ofEu, [PROVIDER_KEY]: 'aci' }], ['no target', {}],
    ['half a Target', { [TARGET_NAME_LABEL]: 'us' }], ['the other half', { [TARGET_NAMESPACE_LABEL]: 'team' }],
  ] as const) {
    it(`are none for a node of ${what}`, () => assert.equal(nodeFacts(node(labels)), undefined));
  }

  it('are none for a node without labels', () => assert.equal(nodeFacts({ metadata: { name: 'worker' } }), undefined));
});

const target = {
  metadata: { name: 'eu' }, spec: { prices: { memory: '0.004', cpu: '0.03' }, gateway: { cluster: 'eu-west' } },
  status: {
    conditions: [{ ...ready, type: 'Ready' }], free: { cpu: '12', memory: '40Gi', gpu: '0', pods: '100' }, rtt: '12ms',
    virtualNode: 'admiralty-eu', clusterID: '1f2e', delegation: 'PodChaperon', cordoned: true,
  },
} as const;

describe('a target', () => {
  it('is a row with its state and what is free', () => {
    assert.deepEqual(targetRow(target), {
      kind: 'ClusterTarget', namespace: undefined, name: 'eu', state: 'Ready', message: undefined,
      isCordoned: true, free: '12 CPU, 40Gi, 100 pods', rtt: '12ms', node: 'admiralty-eu',
    });
  });

  it('is a row before anything is known of it', () => {
    const { state, free, node, kind } = targetRow({ metadata: { namespace: 'team', name: 'us' }, spec: {} });
    assert.deepEqual([kind, state, free, node], ['Target', 'Unknown', '', undefined]);
  });

  it('adds to its virtual node what only it knows', () => {
    assert.deepEqual(targetFacts(target), [
      ['Free now', '12 CPU, 40Gi, 100 pods'], ['Round trip', '12ms'], ['Delegation', 'PodChaperon'],
      ['Gateway', 'eu-west'], ['Prices per hour', 'cpu 0.03, memory 0.004'], ['Cluster ID', '1f2e'],
    ]);
    assert.deepEqual(targetFacts({ metadata: { name: 'us' }, spec: {} }), []);
  });
});

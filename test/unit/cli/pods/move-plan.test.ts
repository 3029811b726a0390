import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, Pod } from '../../../../api/objects/core.ts';
import {
  ADMISSION_RECORD_ANNOTATION, ELECT_ANNOTATION, EXPIRES_AFTER_ANNOTATION, MOVE_LABEL,
} from '../../../../api/objects/keys.ts';
import { planMove, type Move } from '../../../../cli/pods/move-plan.ts';
import { virtualNodeName } from '../../../../model/naming/names.ts';

const target = { kind: 'ClusterTarget', name: 'eu' } as const;
const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'rs', controller: true };
const made: Pod = {
  metadata: { labels: { app: 'web' }, annotations: { [ELECT_ANNOTATION]: '' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
};
const pod: Pod = {
  metadata: {
    namespace: 'ns', name: 'web-1', uid: 'u', labels: { app: 'web' },
    annotations: { [ELECT_ANNOTATION]: '', [ADMISSION_RECORD_ANNOTATION]: '{"spec":{}}' },
    ownerReferences: [controller],
  },
  spec: {
    ...made.spec, schedulerName: 'admiralty-proxy', nodeName: virtualNodeName({ kind: 'ClusterTarget', name: 'us' }),
  },
  status: { phase: 'Running' },
};
const node: Node = {
  metadata: { name: virtualNodeName(target), labels: { 'kubernetes.io/hostname': 'host-of-eu' } },
  status: { conditions: [{ type: 'Ready', status: 'True' }, { type: 'TargetReady', status: 'True' }] },
};
const lost: Node = {
  ...node, status: { conditions: [{ type: 'Ready', status: 'True' }, { type: 'TargetReady', status: 'False' }] },
};
const base: Move = { pod, target, node, recreates: false, expiresAfter: 675 };
const unmanaged: Pod = { ...pod, metadata: { ...pod.metadata, ownerReferences: [] } };
const plan = (change: Partial<Move>) => planMove({ ...base, ...change }, 'x');

describe('a move', () => {
  it('evicts the pod, with a policy for those like it that lasts as long', () => {
    const planned = plan({});
    assert.ok(planned.kind === 'evict');
    assert.equal(planned.controller, 'rs');
    assert.deepEqual(planned.policy, {
      metadata: {
        namespace: 'ns', name: 'isthmus-move-x', labels: { [MOVE_LABEL]: 'true' },
        annotations: { [EXPIRES_AFTER_ANNOTATION]: '675' },
      },
      spec: {
        podSelector: { matchLabels: { app: 'web' } },
        require: { matchLabels: { 'kubernetes.io/hostname': 'host-of-eu' } },
      },
    });
  });

  it('selects by no label that only this pod has, and by no more than a policy takes', () => {
    const labels = {
      app: 'web', 'statefulset.kubernetes.io/pod-name': 'web-1', 'apps.kubernetes.io/pod-index': '1',
      'multicluster.admiralty.io/has-finalizer': 'true',
      ...Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`l${index}`, ''])),
    };
    const planned = plan({ pod: { ...pod, metadata: { ...pod.metadata, labels } } });
    const selected = planned.kind === 'evict' ? Object.keys(planned.policy.spec.podSelector?.matchLabels ?? {}) : [];
    assert.equal(selected.length, 16);
    assert.ok(selected.includes('app') && !selected.some((key) => /pod-name|pod-index|admiralty/.test(key)));
  });

  it('selects by no label that a pod gets from its node as it is bound', () => {
    const bound =
      { ...pod, metadata: { ...pod.metadata, labels: { app: 'web', 'topology.kubernetes.io/region': 'eu' } } };
    const planned = plan({ pod: bound });
    assert.deepEqual(planned.kind === 'evict' && planned.policy.spec.podSelector, { matchLabels: { app: 'web' } });
  });

  it('does nothing where the pod is there', () => assert.deepEqual(
    plan({ pod: { ...pod, spec: { ...pod.spec, nodeName: virtualNodeName(target) } } }), { kind: 'nothing' },
  ));

  it('makes a pod anew that nobody else would, where that is asked for, as its user made it', () => {
    const planned = plan({ pod: unmanaged, recreates: true });
    assert.deepEqual(planned.kind === 'recreate' && planned.pod, {
      apiVersion: 'v1', kind: 'Pod',
      metadata: { namespace: 'ns', name: 'web-1', labels: { app: 'web' }, annotations: { [ELECT_ANNOTATION]: '' } },
      spec: made.spec,
    });
  });

  const refused: Record<string, readonly [Partial<Move>, RegExp]> = {
    'that is not elected': [{ pod: { ...pod, spec: made.spec } }, /is not elected/],
    'that has ended': [{ pod: { ...pod, status: { phase: 'Succeeded' } } }, /has ended/],
    'that goes anyway': [
      { pod: { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } } }, /is being deleted/,
    ],
    'without a controller, unless it is asked for': [{ pod: unmanaged }, /--recreate/],
    'without a controller and without a record': [
      { pod: { ...unmanaged, metadata: { ...unmanaged.metadata, annotations: {} } }, recreates: true },
      /cannot be recreated/,
    ],
    'to the target of another namespace':
      [{ target: { kind: 'Target', namespace: 'other', name: 'eu' } }, /is for pods of namespace other, not of ns/],
    'to a target that is not there': [{ node: undefined }, /has no virtual node.*isthmus get targets/],
    'to a target that is cordoned': [{ node: { ...node, spec: { unschedulable: true } } }, /isthmus uncordon eu/],
    'to a target that is not Ready': [{ node: { ...node, status: {} } }, /is not Ready/],
    'to a target that is lost, whose virtual node stays Ready': [{ node: lost }, /is not Ready/],
  };
  for (const [what, [change, message]] of Object.entries(refused)) {
    it(`is refused for a pod ${what}`, () => {
      const planned = plan(change);
      assert.match(planned.kind === 'refuse' ? planned.message : planned.kind, message);
    });
  }
});

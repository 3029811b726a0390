import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod } from '../../../../api/objects/core.ts';
import { DELEGATE_FINALIZER, ELECT_ANNOTATION, SPEC_AT_BIND_ANNOTATION } from '../../../../api/objects/keys.ts';
import { PODS } from '../../../../api/resource-types.ts';
import { specDigests } from '../../../../model/pod/live-changes.ts';
import {
  holdsFinalizer, planFinalizerRemoval, planReleaseAtOnce, sourcePodOf, toProxyPodRecord, type ProxyPod,
} from '../../../../model/proxy/proxy-pod.ts';
import { SharedValues } from '../../../../model/objects/shared-values.ts';
import { haveOneHiddenClass } from '../../../support/rules/hidden-class.ts';
import {
  aPod, aProxy, aProxyRecord, annotated, frozen,
  inPhase, onNode, terminating, unschedulable, withCondition, withFinalizers, withMetadata, withoutAnnotation, withSpec,
  withStatus, type Change,
} from '../../../support/objects/builders.ts';

describe('toProxyPodRecord', () => {
  it('remembers no pod of anybody else', () => assert.equal(toProxyPodRecord(aPod()), undefined));
  it('remembers no pod that is elected but was not admitted by us', () => assert.equal(
    toProxyPodRecord(aPod(annotated({ [ELECT_ANNOTATION]: '' }))), undefined,
  ));
  it('remembers no pod that only uses our scheduler', () => assert.equal(
    toProxyPodRecord(aProxy(withoutAnnotation(ELECT_ANNOTATION))), undefined,
  ));

  const sorts: Record<string, readonly Change<Pod>[]> = {
    'that waits': [],
    'on a node': [onNode('virtual')],
    'of a ReplicaSet that is deleted': [
      onNode('virtual'), terminating(), withMetadata({
        generation: 2, deletionGracePeriodSeconds: 3,
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'r', controller: true }],
      }),
    ],
  };
  for (const [sort, changes] of Object.entries(sorts)) {
    it(`gives all records of a pod ${sort} one hidden class`, () => assert(haveOneHiddenClass(
      (index) => aProxyRecord(...changes, withMetadata({ name: `web-${index}`, uid: `uid-${index}` })),
    )));
  }

  it('shares what many pods have in common', () => {
    const shared = new SharedValues();
    const [one, other] = ['a', 'b'].map(
      (uid) => toProxyPodRecord(aProxy(onNode('virtual'), withMetadata({ uid })), 'team-a/web', shared),
    );
    for (const field of ['labels', 'finalizers', 'containers', 'annotations'] as const) {
      assert.equal(one?.[field], other?.[field], field);
    }
  });

  it('remembers who the pod is and when it came', () => {
    const { key, namespace, name, uid, resourceVersion, createdAt } = aProxyRecord();
    assert.deepEqual({ key, namespace, name, uid, resourceVersion, createdAt }, {
      key: 'team-a/web',
      namespace: 'team-a', name: 'web', uid: 'proxy-uid', resourceVersion: '1', createdAt: Date.UTC(2026, 0, 1),
    });
  });

  const cases: Record<string, readonly [change: Change<Pod>, remembered: Partial<Record<keyof ProxyPod, unknown>>]> = {
    'a pod without a status is pending': [withSpec({}), { phase: 'Pending' }],
    'a phase is remembered': [inPhase('Succeeded'), { phase: 'Succeeded' }],
    'a pod without a priority has 0': [withSpec({}), { priority: 0 }],
    'a priority is remembered': [withSpec({ priority: 100 }), { priority: 100 }],
    'a deleted pod is terminating': [terminating(), { terminating: true, isGracefulDeletion: false }],
    'a pod deleted with a grace period waits for a kubelet': [
      withMetadata({ deletionTimestamp: 'T', deletionGracePeriodSeconds: 30 }),
      { terminating: true, isGracefulDeletion: true, graceSeconds: 30 },
    ],
    'a pod deleted without one does not': [withMetadata({ deletionTimestamp: 'T', deletionGracePeriodSeconds: 0 }), {
      terminating: true, isGracefulDeletion: false,
    }],
    'a pod deleted with the grace period that it has is given no other': [
      (pod) => withMetadata({ deletionTimestamp: 'T', deletionGracePeriodSeconds: 30 })(
        withSpec({ terminationGracePeriodSeconds: 30 })(pod),
      ),
      { terminating: true, isGracefulDeletion: true, graceSeconds: undefined },
    ],
    'the label that a node gives its pod is no change by a user': [
      (pod) => withMetadata({ labels: { app: 'web', 'topology.kubernetes.io/zone': 'a' } })(
        annotated({ [SPEC_AT_BIND_ANNOTATION]: specDigests(pod.spec, { app: 'web' }) })(onNode('n')(pod)),
      ),
      { changes: undefined },
    ],
    'a pod with a scheduling gate is gated':
      [withSpec({ schedulingGates: [{ name: 'quota' }] }), { schedulingGated: true }],
    'a pod whose gates were all removed is not': [withSpec({ schedulingGates: [] }), { schedulingGated: false }],
    'finalizers of others are remembered too':
      [withFinalizers('a.io/x', DELEGATE_FINALIZER), { finalizers: ['a.io/x', DELEGATE_FINALIZER] }],
    'the containers of a bound pod are remembered':
      [(pod) => withSpec({ nodeName: 'n', initContainers: [{ name: 'init' }] })(pod), { containers: ['app', 'init'] }],
    'so are conditions of the source': [
      (pod) => withCondition({ type: 'a.io/gate', status: 'True' })(onNode('n')(pod)),
      { ownConditions: [{ type: 'a.io/gate', status: 'True' }] },
    ],
    'a pod with an empty node name is not bound': [onNode(''), { phase: 'Pending' }],
    'why it is not scheduled is remembered while it waits': [unschedulable('m'), {
      podScheduled: { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'm' },
    }],
  };
  for (const [sentence, [change, remembered]] of Object.entries(cases)) {
    it(sentence, () => {
      const record = aProxyRecord(change);
      for (const [field, value] of Object.entries(remembered)) {
        assert.deepEqual(record[field as keyof ProxyPod], value, field);
      }
    });
  }

  it('keeps what its source pod is made of until the pod is bound, and not the node', () => {
    const record = aProxyRecord();
    const restored = sourcePodOf(record);
    assert.deepEqual(
      restored.kind === 'restored' && restored.pod.spec, { containers: [{ name: 'app', image: 'app:1' }] },
    );
    assert.equal(record.nodeName, undefined);
  });

  it('keeps the node once the pod is bound, and neither the pod nor its condition', () => {
    const record = aProxyRecord(onNode('admiralty-c1'), unschedulable());
    assert.equal(record.nodeName, 'admiralty-c1');
    assert.equal(record.stored, undefined);
    assert.equal(record.podScheduled, undefined);
  });

  it('has the same digest as long as nothing that feedback mirrors changes', () => {
    const bound = onNode('admiralty-c1');
    const digest = aProxyRecord(bound, withStatus({ phase: 'Running' })).statusDigest;
    assert.equal(
      aProxyRecord(bound, withStatus({ phase: 'Running', nominatedNodeName: 'n', qosClass: 'Burstable' })).statusDigest,
      digest,
    );
    assert.notEqual(aProxyRecord(bound, withStatus({ phase: 'Failed' })).statusDigest, digest);
  });

  it('works out no digest of its status before it is bound', () => assert.equal(
    aProxyRecord().statusDigest, undefined,
  ));

  it('mutates nothing', () => assert.ok(toProxyPodRecord(frozen(aProxy(terminating(), onNode('n'))))));
});

describe('the finalizer', () => {
  it('is held as long as it is listed', () => {
    assert.equal(holdsFinalizer(aProxyRecord()), true);
    assert.equal(holdsFinalizer(aProxyRecord(withFinalizers('a.io/other'))), false);
  });

  it('is taken from this very version of the pod', () => {
    assert.deepEqual(planFinalizerRemoval(aProxyRecord()), [
      {
        kind: 'patch', type: PODS, at: { namespace: 'team-a', name: 'web' }, patchType: 'merge',
        patch: { metadata: { resourceVersion: '1', finalizers: [] } },
      },
    ]);
  });

  it('is taken after the grace period was ended, which changes the version', () => {
    const [end, take] = planReleaseAtOnce(aProxyRecord());
    assert.deepEqual(end, {
      kind: 'delete', type: PODS, at: { namespace: 'team-a', name: 'web' },
      preconditions: { uid: 'proxy-uid' }, propagation: 'Background', gracePeriodSeconds: 0,
    });
    assert.deepEqual(take?.kind === 'patch' && [take.patchType, take.patch], [
      'strategic', { metadata: { uid: 'proxy-uid', '$deleteFromPrimitiveList/finalizers': [DELEGATE_FINALIZER] } },
    ], 'whatever other finalizers there are by then');
  });

  it('goes alone: those of others stay, in their order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.constantFrom('a.io/x', 'b.io/y', 'orphan', DELEGATE_FINALIZER)), (finalizers) => {
        const [command] = planFinalizerRemoval(frozen(aProxyRecord(withFinalizers(...finalizers))));
        const { metadata } = (command?.kind === 'patch' ? command.patch : {}) as { metadata: { finalizers: string[] } };
        assert.deepEqual(metadata.finalizers, finalizers.filter((finalizer) => finalizer !== DELEGATE_FINALIZER));
      }),
    );
  });
});

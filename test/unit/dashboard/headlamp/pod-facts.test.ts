import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod } from '../../../../api/objects/core.ts';
import {
  DELEGATE_NAME_ANNOTATION, ELECT_ANNOTATION, PARENT_NAME_ANNOTATION, PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL,
  PLACEMENT_ANNOTATION, TARGET_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import { isDelegateOf, podFacts, targetOfPod } from '../../../../dashboard/headlamp/pod-facts.ts';
import { shownPod, unschedulable, type ShownPod } from '../../../support/objects/seen-pods.ts';

const proxy = (given: ShownPod = {}): Pod =>
  shownPod({ ...given, annotations: { [ELECT_ANNOTATION]: '', ...given.annotations } });
const bound = proxy({
  target: 'ClusterTarget/eu', annotations: {
    [DELEGATE_NAME_ANNOTATION]: 'web-1-abc',
    [PLACEMENT_ANNOTATION]: '{"target":"ClusterTarget/eu","score":7,"not":{"Target/team/us":"InsufficientRoom"}}',
  },
});
const delegate: Pod = {
  metadata: {
    namespace: 'shop', name: 'web-1-abc', uid: 'there', creationTimestamp: '2026-01-01T10:00:02Z',
    labels: { [PARENT_UID_LABEL]: 'uid-shop-web-1' },
    annotations: { [PARENT_NAME_ANNOTATION]: 'web-1', [PARENT_NAMESPACE_ANNOTATION]: 'shop' },
  },
  spec: { containers: [], nodeName: 'worker-7' },
  status: { conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-01T10:00:03Z' }] },
};

describe('the facts of a pod', () => {
  it('are nothing for one that is not elected', () => {
    assert.deepEqual(podFacts({ metadata: { name: 'web' }, spec: { containers: [] } }), { kind: 'other' });
  });

  it('say of an elected one that runs here all the same', () => {
    const pod = { metadata: { annotations: { [ELECT_ANNOTATION]: '' } }, spec: { containers: [] } };
    assert.deepEqual(podFacts(pod), { kind: 'missed' });
  });

  it('name the proxy pod of a delegate', () => {
    assert.deepEqual(podFacts(delegate), { kind: 'delegate', source: 'shop/web-1' });
  });

  it('name target, node, delegate and what was decided about a bound one', () => {
    const facts = podFacts(bound);
    assert.ok(facts.kind === 'proxy');
    const { target, node, waits } = facts;
    assert.deepEqual([target, node, facts.delegate, waits], ['eu', 'admiralty-eu', 'web-1-abc', undefined]);
    assert.deepEqual(facts.decision?.rejected, [{ target: 'team/us', reason: 'InsufficientRoom' }]);
  });

  it('say why one waits', () => {
    const facts = podFacts(proxy({ conditions: [unschedulable('0/2 targets have room')] }));
    assert.ok(facts.kind === 'proxy');
    assert.deepEqual([facts.target, facts.waits], [undefined, 'Unschedulable: 0/2 targets have room']);
    assert.equal(facts.stages.find(({ state }) => state === 'failed')?.title, 'Target chosen');
  });

  it('have the stages in the target where the delegate is known, and do not guess where not', () => {
    const nodeStage = (facts: ReturnType<typeof podFacts>) =>
      facts.kind === 'proxy' ? facts.stages.find(({ title }) => title === 'Scheduled to a node') : undefined;
    assert.equal(nodeStage(podFacts(bound, delegate))?.note, 'worker-7');
    assert.equal(nodeStage(podFacts(bound))?.note, undefined);
  });

  it('tell a broken record from a missing one', () => {
    for (const [record, isBroken] of [[undefined, false], ['{', true], ['[]', true]] as const) {
      const facts = podFacts(proxy({
        target: 'ClusterTarget/eu', annotations: record === undefined ? {} : { [PLACEMENT_ANNOTATION]: record },
      }));
      assert.equal(facts.kind === 'proxy' && facts.isRecordBroken, isBroken, record);
    }
  });

  it('are told of any annotations without an error', () => {
    fc.assert(fc.property(
      fc.dictionary(fc.constantFrom(
        ELECT_ANNOTATION, TARGET_ANNOTATION, DELEGATE_NAME_ANNOTATION, PLACEMENT_ANNOTATION, PARENT_NAME_ANNOTATION,
      ), fc.oneof(fc.string(), fc.json())),
      (annotations) => { podFacts(proxy({ annotations })); },
    ));
  });
});

describe('the target of a pod', () => {
  it('is that of a proxy pod alone: others may have the annotation as well', () => {
    assert.equal(targetOfPod(bound), 'eu');
    assert.equal(targetOfPod({ ...bound, spec: { ...bound.spec, schedulerName: 'default-scheduler' } }), undefined);
    assert.equal(targetOfPod(proxy()), undefined);
  });
});

describe('a delegate', () => {
  it('has the UID and the namespace of its proxy pod, and the name that the proxy pod knows', () => {
    assert.ok(isDelegateOf(delegate, bound));
    assert.ok(!isDelegateOf(delegate, proxy({ target: 'ClusterTarget/eu' })), 'before its name is known');
  });

  it('is no pod that only says so', () => {
    const renamed = { ...delegate, metadata: { ...delegate.metadata, name: 'web-1-forged' } };
    const elsewhere = { ...delegate, metadata: { ...delegate.metadata, namespace: 'other' } };
    const others = { ...delegate, metadata: { ...delegate.metadata, labels: { [PARENT_UID_LABEL]: 'other' } } };
    const forged = [renamed, elsewhere, others, bound].map((pod) => isDelegateOf(pod, bound));
    assert.deepEqual(forged, [false, false, false, false]);
  });

  it('is nobody of a proxy pod without a UID', () => {
    const { uid: _uid, ...metadata } = bound.metadata;
    const { labels: _labels, ...rest } = delegate.metadata;
    assert.ok(!isDelegateOf({ ...delegate, metadata: rest }, { ...bound, metadata }));
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Condition, PodPhase, PodStatus } from '../../../../api/objects/core.ts';
import {
  EXPIRED_AT_ANNOTATION, GRACE_PERIOD_ANNOTATION, TARGET_KEY_ANNOTATION, PARENT_NAME_ANNOTATION,
  PARENT_NAMESPACE_ANNOTATION, POD_MISSING_SINCE_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import {
  DELEGATE_REJECTED, toChaperonRecord, toDelegatePodRecord,
} from '../../../../model/delegate/cached-delegate.ts';
import { haveOneHiddenClass } from '../../../support/rules/hidden-class.ts';
import {
  aChaperon, aChaperonRecord, aDelegate, aDelegateRecord,
  annotated, aPod, frozen, scheduled, terminating, unschedulable, withMetadata, withoutAnnotation, withStatus,
} from '../../../support/objects/builders.ts';

describe('records of a target', () => {
  const named = (index: number) => withMetadata({ name: `web-${index}`, uid: `uid-${index}` });
  it('of delegates have one hidden class', () => assert(haveOneHiddenClass((index) => aDelegateRecord(named(index)))));
  it('of PodChaperons have one', () => assert(haveOneHiddenClass((index) => aChaperonRecord(named(index)))));
  it('of PodChaperons that have ended have one', () => assert(haveOneHiddenClass(
    (index) => aChaperonRecord(
      named(index), withStatus({ phase: 'Succeeded' }), annotated({
        [GRACE_PERIOD_ANNOTATION]: '3', [EXPIRED_AT_ANNOTATION]: 'T', [TARGET_KEY_ANNOTATION]: 'a',
      }),
    ),
  )));
});

describe('toDelegatePodRecord', () => {
  it('remembers no pod of the target itself', () => assert.equal(toDelegatePodRecord(aPod()), undefined));

  it('remembers whose delegate it is', () => {
    const { key, uid, resourceVersion, parentUid, parentKey } = aDelegateRecord();
    assert.deepEqual({ key, uid, resourceVersion, parentUid, parentKey }, {
      key: 'team-a/web-abc', uid: 'delegate-uid', resourceVersion: '1', parentUid: 'proxy-uid', parentKey: 'team-a/web',
    });
  });

  it('keeps its whole status', () => assert.deepEqual(
    aDelegateRecord(withStatus({ phase: 'Running', podIP: '10.0.0.1' })).status,
    { phase: 'Running', podIP: '10.0.0.1' },
  ));
  it('knows that it is going', () => assert.equal(aDelegateRecord(terminating()).terminating, true));
  it('knows that it stays', () => assert.equal(aDelegateRecord().terminating, false));
});

describe('toChaperonRecord', () => {
  for (const [what, change] of Object.entries({
    "the parent's UID": withMetadata({ labels: {} }),
    "the parent's name": withoutAnnotation(PARENT_NAME_ANNOTATION),
    "the parent's namespace": withoutAnnotation(PARENT_NAMESPACE_ANNOTATION),
  })) {
    it(`remembers none that lacks ${what}`, () => assert.equal(toChaperonRecord(aChaperon(change)), undefined));
  }

  it('remembers what it is called and whose it is', () => {
    assert.deepEqual(aChaperonRecord(), {
      key: 'team-a/web-abc', namespace: 'team-a', name: 'web-abc',
      uid: 'chaperon-uid', resourceVersion: '10', parentUid: 'proxy-uid', parentKey: 'team-a/web', mode: 'PodChaperon',
      createdAt: Date.UTC(2026, 0, 1), terminating: false, podMissing: false, verdict: { kind: 'pending' },
    });
  });

  it('knows that it is going', () => assert.equal(aChaperonRecord(terminating()).terminating, true));
  it('knows that its delegate has gone', () => assert.equal(
    aChaperonRecord(annotated({ [POD_MISSING_SINCE_ANNOTATION]: 'T' })).podMissing, true,
  ));
  it('mutates nothing', () => assert.ok(toChaperonRecord(frozen(aChaperon(scheduled())))));
});

function no(reason: string, message = 'm'): PodStatus {
  return { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason, message }] };
}

describe("the target's word", () => {
  const cases: Record<string, readonly [PodStatus | undefined, verdict: string]> = {
    'no status is no word yet': [undefined, 'pending'],
    'a pending pod without conditions is no word yet': [{ phase: 'Pending' }, 'pending'],
    'other conditions are no word':
      [{ phase: 'Pending', conditions: [{ type: 'Ready', status: 'False', reason: 'Unschedulable' }] }, 'pending'],
    'PodScheduled is a yes':
      [{ phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True' }] }, 'scheduled'],
    'Unschedulable is a no': [no('Unschedulable'), 'rejected'],
    'not while the claim of an ephemeral volume is about to be made': [
      no(
        'Unschedulable', '0/1 nodes are available: waiting for ephemeral volume controller to create the ' +
          'persistentvolumeclaim "web-abc-tmp". not found.',
      ), 'pending',
    ],
    'nor while it is about to be bound': [
      no('Unschedulable', '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.'), 'pending',
    ],
    'a gate of the target is a no that may become a yes': [no('SchedulingGated'), 'scheduling-gated'],
    'a rejection by admission is a no': [no(DELEGATE_REJECTED), 'rejected'],
    'an error of its scheduler passes': [no('SchedulerError'), 'pending'],
    'a condition that is unknown is no word':
      [{ conditions: [{ type: 'PodScheduled', status: 'Unknown' }] }, 'pending'],
    'a pod that runs was scheduled, whatever the condition says':
      [{ ...no('Unschedulable'), phase: 'Running' }, 'scheduled'],
    'a pod that ended was scheduled': [{ phase: 'Succeeded' }, 'scheduled'],
    'a pod whose node is lost was scheduled': [{ phase: 'Unknown' }, 'scheduled'],
  };
  for (const [sentence, [status, verdict]] of Object.entries(cases)) {
    it(sentence, () => {
      const change = withMetadata({});
      assert.equal(aChaperonRecord(status === undefined ? change : withStatus(status)).verdict.kind, verdict);
      const { status: _before, ...pod } = aDelegate();
      assert.equal(toDelegatePodRecord(status === undefined ? pod : { ...pod, status })?.verdict.kind, verdict);
    });
  }

  it('carries the reason and the message of a no', () => {
    assert.deepEqual(aDelegateRecord(unschedulable('0/3 nodes')).verdict, {
      kind: 'rejected', reason: 'Unschedulable', message: '0/3 nodes',
    });
  });

  it('is never a no once the pod has left Pending', () => {
    const phase = fc.constantFrom<PodPhase>('Running', 'Succeeded', 'Failed', 'Unknown');
    const condition = fc.record({
      type: fc.constantFrom('PodScheduled', 'Ready'),
      status: fc.constantFrom<Condition['status']>('True', 'False', 'Unknown'),
      reason: fc.constantFrom('Unschedulable', 'x'),
    });
    fc.assert(
      fc.property(phase, fc.array(condition), (phase, conditions) => {
        assert.equal(aDelegateRecord(withStatus({ phase, conditions })).verdict.kind, 'scheduled');
      }),
    );
  });
});

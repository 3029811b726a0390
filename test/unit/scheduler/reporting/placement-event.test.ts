import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { awaiting, failedScheduling, scheduled } from '../../../../scheduler/reporting/placement-event.ts';
import { aProxyRecord, frozen } from '../../../support/objects/builders.ts';

describe('failedScheduling', () => {
  it('tells of this very pod what each target said', () => {
    const event = failedScheduling(
      frozen(aProxyRecord()), [{ target: 'ClusterTarget/a', reason: 'NoNodes', message: 'it has none' }],
    );
    assert.deepEqual(event, {
      regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'team-a', name: 'web', uid: 'proxy-uid' },
      type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling',
      note: '0/1 targets are available: ClusterTarget/a: NoNodes: it has none.',
    });
  });

  it('says what to do where there is no target', () => assert.match(
    failedScheduling(aProxyRecord(), []).note, /isthmus peer/,
  ));
});

describe('awaiting', () => {
  it('tells by the reason of the condition what the pod waits for', () => {
    const event = awaiting(aProxyRecord(), { reason: 'AwaitingVerdict', message: 'ClusterTarget/a was asked' });
    assert.deepEqual(
      [event.type, event.reason, event.note], ['Warning', 'AwaitingVerdict', 'ClusterTarget/a was asked'],
    );
  });
});

describe('scheduled', () => {
  const record = {
    target: 'ClusterTarget/a', score: 0.912, not: { 'ClusterTarget/b': 'NoNodes', 'ClusterTarget/c': 'Cordoned' },
    more: 3,
  };

  it('names the node, the target with its score, and why not the others', () => {
    const event = scheduled(frozen(aProxyRecord()), 'admiralty-a', JSON.stringify(record));
    assert.deepEqual(
      [event.type, event.reason, event.action, event.regarding.uid], ['Normal', 'Scheduled', 'Binding', 'proxy-uid'],
    );
    assert.equal(
      event.note,
      'Successfully assigned team-a/web to admiralty-a: ClusterTarget/a is the best feasible target (score 0.912); ' +
        'not ClusterTarget/b: NoNodes, ClusterTarget/c: Cordoned and 3 more',
    );
  });

  it('says less where there was no choice, or the reasons are not known any more', () => {
    assert.match(
      scheduled(aProxyRecord(), 'n', JSON.stringify({ target: 'ClusterTarget/a', score: 1 })).note,
      /to n: ClusterTarget\/a is the best feasible target \(score 1\)$/,
    );
    assert.match(scheduled(aProxyRecord(), 'n', undefined).note, /^Successfully assigned team-a\/web to n$/);
  });
});

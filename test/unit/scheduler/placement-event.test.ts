import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failedScheduling } from '../../../scheduler/placement-event.ts';
import { aProxyRecord, frozen } from '../../support/builders.ts';

describe('failedScheduling', () => {
  it('tells of this very pod what each target said', () => {
    const event = failedScheduling(frozen(aProxyRecord()), [{ target: 'ClusterTarget/a', reason: 'NoNodes', message: 'it has none' }]);
    assert.deepEqual(event, {
      regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'team-a', name: 'web', uid: 'proxy-uid' },
      type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling',
      note: '0/1 targets can run this pod. ClusterTarget/a: NoNodes: it has none.',
    });
  });

  it('says what to do where there is no target', () => assert.match(failedScheduling(aProxyRecord(), []).note, /isthmus peer/));
});

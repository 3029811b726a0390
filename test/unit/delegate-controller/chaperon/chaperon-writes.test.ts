// The writes of a chaperon's plan: each names the version or the object that it was decided for.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  deletionOf, patchMetadata, patchStatus, versionOf,
} from '../../../../delegate-controller/chaperon/chaperon-writes.ts';
import { toTargetPodRecord } from '../../../../delegate-controller/target-cache/target-pod.ts';
import { aChaperon, aDelegate, withVersion } from '../../../support/objects/builders.ts';

const chaperon = aChaperon(withVersion('17'));

describe('the write of a status', () => {
  const write = patchStatus(chaperon, { phase: 'Running' });
  it('is to the subresource, in the version that was observed: a late one must not revert an end', () =>
    assert.deepEqual(write, {
      kind: 'patch', type: write.kind === 'patch' ? write.type : undefined, patchType: 'merge',
      at: { namespace: 'team-a', name: 'web-abc', subresource: 'status' },
      patch: { metadata: { resourceVersion: '17' }, status: { phase: 'Running' } },
    }));
});

describe('a write of metadata', () => {
  it('has only what it is given, so that preconditions are the choice of its caller', () => {
    const write = patchMetadata(chaperon, { ...versionOf(chaperon), annotations: { a: null } });
    assert.ok(write.kind === 'patch');
    assert.deepEqual(write.patch, { metadata: { resourceVersion: '17', annotations: { a: null } } });
    assert.deepEqual(write.at, { namespace: 'team-a', name: 'web-abc' });
  });
});

describe('the deletion of a delegate', () => {
  it('is that of this pod, not of a later one of its name', () => {
    const { at, preconditions } = deletionOf(toTargetPodRecord(aDelegate()));
    assert.deepEqual([at, preconditions], [{ namespace: 'team-a', name: 'web-abc' }, { uid: 'delegate-uid' }]);
  });
});

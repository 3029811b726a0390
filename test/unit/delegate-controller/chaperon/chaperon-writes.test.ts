// The writes of a chaperon's plan: each names the version or the object that it was decided for.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { RUN_ONCE_FINALIZER } from '../../../../api/objects/keys.ts';
import {
  deletionOf, patchMetadata, patchStatus, planRunOnceRemoval, versionOf,
} from '../../../../delegate-controller/chaperon/chaperon-writes.ts';
import { toTargetPodRecord } from '../../../../delegate-controller/target-cache/target-pod.ts';
import { aChaperon, aDelegate, afterMergePatch, withFinalizers, withVersion } from '../../../support/builders.ts';

const chaperon = aChaperon(withVersion('17'));
const finalized = (...finalizers: readonly string[]) =>
  toTargetPodRecord(aDelegate(withFinalizers(...finalizers), withVersion('42')));

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
    const { at, preconditions } = deletionOf(finalized());
    assert.deepEqual([at, preconditions], [{ namespace: 'team-a', name: 'web-abc' }, { uid: 'delegate-uid' }]);
  });
});

describe('the removal of the run-once finalizer', () => {
  it('is nothing without the finalizer', () => assert.deepEqual(
    planRunOnceRemoval(finalized('example.com/other')), [],
  ));
  it('removes our finalizer and keeps those of others in their order, in the version that was observed', () => {
    const other: fc.Arbitrary<string> = fc.constantFrom('example.com/a', 'example.com/b', 'example.com/c');
    fc.assert(fc.property(fc.uniqueArray(other), fc.nat({ max: 3 }), (others, at) => {
      const finalizers = others.toSpliced(at, 0, RUN_ONCE_FINALIZER);
      const [write, ...more] = planRunOnceRemoval(finalized(...finalizers));
      assert.ok(write?.kind === 'patch' && more.length === 0);
      const { metadata } = afterMergePatch({ metadata: { finalizers } }, write.patch) as
        { readonly metadata: { readonly finalizers: unknown; readonly resourceVersion: unknown } };
      assert.deepEqual(metadata, { finalizers: others, resourceVersion: '42' });
    }));
  });
});

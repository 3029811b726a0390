import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { PodSpec } from '../../../../api/objects/core.ts';
import {
  ELECT_ANNOTATION, ADMIRALTY_PREFIX, PARENT_NAME_ANNOTATION, PARENT_UID_LABEL, POD_MISSING_SINCE_ANNOTATION,
  SOURCE_MANIFEST_ANNOTATION, SOURCE_WATCHES_PODS_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import { toDelegatePod } from '../../../../delegate-controller/chaperon/make-delegate-pod.ts';
import { toTargetPodRecord } from '../../../../delegate-controller/target-cache/target-pod.ts';
import { isElected } from '../../../../model/pod/pod.ts';
import { aChaperon, annotated, frozen, labelled, withSpec, withStatus } from '../../../support/objects/builders.ts';

describe('toDelegatePod', () => {
  it("has its chaperon's name and namespace, and no identity of its own yet", () => {
    const { metadata } = toDelegatePod(frozen(aChaperon()));
    assert.deepEqual([metadata.namespace, metadata.name, metadata.uid, metadata.resourceVersion], [
      'team-a', 'web-abc', undefined, undefined,
    ]);
  });

  it('is controlled by its chaperon, which a foreground deletion waits for', () => {
    assert.deepEqual(toDelegatePod(aChaperon()).metadata.ownerReferences, [
      {
        apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'PodChaperon', name: 'web-abc', uid: 'chaperon-uid',
        controller: true, blockOwnerDeletion: true,
      },
    ]);
  });

  it('is recognised as made from that chaperon', () => assert.equal(
    toTargetPodRecord(toDelegatePod(aChaperon())).chaperonUid, 'chaperon-uid',
  ));
  it("carries the chaperon's labels", () => assert.deepEqual(
    toDelegatePod(aChaperon(labelled({ 'P/app': 'web' }))).metadata.labels,
    { [PARENT_UID_LABEL]: 'proxy-uid', 'P/app': 'web' },
  ));
  it("gets its overhead from the target's runtime class, which must be what it says", () => {
    const spec: PodSpec = { containers: [], runtimeClassName: 'sandboxed', overhead: { cpu: '250m' } };
    assert.deepEqual(toDelegatePod(aChaperon(withSpec(spec))).spec, { containers: [], runtimeClassName: 'sandboxed' });
  });
  it('carries no status', () => assert.equal(
    toDelegatePod(aChaperon(withStatus({ phase: 'Pending' }))).status, undefined,
  ));

  it('carries annotations of users and of its parent', () => {
    const { annotations } = toDelegatePod(aChaperon(annotated({ 'a.io/note': 'kept' }))).metadata;
    assert.equal(annotations?.['a.io/note'], 'kept');
    assert.equal(annotations?.[PARENT_NAME_ANNOTATION], 'web');
  });

  for (const key of [POD_MISSING_SINCE_ANNOTATION, SOURCE_WATCHES_PODS_ANNOTATION]) {
    it(`leaves ${key.slice(ADMIRALTY_PREFIX.length)} to the chaperon`, () => {
      assert.equal(
        Object.hasOwn(toDelegatePod(aChaperon(annotated({ [key]: 'x' }))).metadata.annotations ?? {}, key), false,
      );
    });
  }

  // A source that asks for it must not send a pod on to the next cluster.
  it('is never elected again', () => {
    const pod = toDelegatePod(aChaperon(annotated({ [ELECT_ANNOTATION]: '', [SOURCE_MANIFEST_ANNOTATION]: '{}' })));
    assert.equal(isElected(pod), false);
    assert.equal(pod.metadata.annotations?.[SOURCE_MANIFEST_ANNOTATION], undefined);
  });

  it('has the spec of its chaperon, fields that nobody here knows included', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (fields) => {
        const spec = frozen({ ...fields, containers: [] }) as PodSpec;
        assert.deepEqual(toDelegatePod({ ...aChaperon(), spec }).spec, spec);
      }),
    );
  });
});

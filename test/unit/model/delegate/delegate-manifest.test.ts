// What a delegate pod has of its chaperon's metadata: everything that is the user's, and nothing that would elect it
// again or that only the chaperon's controllers may read.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import * as keys from '../../../../api/objects/keys.ts';
import { toDelegateMeta } from '../../../../model/delegate/delegate-manifest.ts';
import { isElected } from '../../../../model/pod/pod.ts';
import { aChaperon, annotated, aPod, frozen, labelled, withMetadata } from '../../../support/objects/builders.ts';

/** Read on PodChaperons by the target's controllers; on a pod they would mean nothing, or mislead. */
const OF_CHAPERONS = [
  keys.SENT_CHANGES_ANNOTATION, keys.GRACE_PERIOD_ANNOTATION, keys.POD_MISSING_SINCE_ANNOTATION,
  keys.SOURCE_WATCHES_PODS_ANNOTATION, keys.FENCE_ANNOTATION, keys.FENCED_AT_ANNOTATION,
  keys.STREAMS_REQUESTED_ANNOTATION,
];

describe('the metadata of a delegate', () => {
  it('never elects it: a delegate is not delegated again, whatever a source writes', () => {
    const source = aChaperon(annotated({ [keys.ELECT_ANNOTATION]: '', [keys.SOURCE_MANIFEST_ANNOTATION]: 'x' }));
    const delegate = aPod(withMetadata(toDelegateMeta(source)));
    assert.equal(isElected(delegate), false);
    assert.equal(Object.hasOwn(delegate.metadata.annotations ?? {}, keys.SOURCE_MANIFEST_ANNOTATION), false);
  });
  for (const key of OF_CHAPERONS) {
    it(`lacks ${key}`, () =>
      assert.equal(Object.hasOwn(toDelegateMeta(aChaperon(annotated({ [key]: 'x' }))).annotations ?? {}, key), false));
  }
  it('has name, namespace, labels and all annotations of the user', () => {
    const own = fc.dictionary(fc.stringMatching(/^[a-z]{1,4}(\/[a-z]{1,4})?$/), fc.string(), { noNullPrototype: true });
    fc.assert(fc.property(own, own, (labels, annotations) => {
      const { metadata } = aChaperon();
      const meta = toDelegateMeta(frozen(aChaperon(labelled(labels), annotated(annotations))));
      assert.deepEqual(meta.labels, { ...metadata.labels, ...labels });
      for (const [key, value] of Object.entries(annotations)) assert.equal(meta.annotations?.[key], value);
      assert.deepEqual([meta.namespace, meta.name], ['team-a', 'web-abc']);
    }));
  });
  it('has nothing that only stored objects have: no UID, version, owner or finalizer of the chaperon', () => {
    const owner = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u' };
    const source = aChaperon(withMetadata({ ownerReferences: [owner], finalizers: ['a/b'], generation: 3 }));
    assert.deepEqual(Object.keys(toDelegateMeta(source)).toSorted(), ['annotations', 'labels', 'name', 'namespace']);
  });
  it('has no empty maps where the chaperon has none', () => {
    const source = { ...aChaperon(), metadata: { namespace: 'n', name: 'x' } };
    assert.deepEqual(toDelegateMeta(source), { namespace: 'n', name: 'x' });
  });
});

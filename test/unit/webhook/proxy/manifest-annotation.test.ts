// The copy of the source manifest: written where it fits, once, and never at the cost of the pod.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod } from '../../../../api/objects/core.ts';
import { SOURCE_MANIFEST_ANNOTATION } from '../../../../api/objects/keys.ts';
import { restoreManifest } from '../../../../model/proxy/source-manifest.ts';
import { storedManifest } from '../../../../webhook/proxy/manifest-annotation.ts';
import { annotated, aPod, frozen } from '../../../support/objects/builders.ts';

/** API servers refuse objects whose annotations have more bytes, keys included. */
const LIMIT = 256 * 1024;
/** What Isthmus writes later: the record, the placement, and annotations of the delegate. */
const LATER = 16 * 1024;

const bytesOf = (pod: Pod): number => Object.entries(pod.metadata.annotations ?? {})
  .reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);

describe('the manifest of a source pod', () => {
  const source = frozen(aPod(annotated({ 'example.com/team': 'müller' })));

  it('reads back as the pod, without a warning', () => {
    const { text, warnings } = storedManifest(source, source);
    assert.deepEqual([restoreManifest(text ?? ''), warnings], [source, []]);
  });
  it('is taken from the source pod, not from the pod beside it', () => {
    const { text = '' } = storedManifest(aPod(annotated({ 'example.com/other': '' })), source);
    assert.deepEqual(restoreManifest(text), source);
  });
  it('is left as it is when there is one, even an empty one', () => {
    for (const there of ['', 'kind: Pod', 'x'.repeat(LIMIT)]) {
      const pod = aPod(annotated({ [SOURCE_MANIFEST_ANNOTATION]: there }));
      assert.deepEqual(storedManifest(pod, source), { text: there, warnings: [] });
    }
  });
  it('is omitted where it does not fit, and its user is told which annotation is missing', () => {
    const large = aPod(annotated({ 'example.com/data': 'x'.repeat(LIMIT / 2) }));
    const { text, warnings } = storedManifest(large, large);
    assert.equal(text, undefined);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', new RegExp(`^annotation ${SOURCE_MANIFEST_ANNOTATION} is omitted`));
  });
});

describe('whatever annotations a pod has', () => {
  // of one, two and three bytes in UTF-8: a limit in characters would be met by too many bytes
  const character = fc.constantFrom('x', 'é', '€', '"');
  const annotations = fc.dictionary(
    fc.stringMatching(/^[a-z]{1,8}$/), fc.tuple(character, fc.integer({ min: 0, max: LIMIT / 2 }))
      .map(([text, count]) => text.repeat(count / Buffer.byteLength(text))),
    { maxKeys: 3, noNullPrototype: true },
  );

  it('there is room for all later ones exactly when the manifest is stored', () => {
    fc.assert(fc.property(annotations, (some) => {
      const pod = { ...aPod(), metadata: { name: 'web', annotations: some } };
      const { text, warnings } = storedManifest(pod, pod);
      const needed = bytesOf(pod) + Buffer.byteLength(JSON.stringify(pod)) + LATER;
      assert.equal(text !== undefined, needed <= LIMIT, `${needed} of ${LIMIT} bytes`);
      assert.equal(warnings.length, text === undefined ? 1 : 0);
    }), { numRuns: 60 });
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { StringMap } from '../../../api/core.ts';
import { DELEGATE_ANNOTATIONS_ANNOTATION, ELECT_ANNOTATION } from '../../../api/keys.ts';
import { foreignAnnotations, takenKeys, toAnnotationPatch } from '../../../model/foreign-annotations.ts';
import { afterMergePatch } from '../../support/builders.ts';

describe('foreignAnnotations', () => {
  it("leaves out ours and Kubernetes' own", () => {
    const annotations = { [ELECT_ANNOTATION]: '', 'kubectl.kubernetes.io/x': '1', 'node.k8s.io/x': '2', mine: '3', 'notkubernetes.io/x': '4' };
    assert.deepEqual(foreignAnnotations({ annotations }), { mine: '3', 'notkubernetes.io/x': '4' });
  });

  it('is one value for equal ones', () => {
    assert.equal(foreignAnnotations({ annotations: { a: '1' } }), foreignAnnotations({ annotations: { a: '1' } }));
  });

  it('does not keep long values', () => assert.ok((foreignAnnotations({ annotations: { a: 'x'.repeat(10_000) } })['a']?.length ?? 0) < 100));
});

describe('takenKeys', () => {
  const cases: Record<string, readonly [text: string | undefined, keys: readonly string[] | undefined]> = {
    'nothing': [undefined, undefined], 'keys': ['["a","b"]', ['a', 'b']], 'no JSON': ['x', undefined], 'no list': ['{}', undefined], 'no texts': ['[1]', undefined],
  };
  for (const [what, [text, keys]] of Object.entries(cases)) {
    it(`reads ${what}`, () => assert.deepEqual(takenKeys({ annotations: text === undefined ? {} : { [DELEGATE_ANNOTATIONS_ANNOTATION]: text } }), keys));
  }
});

describe('toAnnotationPatch', () => {
  const cases: Record<string, readonly [proxy: StringMap, taken: readonly string[], delegate: StringMap, patch: object | undefined]> = {
    'takes what the proxy lacks': [{}, [], { ip: '1' }, { ip: '1', [DELEGATE_ANNOTATIONS_ANNOTATION]: '["ip"]' }],
    "leaves the user's": [{ a: 'mine' }, [], { a: 'theirs' }, undefined],
    'follows what it took': [{ ip: '1' }, ['ip'], { ip: '2' }, { ip: '2', [DELEGATE_ANNOTATIONS_ANNOTATION]: '["ip"]' }],
    'gives back what has gone': [{ ip: '1' }, ['ip'], {}, { ip: null, [DELEGATE_ANNOTATIONS_ANNOTATION]: null }],
    'has nothing to do twice': [{ ip: '1' }, ['ip'], { ip: '1' }, undefined],
  };
  for (const [what, [proxy, taken, delegate, patch]] of Object.entries(cases)) it(what, () => assert.deepEqual(toAnnotationPatch(proxy, taken, delegate), patch));

  const maps = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('1', '2'));
  it('comes to rest after one patch, and the user never loses a key', () => {
    fc.assert(fc.property(maps, maps, (proxy, delegate) => {
      const patch = toAnnotationPatch(proxy, [], delegate);
      const after = afterMergePatch(proxy, patch ?? {}) as StringMap;
      for (const [key, value] of Object.entries(proxy)) assert.equal(after[key], value);
      assert.equal(toAnnotationPatch(after, takenKeys({ annotations: after }), delegate), undefined);
    }));
  });
});

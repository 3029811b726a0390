import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod } from '../../../../api/objects/core.ts';
import { restoreManifest, saveManifest } from '../../../../model/proxy/source-manifest.ts';
import { aPod, annotated, frozen, withRequests } from '../../../support/objects/builders.ts';

describe('source manifest', () => {
  it('gives back any pod that was saved, known fields or not', () => {
    fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()),
      fc.dictionary(fc.string(), fc.jsonValue()), (inSpec, inMetadata) => {
      const { labels: _labels, annotations: _annotations, ...metadata } = inMetadata;
      const pod = { ...aPod(), metadata: { ...metadata, name: 'x' }, spec: { ...inSpec, containers: [] } } as Pod;
      // once more through JSON, which has no -0
      assert.deepEqual(restoreManifest(saveManifest(pod)), JSON.parse(JSON.stringify(pod)));
    }));
  });

  const pod = frozen(aPod(annotated({ 'a.io/note': 'quote " and line\nbreak' }), withRequests({ cpu: '1' })));
  const read: Record<string, readonly [manifest: string, pod: unknown]> = {
    'JSON': [saveManifest(pod), pod],
    'YAML, as Admiralty writes it': ['metadata:\n  name: web\nspec:\n  containers:\n  - name: app\n', {
      metadata: { name: 'web' }, spec: { containers: [{ name: 'app' }] },
    }],
  };
  for (const [what, [manifest, expected]] of Object.entries(read)) {
    it(`reads ${what}`, () => assert.deepEqual(restoreManifest(manifest), expected));
  }

  it('does not take names of object properties for the real thing', () => {
    assert.equal(
      restoreManifest('{"metadata":{},"spec":{"containers":[],"__proto__":{"nodeName":"n"}}}')?.spec.nodeName,
      undefined,
    );
  });

  const rejected: Record<string, string> = {
    'text that is neither JSON nor YAML': '{"metadata',
    'nothing': '',
    'a text': '"pod"',
    'null': 'null',
    'a list': '[]',
    'a pod without metadata': '{"spec":{"containers":[]}}',
    'a pod without a spec': '{"metadata":{}}',
    'a pod whose spec is null': '{"metadata":{},"spec":null}',
    'a pod whose labels are a text': '{"metadata":{"labels":"x"},"spec":{"containers":[]}}',
    'a pod whose annotations are null': '{"metadata":{"annotations":null},"spec":{"containers":[]}}',
    'YAML whose aliases grow':
      'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nmetadata: ' +
        '{}\nspec: {x: *c}\n',
  };
  for (const [what, manifest] of Object.entries(rejected)) {
    it(`finds no pod in ${what}`, () => assert.equal(restoreManifest(manifest), undefined));
  }
});

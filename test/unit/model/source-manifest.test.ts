import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod } from '../../../api/core.ts';
import { restoreSourcePod, saveSourceManifest } from '../../../model/source-manifest.ts';
import { aPod, annotated, frozen, withRequests } from '../../support/builders.ts';

describe('source manifest', () => {
  it('gives back the pod that was saved', () => {
    const pod = frozen(aPod(annotated({ 'a.io/note': 'quote " and line\nbreak' }), withRequests({ cpu: '1' })));
    assert.deepEqual(restoreSourcePod(saveSourceManifest(pod)), { kind: 'restored', pod });
  });

  it('gives back any JSON that a pod may hold, known fields or not', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()), (inSpec, inMetadata) => {
        const pod = { ...aPod(), metadata: { ...inMetadata, name: 'x' }, spec: { ...inSpec, containers: [] } } as Pod;
        const restored = restoreSourcePod(saveSourceManifest(pod));
        // Once more through JSON, which has no -0.
        assert.deepEqual(restored, { kind: 'restored', pod: JSON.parse(JSON.stringify(pod)) as unknown });
      }),
    );
  });

  it('does not take names of object properties for the real thing', () => {
    const restored = restoreSourcePod('{"metadata":{},"spec":{"containers":[],"__proto__":{"nodeName":"n"}}}');
    assert.equal(restored.kind === 'restored' ? restored.pod.spec.nodeName : 'invalid', undefined);
  });

  const refused: Record<string, string> = {
    'text that is no JSON': 'metadata: {}',
    'nothing': '',
    'a text': '"pod"',
    'null': 'null',
    'a list': '[]',
    'a pod without metadata': '{"spec":{"containers":[]}}',
    'a pod without a spec': '{"metadata":{}}',
    'a pod whose spec is null': '{"metadata":{},"spec":null}',
    'a pod without containers': '{"metadata":{},"spec":{}}',
    'a pod whose containers are no list': '{"metadata":{},"spec":{"containers":{}}}',
    'a pod whose container is null': '{"metadata":{},"spec":{"containers":[null]}}',
    'a pod whose init container is a text': '{"metadata":{},"spec":{"containers":[],"initContainers":["x"]}}',
    'a pod whose labels are a text': '{"metadata":{"labels":"x"},"spec":{"containers":[]}}',
    'a pod whose annotations are null': '{"metadata":{"annotations":null},"spec":{"containers":[]}}',
  };
  for (const [what, manifest] of Object.entries(refused)) {
    it(`refuses ${what} and says what to do`, () => {
      const restored = restoreSourcePod(manifest);
      assert.equal(restored.kind, 'invalid');
      assert.match(restored.kind === 'invalid' ? restored.message : '', /sourcepod-manifest.*delete the pod and create it again/);
    });
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { StringMap } from '../../../../api/objects/core.ts';
import { DELEGATE_ANNOTATIONS_ANNOTATION, ELECT_ANNOTATION } from '../../../../api/objects/keys.ts';
import {
  copiedAnnotationKeys, copyableAnnotations, toAnnotationPatch,
} from '../../../../model/proxy/copied-annotations.ts';
import { afterMergePatch } from '../../../support/objects/builders.ts';

describe('copyableAnnotations', () => {
  it("leaves out ours and Kubernetes' own", () => {
    const annotations = {
      [ELECT_ANNOTATION]: '', 'kubectl.kubernetes.io/x': '1', 'node.k8s.io/x': '2', mine: '3',
      'notkubernetes.io/x': '4',
    };
    assert.deepEqual(copyableAnnotations({ annotations }), { mine: '3', 'notkubernetes.io/x': '4' });
  });

  it('is one value for equal ones', () => {
    assert.equal(copyableAnnotations({ annotations: { a: '1' } }), copyableAnnotations({ annotations: { a: '1' } }));
  });

  it('does not keep long values', () => assert.ok(
    (copyableAnnotations({ annotations: { a: 'x'.repeat(10_000) } })['a']?.length ?? 0) < 100,
  ));
});

describe('annotations that something in the source acts on', () => {
  const acted = [
    'k8s.v1.cni.cncf.io/networks', 'cni.projectcalico.org/ipAddrs', 'io.cilium.io/x',
    'sidecar.istio.io/inject', 'linkerd.io/inject', 'vault.hashicorp.com/agent-inject', 'prometheus.io/scrape',
    'pre.hook.backup.velero.io/command', 'karpenter.sh/do-not-disrupt', 'vpc.amazonaws.com/pod-eni',
    'kueue.x-k8s.io/x', 'isthmus.dev/placement', 'cluster-autoscaler.kubernetes.io/safe-to-evict',
  ];
  for (const key of acted) {
    it(`are not taken over: ${key}`, () => assert.equal(toAnnotationPatch({}, [], { [key]: 'x' }), undefined));
  }
  for (const key of ['example.com/ip', 'notes', 'myistio.io/x', 'team.example.org/a.b-c']) {
    it(`are taken over where nobody does: ${key}`, () => assert.equal(
      toAnnotationPatch({}, [], { [key]: 'x' })?.[key], 'x',
    ));
  }
  for (const key of ['a b', '/x', 'a/b/c', 'A.io/x', '-x', 'x'.repeat(64), `${'a.'.repeat(200)}io/x`]) {
    it(`and keys that an API server rejects are not: ${key.slice(0, 20)}`, () => assert.equal(
      toAnnotationPatch({}, [], { [key]: 'x' }), undefined,
    ));
  }

  it('of all of them little is taken over, so that the proxy still fits', () => {
    const patch = toAnnotationPatch(
      {}, [], Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`k${index}`, 'x'.repeat(4_000)])),
    );
    assert.ok(JSON.stringify(patch).length < 20_000);
  });
});

describe('copiedAnnotationKeys', () => {
  const cases: Record<string, readonly [text: string | undefined, keys: readonly string[] | undefined]> = {
    'nothing': [undefined, undefined], 'keys': ['["a","b"]', ['a', 'b']],
    'no JSON': ['x', undefined], 'no list': ['{}', undefined], 'no texts': ['[1]', undefined],
  };
  for (const [what, [text, keys]] of Object.entries(cases)) {
    it(`reads ${what}`, () => {
      const annotations = text === undefined ? {} : { [DELEGATE_ANNOTATIONS_ANNOTATION]: text };
      assert.deepEqual(copiedAnnotationKeys({ annotations }), keys);
    });
  }
});

describe('toAnnotationPatch', () => {
  const cases: Record<
    string, readonly [proxy: StringMap, taken: readonly string[], delegate: StringMap, patch: object | undefined]
  > = {
    'takes what the proxy lacks': [{}, [], { ip: '1' }, { ip: '1', [DELEGATE_ANNOTATIONS_ANNOTATION]: '["ip"]' }],
    "leaves the user's": [{ a: 'mine' }, [], { a: 'theirs' }, undefined],
    'follows what it took':
      [{ ip: '1' }, ['ip'], { ip: '2' }, { ip: '2', [DELEGATE_ANNOTATIONS_ANNOTATION]: '["ip"]' }],
    'gives back what has gone': [{ ip: '1' }, ['ip'], {}, { ip: null, [DELEGATE_ANNOTATIONS_ANNOTATION]: null }],
    'has nothing to do twice': [{ ip: '1' }, ['ip'], { ip: '1' }, undefined],
  };
  for (const [what, [proxy, taken, delegate, patch]] of Object.entries(cases)) {
    it(what, () => assert.deepEqual(toAnnotationPatch(proxy, taken, delegate), patch));
  }

  const maps = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('1', '2'));
  it('comes to rest after one patch, and the user never loses a key', () => {
    fc.assert(fc.property(maps, maps, (proxy, delegate) => {
      const patch = toAnnotationPatch(proxy, [], delegate);
      const after = afterMergePatch(proxy, patch ?? {}) as StringMap;
      for (const [key, value] of Object.entries(proxy)) assert.equal(after[key], value);
      assert.equal(toAnnotationPatch(after, copiedAnnotationKeys({ annotations: after }), delegate), undefined);
    }));
  });
});

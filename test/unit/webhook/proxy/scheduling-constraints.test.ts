// Which constraints choose the cluster of an elected pod, and what its user is told of those that cannot be read.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { stringify } from 'yaml';
import type { Pod, PodSpec, Toleration } from '../../../../api/objects/core.ts';
import { PROXY_CONSTRAINTS_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION } from '../../../../api/objects/keys.ts';
import { FOR_KUBECTL } from '../../../../model/objects/yaml-limits.ts';
import { constraintsOf } from '../../../../webhook/proxy/scheduling-constraints.ts';
import { annotated, aPod, frozen, withSpec } from '../../../support/objects/builders.ts';

const OWN: Partial<PodSpec> = {
  nodeSelector: { disk: 'ssd' }, affinity: { nodeAffinity: {} }, tolerations: [{ key: 'gpu', operator: 'Exists' }],
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
};
const byAnnotation = (text: string): Pod => frozen(aPod(withSpec(OWN),
  annotated({ [PROXY_CONSTRAINTS_ANNOTATION]: text })));
const bySpec = (spec: Partial<PodSpec>): Pod => aPod(withSpec(spec),
  annotated({ [USE_SPEC_CONSTRAINTS_ANNOTATION]: '' }));
const read = (text: string): unknown => constraintsOf(byAnnotation(text));

describe('the cluster of a pod is chosen', () => {
  it('without constraints when no annotation names any: those of its spec are for nodes', () =>
    assert.deepEqual(constraintsOf(aPod(withSpec(OWN))), { kind: 'constraints', constraints: {}, warnings: [] }));
  it('by the constraints of its spec when an annotation says so, with any value', () =>
    assert.deepEqual(constraintsOf(bySpec(OWN)), { kind: 'constraints', constraints: OWN, warnings: [] }));
  it('by those of the annotation alone when there is one, even an empty one', () => {
    for (const text of ['', '{}', '# nothing', 'null']) {
      assert.deepEqual(read(text), { kind: 'constraints', constraints: {}, warnings: [] }, text);
    }
  });
  it('by no field of the annotation that is null: it is as if it were not there', () =>
    assert.deepEqual(read('{nodeSelector: null, tolerations: [{key: a}]}'), {
      kind: 'constraints', constraints: { tolerations: [{ key: 'a' }] }, warnings: [],
    }));
});

describe('constraints without the quotes that kubectl wants', () => {
  it('are read as Admiralty reads them: numbers, truth values and empty values as text', () => {
    const text = `
nodeSelector: {gpu: true, zone: 1, version: 1.30, fast: yes, mode: 0400, empty: }
tolerations: [{key: 1, value: true, tolerationSeconds: 30}]
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [1, no, x]}]}]
topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, labelSelector: {matchLabels: {1: 2}}}]`;
    const nodeSelectorTerms = [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['1', 'false', 'x'] }] }];
    assert.deepEqual(read(text), {
      kind: 'constraints', warnings: [],
      constraints: {
        nodeSelector: { gpu: 'true', zone: '1', version: '1.3', fast: 'true', mode: '256', empty: '' },
        tolerations: [{ key: '1', value: 'true', tolerationSeconds: 30 }],
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'a', labelSelector: { matchLabels: { 1: '2' } } }],
      },
    });
  });
});

describe('tolerations of the spec', () => {
  const defaulted: readonly Toleration[] = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map(
    (key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }),
  );
  const tolerationsOf = (tolerations: readonly Toleration[]): unknown => {
    const found = constraintsOf(bySpec({ tolerations }));
    return found.kind === 'constraints' ? found.constraints.tolerations : found;
  };

  it('lack those that every pod gets from the API server', () => {
    const own: Toleration = { key: 'gpu', operator: 'Exists' };
    assert.deepEqual(tolerationsOf([...defaulted, own]), [own]);
  });
  it('keep those that differ from the default in anything: a user wrote them', () => {
    const own = defaulted.flatMap(({ tolerationSeconds: _seconds, ...forever }): Toleration[] => [
      forever, { ...forever, tolerationSeconds: 60 }, { ...forever, effect: 'NoSchedule', tolerationSeconds: 300 },
      { ...forever, operator: 'Equal', tolerationSeconds: 300 },
      { ...forever, key: 'node.kubernetes.io/disk-pressure', tolerationSeconds: 300 },
    ]);
    assert.deepEqual(tolerationsOf(own), own);
  });
});

describe('an annotation is denied, and its user is told why', () => {
  const rows: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
    'that is not YAML': ['{nodeSelector: ', /is not valid YAML/],
    'with a key twice, of which one would be lost': ['nodeSelector: {a: b}\nnodeSelector: {}', /is not valid YAML/],
    'of two documents': ['a: b\n---\nc: d', /is not valid YAML/],
    'that is a list': ['[]', /is not a mapping of fields/],
    'that is a text': ['gpu', /is not a mapping of fields/],
    'with a misspelt field': ['nodeSelectors: {a: b}', /has an unknown field nodeSelectors/],
    'with a misspelt field within': ['tolerations: [{keys: a}]', /has an unknown field tolerations\[0\]\.keys/],
    'with a mapping where Kubernetes has text': ['nodeSelector: {a: {b: c}}', /strings by key in nodeSelector/],
    'with text where Kubernetes has a number': ['tolerations: [{tolerationSeconds: "1"}]', /must have a number in tol/],
    'that is far too long': [`# ${'x'.repeat(32_768)}`, /has 32770 characters; at most 32768 are allowed/],
    'that grows by aliases': [
      `a: &a [x,x]\nb: &b [${'*a,'.repeat(20)}]\ntolerations: [${'*b,'.repeat(20)}]`, /is not valid YAML/,
    ],
  };
  for (const [name, [text, message]] of Object.entries(rows)) {
    it(name, () => {
      const answer = constraintsOf(byAnnotation(text));
      assert.ok(answer.kind === 'deny', JSON.stringify(answer));
      assert.equal(answer.reason, 'BadConstraints');
      assert.match(answer.message, message);
      assert.match(answer.message, /it takes nodeSelector, tolerations, affinity and topologySpreadConstraints/);
      assert.equal(answer.message.includes('\n'), false, 'one line: kubectl prints it as a status message');
    });
  }
});

describe('fields of a pod that do not choose a cluster', () => {
  it('are ignored with a warning each, in their order, and reach no proxy pod', () => {
    const answer = constraintsOf(byAnnotation('{priority: 1, nodeSelector: {a: b}, hostNetwork: true}'));
    assert.ok(answer.kind === 'constraints');
    assert.deepEqual(answer.constraints, { nodeSelector: { a: 'b' } });
    assert.deepEqual(answer.warnings.map((text) => /field (\w+) does not affect/.exec(text)?.[1]),
      ['priority', 'hostNetwork']);
  });
});

describe('constraints written as YAML or as JSON', () => {
  const text = fc.stringMatching(/^[a-zA-Z0-9._/ -]{1,12}$/);
  const map = fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: true });
  const toleration = fc.record(
    { key: text, operator: fc.constantFrom('Exists', 'Equal'), value: text, tolerationSeconds: fc.integer() },
    { requiredKeys: [], noNullPrototype: true },
  );
  const constraints = fc.record(
    { nodeSelector: map, tolerations: fc.array(toleration, { maxLength: 3 }) },
      { requiredKeys: [], noNullPrototype: true },
  );

  it('are read as they were written', () => {
    fc.assert(fc.property(constraints, (wanted) => {
      for (const written of [stringify(wanted, FOR_KUBECTL), JSON.stringify(wanted)]) {
        assert.deepEqual(read(written), { kind: 'constraints', constraints: wanted, warnings: [] }, written);
      }
    }), { numRuns: 150 });
  });
  it('never throw and never pollute, whatever is in the annotation', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json(), fc.constant('{"__proto__": {"x": 1}}')), (written) => {
      const { kind } = constraintsOf(byAnnotation(written));
      assert.ok(kind === 'constraints' || kind === 'deny');
      assert.equal(({} as Readonly<Record<string, unknown>>)['x'], undefined);
    }), { numRuns: 300 });
  });
});

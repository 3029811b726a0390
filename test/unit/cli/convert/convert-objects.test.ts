// Conversions of several objects together, and of what nobody would write in good faith.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ELECT_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { PlacementPolicySpec } from '../../../../api/kinds/placement-policy.ts';
import { convertObjects, type Converted } from '../../../../cli/convert/convert-objects.ts';
import { findingLines } from '../../../../cli/convert/converted-text.ts';
import { readObjects } from '../../../../cli/plan/read-objects.ts';
import { problemsOf } from '../../../support/peers/crd-check.ts';

function convert(objects: readonly object[], namespace?: string): Converted {
  const read = readObjects(objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  assert.ok(read.kind === 'objects');
  return convertObjects(read.objects, namespace);
}

const lostIn = ({ findings }: Converted): readonly string[] =>
  findingLines(findings).filter((line) => line.startsWith('lost: '));
const kindsOf = ({ objects }: Converted): readonly unknown[] => objects.map(({ kind }) => kind);
const specOf = ({ objects }: Converted, kind: string) =>
  objects.find((object) => object['kind'] === kind)?.['spec'] as PlacementPolicySpec & Record<string, unknown>;

const deployment = (name = 'web', more: object = {}) => ({
  apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'shop', name },
  spec: {
    replicas: 3, selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'x' }] } }, ...more,
  },
});
const federated = (spec: object, kind = 'FederatedDeployment') => ({
  apiVersion: 'types.kubefed.io/v1beta1', kind, metadata: { namespace: 'shop', name: 'web' },
  spec: { template: { spec: deployment().spec }, ...spec },
});
const policy = (placement: object, name = 'policy') => ({
  apiVersion: 'policy.karmada.io/v1alpha1', kind: 'PropagationPolicy', metadata: { namespace: 'shop', name },
  spec: { resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }], placement },
});
const clusters = (...names: readonly string[]) => ({ placement: { clusters: names.map((name) => ({ name })) } });
const isElected = ({ objects }: Converted): boolean => JSON.stringify(objects).includes(`"${ELECT_ANNOTATION}":""`);

describe('a workload that a policy selects', () => {
  const restrictions: Record<string, object> = {
    'an unknown field': { clusterAffinity: { clusterNames: ['a'], onlyOnSundays: true } },
    'a selector that Kubernetes would reject': {
      clusterAffinity: { labelSelector: { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] } },
    },
    'a field that there is not': {
      clusterAffinity: { fieldSelector: { matchExpressions: [{ key: 'planet', operator: 'In', values: ['mars'] }] } },
    },
    'a name that cannot be one': { clusterAffinity: { clusterNames: ['A B'] } },
    'names that are a text': { clusterAffinity: { clusterNames: 'a' } },
    'no cluster at all': { clusterAffinity: { clusterNames: ['a'], exclude: ['a'] } },
    'more clusters than a selector may have': {
      clusterAffinity: { clusterNames: Array.from({ length: 65 }, (_value, index) => `c${index}`) },
      replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' },
    },
    'a weight for clusters that are not known by name': {
      replicaScheduling: {
        replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted',
        weightPreference: { staticWeightList: [{ targetCluster: { exclude: ['b'] }, weight: 1 }] },
      },
    },
    'a weight beyond what shares may have': {
      replicaScheduling: {
        replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted',
        weightPreference: {
          staticWeightList: [
            { targetCluster: { clusterNames: ['a'] }, weight: 7_919 },
            { targetCluster: { clusterNames: ['b'] }, weight: 1 },
          ],
        },
      },
    },
    'a division that there is not': { replicaScheduling: { replicaSchedulingType: 'Tossed' } },
  };
  for (const [what, placement] of Object.entries(restrictions)) {
    it(`stays here where the policy has ${what}`, () => {
      const converted = convert([policy(placement), deployment()]);
      assert.ok(lostIn(converted).length > 0);
      assert.deepEqual(converted.objects, [deployment()]);
    });
  }

  it('is elected where it can be read', () => {
    const converted = convert([policy({ clusterAffinity: { clusterNames: ['a'] } }), deployment()]);
    assert.deepEqual(lostIn(converted), []);
    assert.ok(isElected(converted));
    assert.deepEqual(kindsOf(converted), ['Namespace', 'PlacementPolicy', 'Deployment']);
  });
  it('is found whatever the order of the input', () => {
    const one = policy({ clusterAffinity: { clusterNames: ['a'] } });
    const [first, second] = [convert([one, deployment()]), convert([deployment(), one])];
    assert.deepEqual(new Set(first.objects), new Set(second.objects));
  });
  it('is not one of another namespace or kind', () => {
    const other = { ...deployment(), metadata: { namespace: 'other', name: 'web' } };
    const ofOtherKinds = [{ ...deployment(), kind: 'StatefulSet' }, { ...deployment(), apiVersion: 'x.io/v1' }];
    for (const object of [other, ...ofOtherKinds]) {
      const converted = convert([policy({ clusterAffinity: { clusterNames: ['a'] } }), object]);
      assert.match(lostIn(converted).join(), /no Deployment web is in the input/);
      assert.deepEqual(converted.objects, [object]);
    }
  });
  it('keeps both policies where two select it', () => {
    const converted = convert([
      policy({ clusterAffinity: { clusterNames: ['a'] } }), policy({ clusterAffinity: { clusterNames: ['b'] } }),
      deployment(),
    ]);
    const names = converted.objects.filter(({ kind }) => kind === 'PlacementPolicy')
      .map(({ metadata }) => (metadata as { readonly name: string }).name);
    assert.equal(names.length, 2);
    assert.equal(new Set(names).size, 2);
  });
  it('gives the second of two policies no name that a third one has', () => {
    const of = (name: string, app: string) => ({
      apiVersion: 'isthmus.dev/v1alpha1', kind: 'PlacementPolicy', metadata: { namespace: 'shop', name },
      spec: { podSelector: { matchLabels: { app } } },
    });
    const { objects } = convert([of('web', 'a'), of('web', 'b'), of('web-1', 'c')]);
    assert.deepEqual(
      objects.map(({ metadata }) => (metadata as { readonly name: string }).name).toSorted(), ['web', 'web-1', 'web-2'],
    );
  });
});

describe('copies of a Deployment', () => {
  const counts: Record<string, readonly [counts: Readonly<Record<string, number>>, weights: readonly number[]]> = {
    'as many in each': [{ a: 3, b: 3 }, [1, 1]],
    'one more than the other': [{ a: 3, b: 4 }, [3, 4]],
    'multiples': [{ a: 4, b: 8, c: 12 }, [1, 2, 3]],
    'none in one': [{ a: 0, b: 8, c: 4 }, [2, 1]],
  };
  for (const [what, [replicas, weights]] of Object.entries(counts)) {
    it(`are divided in the same numbers: ${what}`, () => {
      const overrides = Object.entries(replicas).map(([clusterName, value]) => (
        { clusterName, clusterOverrides: [{ path: '/spec/replicas', value }] }
      ));
      const converted = convert([federated({ ...clusters(...Object.keys(replicas)), overrides })]);
      const total = Object.values(replicas).reduce((sum, count) => sum + count, 0);
      assert.equal(specOf(converted, 'Deployment')['replicas'], total);
      assert.deepEqual(specOf(converted, 'PlacementPolicy').replicas?.shares.map(({ weight }) => weight), weights);
      assert.deepEqual(lostIn(converted), []);
    });
  }

  it('keep their number for all counts, in proportion', () => {
    const count = fc.integer({ min: 1, max: 200 });
    fc.assert(fc.property(fc.array(count, { minLength: 2, maxLength: 8 }), (replicas) => {
      const names = replicas.map((_count, index) => `c${index}`);
      const overrides = names.map((clusterName, index) => (
        { clusterName, clusterOverrides: [{ path: '/spec/replicas', value: replicas[index] }] }
      ));
      const converted = convert([federated({ ...clusters(...names), overrides })]);
      const total = Number(specOf(converted, 'Deployment')['replicas']);
      const shares = specOf(converted, 'PlacementPolicy').replicas?.shares ?? [];
      const sum = shares.reduce((all, { weight }) => all + weight, 0);
      assert.deepEqual(shares.map(({ weight }) => (weight * total) / sum), replicas);
    }));
  });
  it('are only where their namespace is', () => {
    const namespace = {
      apiVersion: 'types.kubefed.io/v1beta1', kind: 'FederatedNamespace', metadata: { namespace: 'shop', name: 'shop' },
      spec: clusters('a'),
    };
    const converted = convert([namespace, federated(clusters('a', 'b'))]);
    assert.equal(specOf(converted, 'Deployment')['replicas'], 3);
    assert.equal(JSON.stringify(converted.objects).includes('"b"'), false);
  });
  it('that cannot be read are not printed', () => {
    for (const spec of [
      { placement: { clusters: [{ name: 'a', weight: 2 }] } }, { placement: { clusters: 'a' } }, { placement: [] },
      { placement: { clusterSelector: { matchLabels: { a: 1 } } } }, { ...clusters('a'), overrides: {} },
      { ...clusters('../a') }, { ...clusters('a'), paused: true },
    ]) {
      const converted = convert([federated(spec)]);
      assert.deepEqual(converted.objects, [], JSON.stringify(spec));
      assert.ok(lostIn(converted).length > 0);
    }
  });
});

describe('a namespace given by -n', () => {
  it('is that of what names none, and of nothing else', () => {
    const { metadata: _metadata, ...rest } = deployment();
    const converted = convert([
      { ...rest, metadata: { name: 'web' } },
      { ...policy({ clusterAffinity: { clusterNames: ['a'] } }), metadata: { name: 'p' } },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } },
    ], 'shop');
    assert.deepEqual(
      converted.objects.map(({ metadata }) => (metadata as { readonly namespace?: string }).namespace),
      [undefined, undefined, 'shop', 'shop'],
    );
    assert.ok(isElected(converted));
  });
  it('is needed for overrides that only a ClusterPlacementPolicy may have', () => {
    const given = {
      ...federated({
        ...clusters('a'),
        overrides: [{
          clusterName: 'a', clusterOverrides: [{ path: '/spec/template/spec/containers/0/image', value: 'y' }],
        }],
      }),
      metadata: { name: 'web' },
    };
    assert.match(lostIn(convert([given])).join(), /name it with -n/);
    assert.ok(kindsOf(convert([given], 'shop')).includes('ClusterPlacementPolicy'));
    assert.equal(kindsOf(convert([given])).includes('ClusterPlacementPolicy'), false);
  });
});

describe('findings', () => {
  it('name each object once, losses first, without control characters', () => {
    const converted = convert([
      { apiVersion: 'core.liqo.io/v1beta1', kind: 'ForeignCluster', metadata: { name: 'a\u001b[2Jb\u202e' } },
      policy({ clusterAffinity: { clusterNames: ['a'] } }), deployment(),
    ]);
    const lines = findingLines([...converted.findings, ...converted.findings]);
    assert.equal(new Set(lines).size, lines.length);
    assert.match(lines[0] ?? '', /^lost: ForeignCluster\/a\?\[2Jb\?: /);
    assert.doesNotMatch(lines.join(''), /\p{Cc}|\p{Cf}/u);
  });
});

describe('whatever is written', () => {
  const KINDS = [
    ['types.kubefed.io/v1beta1', 'FederatedDeployment'], ['types.kubefed.io/v1beta1', 'FederatedNamespace'],
    ['scheduling.kubefed.io/v1alpha1', 'ReplicaSchedulingPreference'],
    ['policy.karmada.io/v1alpha1', 'PropagationPolicy'], ['policy.karmada.io/v1alpha1', 'ClusterPropagationPolicy'],
    ['offloading.liqo.io/v1beta1', 'NamespaceOffloading'], ['sharing.liqo.io/v1alpha1', 'ResourceOffer'],
    ['multicluster.admiralty.io/v1alpha1', 'ClusterTarget'], ['apps/v1', 'Deployment'], ['v1', 'Namespace'],
  ] as const;
  const FIELDS = [
    'template', 'placement', 'clusters', 'clusterSelector', 'overrides', 'clusterOverrides', 'path', 'value', 'name',
    'resourceSelectors', 'clusterAffinity', 'labelSelector', 'matchLabels', 'matchExpressions', 'replicaScheduling',
    'weightPreference', 'staticWeightList', 'targetCluster', 'weight', 'spec', 'metadata', 'labels', 'annotations',
    'nodeSelectorTerms', 'podOffloadingStrategy', 'resources', 'limits', 'kind', 'apiVersion', '__proto__',
    'constructor',
  ];
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' }, fc.constantFrom('a', 'Deployment', 'apps/v1', '', 'In'), fc.integer(), fc.boolean(),
      fc.constant(null), fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...FIELDS), tie('tree'), { maxKeys: 4 }),
    ),
  }));

  it('is answered, with objects that an API server would take', () => {
    const object = fc.tuple(fc.constantFrom(...KINDS), tree, fc.constantFrom('a', 'A b', 'web')).map(
      ([[apiVersion, kind], spec, name]) => ({ apiVersion, kind, metadata: { namespace: 'shop', name }, spec }),
    );
    fc.assert(fc.property(fc.array(object, { maxLength: 3 }), (objects) => {
      const converted = convert([...objects, deployment()]);
      for (const made of converted.objects) assert.deepEqual(problemsOf(made), []);
      for (const line of findingLines(converted.findings)) assert.match(line, /^(lost|note): \w+\//);
    }), { numRuns: 500 });
  });
});

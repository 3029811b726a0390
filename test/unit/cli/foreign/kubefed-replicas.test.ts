// Replicas of KubeFed: what each cluster would have, the converted workload has in all of them together, or it is said.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { convertObjects, type Converted } from '../../../../cli/convert/convert-objects.ts';
import { readObjects } from '../../../../cli/plan/read-objects.ts';

const KINDS = ['Deployment', 'ReplicaSet', 'StatefulSet'] as const;
const NAMES = ['a', 'b', 'c'];

interface Given {
  readonly kind: (typeof KINDS)[number];
  readonly clusters: readonly string[];
  readonly replicas: number;
  /** Overrides of replicas, by cluster. */
  readonly overrides: Readonly<Record<string, number>>;
}

function convert({ kind, clusters, replicas, overrides }: Given): Converted {
  const template = {
    spec: {
      replicas, selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'x' }] } },
    },
  };
  const federated = {
    apiVersion: 'types.kubefed.io/v1beta1', kind: `Federated${kind}`, metadata: { namespace: 'shop', name: 'web' },
    spec: {
      template, placement: { clusters: clusters.map((name) => ({ name })) },
      overrides: Object.entries(overrides).map(([clusterName, value]) =>
        ({ clusterName, clusterOverrides: [{ path: '/spec/replicas', value }] })),
    },
  };
  const read = readObjects(JSON.stringify(federated));
  assert.ok(read.kind === 'objects');
  return convertObjects(read.objects, undefined);
}

function workloadOf({ objects }: Converted, kind: string): { readonly replicas?: number } | undefined {
  return objects.find((object) => object['kind'] === kind)?.['spec'] as { readonly replicas?: number } | undefined;
}

const given: fc.Arbitrary<Given> = fc.record({
  kind: fc.constantFrom(...KINDS), clusters: fc.subarray(NAMES, { minLength: 1 }),
    replicas: fc.integer({ min: 1, max: 9 }),
  overrides: fc.dictionary(fc.constantFrom(...NAMES), fc.integer({ min: 1, max: 9 }), { noNullPrototype: true }),
});

describe('replicas of a Federated workload', () => {
  it('are as many as KubeFed makes in all clusters, or something is lost and said to be', () => {
    fc.assert(fc.property(given, (one) => {
      const converted = convert(one);
      const wanted = one.clusters.reduce((sum, name) => sum + (one.overrides[name] ?? one.replicas), 0);
      const isLost = converted.findings.some(({ kind }) => kind === 'lost');
      const found = workloadOf(converted, one.kind)?.replicas;
      assert.ok(isLost || found === wanted, `${found} instead of ${wanted}`);
    }), { numRuns: 200 });
  });
  it('of a StatefulSet in one cluster are those of that cluster', () => {
    const converted = convert({ kind: 'StatefulSet', clusters: ['a'], replicas: 3, overrides: { a: 5, b: 9 } });
    assert.equal(workloadOf(converted, 'StatefulSet')?.replicas, 5);
    assert.deepEqual(converted.findings.filter(({ kind }) => kind === 'lost'), []);
  });
  it('of a StatefulSet in several clusters are lost, for there is one of it', () => {
    const converted = convert({ kind: 'StatefulSet', clusters: ['a', 'b'], replicas: 3, overrides: { a: 5 } });
    assert.match(converted.findings.find(({ kind }) => kind === 'lost')?.message ?? '', /has a StatefulSet of its own/);
  });
  it('are divided in the proportions that KubeFed would have', () => {
    fc.assert(fc.property(given, (one) => {
      if (one.kind === 'StatefulSet' || one.clusters.length === 1) return;
      const policy = convert(one).objects.find((object) => object['kind'] === 'PlacementPolicy')?.['spec'] as
        { readonly replicas: { readonly shares: readonly { readonly weight: number }[] } };
      const weights = policy.replicas.shares.map(({ weight }) => weight);
      const copies = one.clusters.map((name) => one.overrides[name] ?? one.replicas);
      for (const [index, weight] of weights.entries()) {
        assert.equal(weight * (copies[0] ?? 0), (weights[0] ?? 0) * (copies[index] ?? 0));
      }
      assert.equal(weights.length, copies.length);
    }), { numRuns: 100 });
  });
});

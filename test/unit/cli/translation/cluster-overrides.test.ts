// Changes of a workload in some clusters as patches of its pods there, applied by an implementation that is not ours.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import jsonPatch from 'fast-json-patch';
import { ADMIRALTY_PREFIX } from '../../../../api/objects/keys.ts';
import { areOfScheduling, isReplicas, toPatchOperation } from '../../../../cli/translation/cluster-overrides.ts';
import { divisionOf, requiredReplicaShares } from '../../../../cli/translation/division.ts';

const DEPLOYMENT = { group: 'apps', kind: 'Deployment' };
const CRON_JOB = { group: 'batch', kind: 'CronJob' };
const POD = { group: '', kind: 'Pod' };

describe('a change of a workload', () => {
  const rows: readonly (readonly [of: typeof POD, path: string, inPod: string | undefined])[] = [
    [DEPLOYMENT, '/spec/template/spec/containers/0/image', '/spec/containers/0/image'],
    [DEPLOYMENT, 'spec.template.spec.nodeSelector', '/spec/nodeSelector'],
    [DEPLOYMENT, '/spec/template/metadata/annotations/example.com~1a', '/metadata/annotations/example.com~1a'],
    [CRON_JOB, '/spec/jobTemplate/spec/template/spec/priorityClassName', '/spec/priorityClassName'],
    [POD, '/spec/tolerations', '/spec/tolerations'],
    [DEPLOYMENT, '/spec/replicas', undefined], [DEPLOYMENT, '/spec/strategy/type', undefined],
    [DEPLOYMENT, '/spec/template', undefined], [DEPLOYMENT, '/spec/templates/spec/x', undefined],
    [DEPLOYMENT, '/spec/template/spec', undefined], [DEPLOYMENT, '/spec/template/metadata/labels/app', undefined],
    [DEPLOYMENT, '/spec/template/metadata/name', undefined], [CRON_JOB, '/spec/template/spec/x', undefined],
    [DEPLOYMENT, '/metadata/annotations/a', undefined], [POD, '/metadata/labels/a', undefined],
    [DEPLOYMENT, `/spec/template/metadata/annotations/${ADMIRALTY_PREFIX.replace('/', '~1')}elect`, undefined],
    [POD, `/metadata/annotations/${ADMIRALTY_PREFIX.replace('/', '~1')}x`, undefined],
  ];
  for (const [of, path, inPod] of rows) {
    it(`${of.kind} ${path} ${inPod === undefined ? 'has no counterpart' : `is ${inPod} of its pods`}`, () => {
      const translated = toPatchOperation(of, { op: 'replace', path, value: 'v' });
      if (inPod === undefined) assert.equal(translated.kind, 'none');
      else assert.deepEqual(translated, { kind: 'patch', operation: { op: 'replace', path: inPod, value: 'v' } });
    });
  }
  it('that is no operation of JSON patches has none, and its name is told', () => {
    for (const op of ['move', 'copy', 'test', '', 'Replace']) {
      const translated = toPatchOperation(POD, { op, path: '/spec/x', value: 1 });
      assert.ok(translated.kind === 'none' && translated.why.includes(JSON.stringify(op)));
    }
  });
  it('changes the pods of the workload as it changes the workload', () => {
    const field = fc.constantFrom('schedulerName', 'priorityClassName', 'hostNetwork');
    fc.assert(fc.property(field, fc.constantFrom('add', 'replace', 'remove'), fc.jsonValue(), (name, op, value) => {
      const spec = { schedulerName: 'a', priorityClassName: 'b', hostNetwork: true };
      const workload = { spec: { template: { spec } } };
      const path = `/spec/template/spec/${name}`;
      const changed = jsonPatch.applyPatch(structuredClone(workload),
        [{ op, path, value } as jsonPatch.Operation]).newDocument;
      const translated = toPatchOperation(DEPLOYMENT, { op, path, value });
      assert.ok(translated.kind === 'patch');
      const pod = jsonPatch.applyPatch({ spec: { ...spec } },
        [translated.operation as jsonPatch.Operation]).newDocument;
      assert.deepEqual(pod, changed.spec.template);
    }));
  });
});

describe('replicas', () => {
  it('are those of the workload alone, in both notations', () => {
    const paths = ['/spec/replicas', 'spec.replicas', '/spec/replicas/x', '/spec/template/spec/replicas', 'replicas'];
    assert.deepEqual(paths.map(isReplicas), [true, true, false, false, false]);
  });
});

describe('overrides that a PlacementPolicy may hold', () => {
  const of = (...paths: readonly string[]) =>
    [{ targets: {}, patch: paths.map((path) => ({ op: 'replace' as const, path, value: 1 })) }];
  it('are those of scheduling alone', () => {
    assert.equal(areOfScheduling(of('/spec/tolerations/0', '/spec/affinity')), true);
    for (const path of ['/spec/containers/0/image', '/spec/tolerationsX', '/spec/nodeName',
      '/metadata/annotations/a']) {
      assert.equal(areOfScheduling(of('/spec/affinity', path)), false, path);
    }
  });
});

describe('a division', () => {
  const counts = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat({ max: 60 }), { noNullPrototype: true })
    .map((all) => new Map(Object.entries(all)));

  it('has all replicas, in the proportions of the clusters that get any, in the smallest numbers', () => {
    fc.assert(fc.property(counts, (given) => {
      const { total, clusters, replicas } = divisionOf(given);
      assert.equal(total, [...given.values()].reduce((sum, count) => sum + count, 0));
      assert.deepEqual(clusters, [...given].filter(([, count]) => count > 0).map(([name]) => name));
      const weights = replicas.shares.map(({ weight }) => weight);
      const factor = (given.get(clusters[0] ?? '') ?? 1) / (weights[0] ?? 1);
      assert.deepEqual(weights.map((weight) => weight * factor), clusters.map((name) => given.get(name)));
      for (let divisor = 2; divisor <= 60; divisor += 1) {
        assert.equal(weights.length > 0 && weights.every((weight) => weight % divisor === 0), false, `${divisor}`);
      }
    }));
  });
  it('allows only the clusters that get replicas; one alone needs no shares', () => {
    const { require, replicas } = requiredReplicaShares(divisionOf(new Map([['a', 3], ['b', 0]])));
    assert.deepEqual([require?.matchLabels && Object.values(require.matchLabels), replicas], [['a'], undefined]);
    assert.equal(requiredReplicaShares(divisionOf(new Map([['a', 3], ['b', 1]]))).replicas?.shares.length, 2);
  });
});

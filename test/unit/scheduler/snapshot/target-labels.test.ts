// Which labels of a target count for whom: what an administrator of the source wrote, what a tenant wrote, and what the
// target says of itself.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { StringMap } from '../../../../api/objects/core.ts';
import { ADMIRALTY_PREFIX, TARGET_LABELS_ANNOTATION, TARGET_NAME_LABEL } from '../../../../api/objects/keys.ts';
import { HOST_NAME_LABEL, labelsFor, toTargetLabels, toVirtualNodeInfo } from
  '../../../../scheduler/snapshot/virtual-node-info.ts';

const NODE = 'admiralty-eu';
const HOST = { [HOST_NAME_LABEL]: NODE };
const OWN = `${ADMIRALTY_PREFIX}cluster-target-name`;

/** The labels of a target whose virtual node shows these, of which it reports some itself. */
function labelsOf(
  { kind, labels = {}, shown = {}, reported }: {
    readonly kind?: 'ClusterTarget' | 'Target'; readonly labels?: StringMap; readonly shown?: StringMap;
    readonly reported?: string
  },
) {
  const annotations = reported === undefined ? {} : { [TARGET_LABELS_ANNOTATION]: reported };
  const node = { metadata: { name: NODE, labels: shown, annotations } };
  return toTargetLabels({ kind, nodeName: NODE, labels, node });
}

describe('labels that exclude a target, but do not admit it', () => {
  const shown = { region: 'eu', zone: 'a', [OWN]: 'eu' };
  const rows: Readonly<Record<string, readonly [reported: string | undefined, assigned: StringMap]>> = {
    'are those that it reports': ['["region"]', { zone: 'a', [OWN]: 'eu' }],
    'are none where it reports none': ['[]', shown],
    'are all but our own while it is not known which it reports': [undefined, { [OWN]: 'eu' }],
    'are all but our own where the list is damaged': ['{', { [OWN]: 'eu' }],
    'are all but our own where the list is none': ['{"region":true}', { [OWN]: 'eu' }],
    'are never counted twice': ['["region","region",7,null,"unknown"]', { zone: 'a', [OWN]: 'eu' }],
  };
  for (const [what, [reported, assigned]] of Object.entries(rows)) {
    it(what, () => {
      const found = labelsOf({ shown, ...(reported !== undefined && { reported }) });
      assert.deepEqual(found.labels, { ...HOST, ...shown });
      assert.deepEqual(found.assigned?.labels, { ...HOST, ...assigned });
      assert.deepEqual(found.assigned?.clusterLabels, { ...HOST, ...assigned });
    });
  }
  it('are admitted where the administrator has put them on the object as well', () => {
    const { labels, assigned } = labelsOf({ shown, reported: '["region"]', labels: { region: 'us' } });
    assert.deepEqual([labels['region'], assigned?.labels['region']], ['us', 'us']);
  });
});

describe('labels of a Target, which a tenant writes', () => {
  const given = {
    kind: 'Target' as const, labels: { tier: 'gold', region: 'eu' },
    shown: { region: 'us', [TARGET_NAME_LABEL]: 'trusted', zone: 'a' }, reported: '["zone"]',
  };

  it('count for policies of its namespace', () =>
    assert.deepEqual(labelsFor(undefined, labelsOf(given)), { ...HOST, ...given.shown, ...given.labels }));
  it('do not count for policies of the cluster, and neither does its name', () =>
    assert.deepEqual(labelsFor({ isClusterScoped: true }, labelsOf(given)), { ...HOST, region: 'us', zone: 'a' }));
  it('do not admit it by a policy of the cluster, even where the node would show them', () => {
    const { assigned } = labelsOf(given);
    assert.deepEqual(assigned?.clusterLabels, { ...HOST, region: 'us' });
    assert.deepEqual(assigned?.labels, { ...HOST, region: 'eu', tier: 'gold', [TARGET_NAME_LABEL]: 'trusted' });
  });
  it('are those of everybody for a ClusterTarget, of which a kind that is missing is one', () => {
    const { kind: _tenants, ...unnamed } = given;
    for (const all of [unnamed, { ...unnamed, kind: 'ClusterTarget' as const }]) {
      const found = labelsOf(all);
      assert.equal(found.clusterLabels, undefined);
      assert.deepEqual(labelsFor({ isClusterScoped: true }, found), found.labels);
    }
  });
});

describe('labels for selectors', () => {
  it('are none of a target of which nothing is known', () => {
    assert.deepEqual([labelsFor(undefined, undefined), labelsFor({ isClusterScoped: true }, undefined)], [{}, {}]);
  });
  it('have the virtual node as the host of a target, unless the node says another', () => {
    assert.deepEqual(labelsOf({}).labels, HOST);
    assert.equal(labelsOf({ shown: { [HOST_NAME_LABEL]: 'other' } }).labels[HOST_NAME_LABEL], 'other');
  });
});

describe('whatever a node shows and a target reports', () => {
  const map = fc.dictionary(fc.constantFrom('a', 'b', 'c', OWN, TARGET_NAME_LABEL), fc.constantFrom('1', '2'),
    { noNullPrototype: true });
  const cases = fc.record({
    kind: fc.constantFrom('ClusterTarget' as const, 'Target' as const), labels: map, shown: map,
    reported: fc.option(fc.subarray(['a', 'b', 'c']).map((keys) => JSON.stringify(keys)), { nil: undefined }),
  });

  it('what is assigned is a part of what is shown, and a tenant adds nothing for policies of the cluster', () => {
    fc.assert(fc.property(cases, ({ reported, ...given }) => {
      const found = labelsOf({ ...given, ...(reported !== undefined && { reported }) });
      const bare = labelsOf({ ...given, labels: {}, ...(reported !== undefined && { reported }) });
      for (const [key, value] of Object.entries(found.assigned?.labels ?? {})) assert.equal(found.labels[key], value);
      if (given.kind === 'Target') {
        assert.deepEqual(found.clusterLabels, bare.clusterLabels);
        assert.deepEqual(found.assigned?.clusterLabels, bare.assigned?.clusterLabels);
      }
    }), { numRuns: 200 });
  });
});

describe('nodeInfo apart from labels', () => {
  const nodeInfo = (spec: object, more: object = {}) =>
    toVirtualNodeInfo({ nodeName: NODE, node: { metadata: {} }, labels: {}, spec, ...more });

  it('are left out where nothing is said of them', () => {
    assert.deepEqual(['prices', 'headroom', 'rttMs'].filter((field) => Object.hasOwn(nodeInfo({}), field)), []);
  });
  it('take a round trip of 0 ms for one', () => assert.equal(nodeInfo({}, { rttMs: 0 }).rttMs, 0));
  it('take a price of nothing for one, and what is no number for none', () => {
    const { prices } = nodeInfo({ prices: { cpu: '0', memory: ' ', pods: 'NaN', 'example.com/a': '1e1' } });
    assert.deepEqual([...prices ?? []], [['cpu', 0], ['example.com/a', 10]]);
  });
  it('are of the source itself only where the object says so', () => assert.deepEqual(
    [{}, { self: false }, { self: true }].map((spec) => nodeInfo(spec).isSelf), [false, false, true],
  ));
  it('have nodes that may be added as the object describes them, with their taints and labels', () => {
    const { headroom } = nodeInfo({ headroom: [
      { count: 2, labels: { gpu: 'a100' }, taints: [{ key: 'gpu', effect: 'NoSchedule' }], allocatable: { cpu: '8' } },
      { count: 0, allocatable: { cpu: '64' } },
    ] });
    const cpu = (amount: number) => ({ requests: new Map([['cpu', amount], ['pods', 1]]) });
    const tolerant = { tolerations: [{ key: 'gpu', operator: 'Exists' }] } as const;
    assert.equal(headroom?.hasRoomFor(cpu(8_000)), false, 'the taint');
    assert.equal(headroom?.nodesFor({ ...cpu(8_000), ...tolerant, nodeSelector: { gpu: 'a100' } }, 9), 2);
    assert.equal(headroom?.hasRoomFor({ ...cpu(9_000), ...tolerant }), false, 'none of those with 64 may be added');
    assert.equal(headroom?.hasRoomFor({ requests: new Map([['pods', 111]]), ...tolerant }), false);
  });
});

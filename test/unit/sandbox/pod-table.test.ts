import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/objects/core.ts';
import { sampleObjects } from '../../../sandbox/demo.ts';
import { toPodTables } from '../../../sandbox/pod-table.ts';

const NOW = Date.parse('2026-01-01T00:01:00Z');

function aPod(
  name: string,
  more: {
    readonly phase?: 'Pending' | 'Running'; readonly node?: string; readonly ip?: string; readonly deleted?: boolean;
    readonly ready?: boolean
  } = {},
): Pod {
  return {
    metadata: {
      name, creationTimestamp: '2026-01-01T00:00:30Z',
      ...(more.deleted && { deletionTimestamp: '2026-01-01T00:00:50Z' }),
    },
    spec: { containers: [{ name: 'main' }], ...(more.node !== undefined && { nodeName: more.node }) },
    status: {
      ...(more.phase && { phase: more.phase }),
      ...(more.ip !== undefined && { podIP: more.ip }),
      ...(more.ready !== undefined && { containerStatuses: [{ name: 'main', ready: more.ready } as { name: string }] }),
    },
  };
}

function linesOf(pods: readonly Pod[], width = 200): string[] {
  return toPodTables([{ cluster: 'source', pods }], NOW, width).split('\n').slice(1);
}

describe('toPodTables', () => {
  it('prints the columns of kubectl get pods -o wide', () => {
    const [header, row] = linesOf([aPod('a', { phase: 'Running', node: 'node-1', ip: '10.0.0.1', ready: true })]);
    assert.deepEqual(header?.split(/\s{2,}/), ['NAME', 'READY', 'STATUS', 'AGE', 'IP', 'NODE']);
    assert.deepEqual(row?.split(/\s{2,}/), ['a', '1/1', 'Running', '30s', '10.0.0.1', 'node-1']);
  });

  for (const { name, pod, expected } of [
    { name: 'a pod without a node', pod: aPod('a'), expected: ['a', '0/1', 'Pending', '30s', '<none>', '<none>'] },
    {
      name: 'a container that is not ready', pod: aPod('a', { phase: 'Running', ready: false }),
      expected: ['a', '0/1', 'Running', '30s', '<none>', '<none>'],
    },
    {
      name: 'a pod that is going', pod: aPod('a', { phase: 'Running', deleted: true }),
      expected: ['a', '0/1', 'Terminating', '30s', '<none>', '<none>'],
    },
  ]) {
    it(`shows ${name}`, () => assert.deepEqual(linesOf([pod])[1]?.split(/\s{2,}/), expected));
  }

  it('sorts pods by name and leaves the list that it was given alone', () => {
    const pods = [aPod('b'), aPod('a')];
    assert.deepEqual(linesOf(pods).slice(1, 3).map((line) => line.split(' ')[0]), ['a', 'b']);
    assert.equal(pods[0]?.metadata.name, 'b');
  });

  it('says so when there are none, and gives each cluster its own table', () => {
    const text = toPodTables([{ cluster: 'one', pods: [] }, { cluster: 'two', pods: [] }], NOW, 80);
    assert.deepEqual(text.match(/── \w+ |\(no pods\)/g), ['── one ', '(no pods)', '── two ', '(no pods)']);
  });

  it('cuts lines at the width of the terminal', () => {
    assert.ok(linesOf([aPod('a-rather-long-name-of-a-pod', { node: 'a-rather-long-name-of-a-node' })], 30).every(
      (line) => line.length <= 30,
    ));
  });
});

describe('sampleObjects', () => {
  it('opts the namespace in at the source only, and elects the pods of the Deployment', () => {
    const { namespace, optedInNamespace, deployment } = sampleObjects();
    assert.equal(namespace.metadata.labels, undefined);
    assert.deepEqual(optedInNamespace.metadata.labels, { 'multicluster-scheduler': 'enabled' });
    assert.match(JSON.stringify(deployment), /"annotations":\{"multicluster.admiralty.io\/elect":""\}/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, Pod } from '../../../../api/objects/core.ts';
import { delegateKey, nodeTable, podTable, type DelegateView } from '../../../../cli/get/pod-table.ts';
import { electedPodRows } from '../../../../cli/get/elected-pods.ts';
import { parseKind } from '../../../../cli/get/kinds.ts';
import { parseOutput, toOutput } from '../../../../cli/get/outputs.ts';
import { ChangedLines } from '../../../../cli/get/watch-objects.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const options = { now: NOW, wide: false };
const pod = (
  name: string,
  change: {
    readonly annotations?: Record<string, string>; readonly phase?: string; readonly deleted?: true;
    readonly message?: string
  } = {},
): Pod => ({
  metadata: {
    namespace: 'ns', name, creationTimestamp: '2026-01-01T11:59:00Z',
    ...(change.annotations && { annotations: change.annotations }),
    ...(change.deleted && { deletionTimestamp: '2026-01-01T11:59:30Z' }),
  },
  spec: { containers: [], nodeName: 'admiralty-c2' },
  status: {
    phase: change.phase ?? 'Running',
    ...(change.message !== undefined && {
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: change.message }],
    }),
  },
} as Pod);
const bound =
  { 'multicluster.admiralty.io/target': 'ClusterTarget/c2', 'multicluster.admiralty.io/delegate-name': 'web-1-abc' };
const key = 'ClusterTarget/c2 ns/web-1-abc';

describe('podTable', () => {
  const rows: readonly [string, DelegateView | undefined, readonly (string | undefined)[]][] = [
    ['a delegate that runs', { kind: 'found', node: 'gpu-7', phase: 'Running' }, [
      'ns', 'web-1', 'Running', 'c2', 'gpu-7', 'Running', '60s',
    ]],
    ['a delegate that has gone', { kind: 'missing' }, ['ns', 'web-1', 'Running', 'c2', undefined, 'Missing', '60s']],
    ['a target that does not answer', { kind: 'unknown' }, [
      'ns', 'web-1', 'Running', 'c2', undefined, 'Unknown', '60s',
    ]],
  ];
  for (const [what, view, expected] of rows) {
    it(`shows ${what}`, () => assert.deepEqual(
      podTable([pod('web-1', { annotations: bound })], new Map(view && [[key, view]]), options).rows, [expected],
    ));
  }

  it('shows a pod that waits, and with wide why', () => {
    const waiting = pod('p', { phase: 'Pending', message: '0/2 targets: Insufficient cpu' });
    assert.deepEqual(
      podTable([waiting], new Map(), options).rows, [['ns', 'p', 'Pending', undefined, undefined, undefined, '60s']],
    );
    assert.deepEqual(podTable([waiting], new Map(), { ...options, wide: true }).rows[0]?.slice(-2), [
      undefined, '0/2 targets: Insufficient cpu',
    ]);
  });

  it('names a Target with its namespace, and sorts', () => {
    const annotations = { ...bound, 'multicluster.admiralty.io/target': 'Target/team/c3' };
    const { rows } = podTable([pod('b', { annotations, deleted: true }), pod('a')], new Map(), options);
    assert.deepEqual(
      rows.map((row) => row.slice(1, 4)), [['a', 'Running', undefined], ['b', 'Terminating', 'team/c3']],
    );
  });

  it('has as many cells as titles', () => {
    for (const wide of [false, true]) {
      const table = podTable([pod('web-1', { annotations: bound })], new Map(), { now: NOW, wide });
      for (const row of table.rows) assert.equal(row.length, table.header.length);
    }
  });

  it('knows no delegate of a pod that is not bound', () => assert.equal(delegateKey(pod('p')), undefined));
});

describe('nodeTable', () => {
  it('counts the pods of each virtual node and shows a cordon', () => {
    const node = {
      metadata: { name: 'admiralty-c2', creationTimestamp: '2026-01-01T11:00:00Z' }, spec: { unschedulable: true },
      status: { conditions: [{ type: 'Ready', status: 'True' }], allocatable: { cpu: '8', memory: '16Gi' } },
    } as Node;
    assert.deepEqual(nodeTable([node], [pod('a'), pod('b')], options).rows, [
      ['admiralty-c2', 'Ready,SchedulingDisabled', '2', '8', '16Gi', '60m'],
    ]);
  });
});

describe('isthmus get', () => {
  for (
    const [text, kind] of [
      ['pods', 'pods'], ['pod', 'pods'], ['po', 'pods'], ['targets', 'targets'], ['ctg', 'targets'], ['node', 'nodes'],
    ] as const
  ) {
    it(`takes ${text}`, () => assert.equal(parseKind(text), kind));
  }
  for (const text of ['', 'services', 'podss', '__proto__', 'toString']) {
    it(`refuses "${text}" and says what there is`, () => assert.throws(
      () => parseKind(text), /get shows targets, pods, nodes/,
    ));
  }

  it('prints objects for programs', () => {
    const objects = [{ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' } }];
    const as = (output: string, isOne = false) => toOutput(objects, parseOutput(output), { isOne });
    assert.equal(as('name'), 'pod/a');
    assert.deepEqual(JSON.parse(as('json')), { apiVersion: 'v1', kind: 'List', items: objects });
    assert.deepEqual(JSON.parse(as('json', true)), objects[0]);
    assert.match(as('yaml'), /^apiVersion: v1\nkind: List\nitems:\n {2}- kind: Pod/);
    assert.equal(as('jsonpath={.items[*].metadata.name}'), 'a');
    assert.equal(as('jsonpath={.metadata.name}', true), 'a');
  });
  it('prints all objects of a name, and nothing where there is none', () => {
    const pod = (namespace: string) => ({ kind: 'Pod', apiVersion: 'v1', metadata: { namespace, name: 'web' } });
    const both = [pod('team-a'), pod('team-b')];
    assert.deepEqual(JSON.parse(toOutput(both, { kind: 'json' }, { isOne: true })).items, both);
    assert.equal(toOutput([], { kind: 'json' }, { isOne: true }), '');
  });
  for (const text of ['', 'xml', 'jsonpath', 'jsonpath={', 'go-template={{.}}']) {
    it(`refuses -o ${text}`, () => assert.throws(() => parseOutput(text), { code: 'BadInput' }));
  }
});

it('the delegates of pods whose list was interrupted are no delegates that nobody knows', async () => {
  const [target, stop] = [new MemoryCluster(), new AbortController()];
  target.before = () => {
    stop.abort('SIGINT');
    return new Error('aborted');
  };
  const sessions = { all: () => [{ key: 'ClusterTarget/eu', session: { client: target.client } }] };
  await assert.rejects(
    electedPodRows({ sourceId: 'S', sessions } as never, [], { wide: false, signal: stop.signal }),
    (reason) => reason === 'SIGINT',
  );
});

describe('what --watch prints', () => {
  it('is the title once, then what is new or has changed, whatever its age', () => {
    const lines: string[] = [];
    const changed = new ChangedLines((line) => lines.push(line));
    changed.print({ title: 'NAME   STATUS   AGE', lines: ['a      Pending   1s', 'b      Running   9s'] });
    changed.print({ title: 'NAME   STATUS   AGE', lines: ['a      Running   2s', 'b      Running   2m10s'] });
    changed.print({ title: 'NAME   STATUS   AGE', lines: ['a      Running   3s'] });
    assert.deepEqual(
      lines, ['NAME   STATUS   AGE', 'a      Pending   1s', 'b      Running   9s', 'a      Running   2s'],
    );
  });
});

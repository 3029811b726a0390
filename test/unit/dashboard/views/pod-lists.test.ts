import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { MOST_ROWS, podsScreen, workloadsScreen } from '../../../../dashboard/views/pod-lists.ts';
import type { Filters } from '../../../../dashboard/wire/routes.ts';
import { seenSource, shownPod, unschedulable, type ShownPod } from '../../../support/objects/seen-pods.ts';

const web = { kind: 'StatefulSet', name: 'web' };
const PODS: readonly ShownPod[] = [
  { name: 'web-2', owner: web, target: 'ClusterTarget/us' }, { name: 'web-0', owner: web, target: 'ClusterTarget/eu' },
  { name: 'web-1', owner: web, target: 'ClusterTarget/eu', phase: 'Pending' },
  { name: 'web-3', owner: web, conditions: [unschedulable('no room')] },
  { name: 'alone', namespace: 'blog', target: 'ClusterTarget/eu' },
];
const source = seenSource(PODS.map(shownPod));

describe('the list of pods', () => {
  const names = (filters: Filters) =>
    podsScreen(source, filters)?.rows.map(({ namespace, name }) => `${namespace}/${name}`);

  for (const [what, filters, expected] of [
    ['all, by name', {}, ['blog/alone', 'shop/web-0', 'shop/web-1', 'shop/web-2', 'shop/web-3']],
    ['those of a namespace', { namespace: 'blog' }, ['blog/alone']],
    ['those of a target', { target: 'eu' }, ['blog/alone', 'shop/web-0', 'shop/web-1']],
    ['those without a target', { target: 'none' }, ['shop/web-3']],
    ['those of a status, as it is typed', { status: 'pending' }, ['shop/web-1', 'shop/web-3']],
    ['those of a workload', { workload: 'Pod/alone' }, ['blog/alone']],
    ['those whose name contains a text', { text: 'WEB-2' }, ['shop/web-2']],
    ['those that match all filters', { target: 'eu', status: 'Running', namespace: 'shop' }, ['shop/web-0']],
    ['none', { text: 'nothing' }, []],
  ] satisfies readonly (readonly [string, Filters, readonly string[]])[]) {
    it(`shows ${what}`, () => assert.deepEqual(names(filters), expected));
  }

  it('shows a page of very many, and says of how many', () => {
    const many = seenSource(Array.from({ length: MOST_ROWS + 50 }, (_, index) => shownPod({ name: `p-${index}` })));
    const screen = podsScreen(many, {});
    assert.deepEqual([screen?.rows.length, screen?.total], [MOST_ROWS, MOST_ROWS + 50]);
  });

  it('stays small for ten thousand pods in a hundred targets', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => shownPod({
      name: `web-${index}`, owner: { kind: 'ReplicaSet', name: `web-${index % 500}` },
      target: `ClusterTarget/t-${index % 100}`,
    }));
    for (const screen of [podsScreen(seenSource(many), {}), workloadsScreen(seenSource(many), {})]) {
      assert.ok(JSON.stringify(screen).length < 100_000);
    }
  });

  it('sends nothing that only the server needs', () => {
    assert.deepEqual(Object.keys(podsScreen(source, {})?.rows[0] ?? {}).toSorted(), [
      'createdAt', 'isReady', 'name', 'namespace', 'problem', 'restarts', 'status', 'target', 'workload',
    ]);
  });
});

describe('the list of workloads', () => {
  it('says where the pods of each are, and how many wait', () => {
    assert.deepEqual(workloadsScreen(source, { namespace: 'shop' })?.rows, [{
      namespace: 'shop', kind: 'StatefulSet', name: 'web', pods: 4, running: 2,
      parts: [
        { target: 'eu', pods: 2, running: 1 }, { target: 'us', pods: 1, running: 1 },
        { target: undefined, pods: 1, running: 0 },
      ],
    }]);
  });

  it('has the largest first', () => {
    assert.deepEqual(workloadsScreen(source, {})?.rows.map(({ name }) => name), ['web', 'alone']);
  });

  it('counts each pod once, at one place, whatever the pods', () => {
    const pod = fc.record({
      name: fc.stringMatching(/^[a-z]{1,3}$/), namespace: fc.constantFrom('a', 'b'),
      target: fc.constantFrom('ClusterTarget/eu', 'Target/a/us'),
      owner: fc.constantFrom(web, { kind: 'Job', name: 'j' }),
    }, { requiredKeys: ['name'] });
    fc.assert(fc.property(fc.array(pod), (pods) => {
      const screen = workloadsScreen(seenSource(pods.map(shownPod)), {});
      const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
      assert.equal(sum(screen?.rows.map((row) => row.pods) ?? []), pods.length);
      for (const row of screen?.rows ?? []) {
        assert.equal(sum(row.parts.map((part) => part.pods)), row.pods);
        assert.equal(sum(row.parts.map((part) => part.running)), row.running);
      }
    }));
  });
});

describe('a list that cannot be read', () => {
  const denied = { kind: 'forbidden', message: 'you may not' } as const;

  it('says why and what to do, and never that there is none', () => {
    for (const screen of [podsScreen, workloadsScreen]) {
      const { total, unreadable } = screen(seenSource([], { pods: denied }), {}) ?? {};
      assert.equal(total, 0);
      assert.deepEqual(unreadable?.map(({ what, why }) => [what, why]), [['pods', 'you may not']]);
      assert.match(unreadable?.[0]?.advice ?? '', /namespace/);
    }
  });

  it('is not shown before it was read', () => {
    assert.equal(podsScreen(seenSource([], { pods: { kind: 'reading' } }), {}), undefined);
  });
});

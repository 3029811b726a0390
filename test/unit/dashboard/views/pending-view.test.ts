import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Explanation } from '../../../../scheduler/explain/explain.ts';
import { pendingScreen, waitingGroups } from '../../../../dashboard/views/pending-view.ts';
import type { Filters } from '../../../../dashboard/wire/routes.ts';
import type { UnreadablePart } from '../../../../dashboard/wire/screens.ts';
import { seenSource, shownPod, unschedulable } from '../../../support/objects/seen-pods.ts';

const noRoom = [unschedulable('0/1 targets are available: eu: InsufficientRoom: too large')];
const taint = [unschedulable('0/1 targets are available: eu: UntoleratedTaint: gpu')];
const pods = [
  shownPod({ name: 'a', conditions: noRoom, createdAt: '2026-01-01T10:02:00Z' }),
  shownPod({ name: 'b', conditions: noRoom, createdAt: '2026-01-01T10:01:00Z' }),
  shownPod({ name: 'c', conditions: taint }), shownPod({ name: 'd', target: 'ClusterTarget/eu' }),
  shownPod({ name: 'e', namespace: 'blog', conditions: noRoom, createdAt: '2026-01-01T10:03:00Z' }),
];
const source = seenSource(pods);
const explanation: Explanation = {
  targets: [],
  smallestChange: { target: 'ClusterTarget/eu', changes: ['InsufficientRoom: too large; or let it ask for less', 'x'] },
};
const screenOf = (filters: Filters, explanations = new Map<string, Explanation>(), part?: UnreadablePart) =>
  pendingScreen(source, waitingGroups(source, filters) ?? [], explanations, part);

describe('pending pods', () => {
  it('are grouped by why they wait, the largest group first and the oldest pod first', () => {
    const { groups, total } = screenOf({});
    assert.equal(total, 4);
    const shapes = groups.map(({ pods: number, since, examples }) => [number, since, examples.map(({ name }) => name)]);
    assert.deepEqual(shapes, [
      [3, '2026-01-01T10:01:00Z', ['b', 'a', 'e']], [1, '2026-01-01T10:00:00Z', ['c']],
    ]);
    assert.deepEqual(groups[0]?.workloads, ['shop/Pod/b', 'shop/Pod/a', 'blog/Pod/e']);
  });

  it('are those that the filters let through', () => {
    assert.deepEqual(screenOf({ namespace: 'blog' }).groups.map(({ pods: number }) => number), [1]);
    assert.equal(screenOf({ text: 'nothing' }).total, 0);
  });

  it('show the smallest change that would let the oldest in, and its reasons', () => {
    const [first, second] = screenOf({}, new Map([['uid-shop-b', explanation]])).groups;
    assert.deepEqual(first?.change, explanation.smallestChange);
    assert.equal(first?.reason, 'InsufficientRoom');
    assert.equal(second?.change, undefined);
    assert.equal(second?.reason, 'Unschedulable');
  });

  it('have all their reasons counted, of which the first 50 are shown', () => {
    const seen = seenSource(Array.from(
      { length: 60 }, (_, at) => shownPod({ name: `p-${at}`, conditions: [unschedulable(`${at}`)] }),
    ));
    const { groups, reasons, total } = pendingScreen(seen, waitingGroups(seen, {}) ?? [], new Map());
    assert.deepEqual([groups.length, reasons, total], [50, 60, 60]);
  });

  it('say which target would take the oldest now', () => {
    const chosen = new Map([['uid-shop-b', { chosen: 'ClusterTarget/us', targets: [] }]]);
    assert.equal(screenOf({}, chosen).groups[0]?.wouldGoTo, 'us');
  });

  it('say why there is no change to show, where that cannot be known', () => {
    const part = { what: 'evaluation of targets', why: 'you may not', advice: 'ask' };
    assert.deepEqual(screenOf({}, new Map(), part).unreadable, [part]);
    assert.deepEqual(screenOf({ text: 'nothing' }, new Map(), part).unreadable, []);
  });

  it('leave out pods that are being deleted, and those that run', () => {
    const deleted = shownPod({ name: 'z', conditions: noRoom });
    const going = { ...deleted, metadata: { ...deleted.metadata, deletionTimestamp: '2026-01-01T11:00:00Z' } };
    assert.deepEqual(waitingGroups(seenSource([going, shownPod({ target: 'ClusterTarget/eu' })]), {}), []);
  });

  it('are not known before they were read', () => {
    assert.equal(waitingGroups(seenSource([], { pods: { kind: 'reading' } }), {}), undefined);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../api/objects/core.ts';
import { PLACEMENT_ANNOTATION } from '../../../../api/objects/keys.ts';
import { decisionScreen, decisionsScreen } from '../../../../dashboard/views/decisions-view.ts';
import type { SeenJourney } from '../../../../dashboard/views/pod-view.ts';
import type { UnreadablePart } from '../../../../dashboard/wire/screens.ts';
import { seenSource, shownPod, type ShownPod } from '../../../support/objects/seen-pods.ts';

const boundAt = (second: number) => ({ conditions: [
  { type: 'PodScheduled', status: 'True', lastTransitionTime: `2026-01-01T10:00:0${second}Z` },
] as const });
const recorded = (record: object | string): Pick<ShownPod, 'annotations'> => ({
  annotations: { [PLACEMENT_ANNOTATION]: typeof record === 'string' ? record : JSON.stringify(record) },
});
const toEu = { target: 'ClusterTarget/eu', score: 0.8 };

describe('the list of decisions', () => {
  const pods = [
    shownPod({ name: 'first', target: 'ClusterTarget/eu', ...boundAt(1), ...recorded(toEu) }),
    shownPod({ name: 'last', namespace: 'blog', target: 'ClusterTarget/us', ...boundAt(9), ...recorded({
      target: 'ClusterTarget/us', score: 0.5, tier: 2, afterScaleUp: true,
      not: {
        'ClusterTarget/a': 'Cordoned', 'ClusterTarget/b': 'InsufficientRoom', 'ClusterTarget/c': 'InsufficientRoom',
      },
    }) }),
    shownPod({ name: 'broken', target: 'ClusterTarget/eu', ...boundAt(5), ...recorded('{') }),
    shownPod({ name: 'waiting' }),
  ];

  it('has each pod that has a record, the newest first, and says which record cannot be read', () => {
    const screen = decisionsScreen(seenSource(pods), {});
    assert.deepEqual(screen?.rows, [
      { namespace: 'blog', name: 'last', workload: 'Pod/last', at: '2026-01-01T10:00:09Z', decision: {
        target: 'us', score: 0.5, tier: 2, isAfterScaleUp: true,
        reasons: [{ reason: 'InsufficientRoom', targets: 2 }, { reason: 'Cordoned', targets: 1 }],
      } },
      { namespace: 'shop', name: 'broken', workload: 'Pod/broken', at: '2026-01-01T10:00:05Z' },
      { namespace: 'shop', name: 'first', workload: 'Pod/first', at: '2026-01-01T10:00:01Z', decision: {
        target: 'eu', score: 0.8, tier: undefined, isAfterScaleUp: false, reasons: [],
      } },
    ]);
    assert.deepEqual([screen?.total, screen?.unreadable], [3, []]);
  });

  it('is filtered as pods are', () => {
    const names = (filters: object) => decisionsScreen(seenSource(pods), filters)?.rows.map(({ name }) => name);
    assert.deepEqual(names({ namespace: 'shop' }), ['broken', 'first']);
    assert.deepEqual(names({ workload: 'Pod/first' }), ['first']);
    assert.deepEqual(names({ target: 'us' }), ['last']);
  });

  it('shows a page of very many, without what each target said', () => {
    const not = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`ClusterTarget/t-${index}`, 'Cordoned']));
    const many = Array.from({ length: 2_000 }, (_, index) => shownPod({
      name: `web-${index}`, target: 'ClusterTarget/eu', ...boundAt(1), ...recorded({ ...toEu, not }),
    }));
    const screen = decisionsScreen(seenSource(many), {});
    assert.deepEqual([screen?.rows.length, screen?.total], [200, 2_000]);
    assert.ok(JSON.stringify(screen).length < 60_000);
  });

  it('keeps no record that is longer than those of the scheduler', () => {
    const forged = recorded({ ...toEu, not: { 'ClusterTarget/us': 'x'.repeat(200_000) } });
    const source = seenSource([shownPod({ target: 'ClusterTarget/eu', ...forged })]);
    assert.ok(JSON.stringify(source).length < 5_000);
    assert.equal(decisionsScreen(source, {})?.rows[0]?.decision, undefined);
  });

  it('says that pods cannot be read, and waits for them', () => {
    const forbidden = { kind: 'forbidden', message: 'you may not' } as const;
    const { unreadable } = decisionsScreen(seenSource([], { pods: forbidden }), {}) ?? {};
    assert.deepEqual(unreadable?.map(({ why }) => why), ['you may not']);
    assert.equal(decisionsScreen(seenSource([], { pods: { kind: 'reading' } }), {}), undefined);
  });
});

describe('a decision beside what would be decided now', () => {
  const bound = (record: object) => shownPod({ target: 'ClusterTarget/eu', ...boundAt(1), ...recorded(record) });
  const passes = [{ filter: 'Room', answer: 'passes' }] as const;
  const no = (reason: string) => [{ filter: 'Room', answer: 'no', reason, message: 'none is free' }] as const;
  const journey = (pod: Pod, explanation?: SeenJourney['explanation']): SeenJourney => ({
    namespace: 'shop', pod: { kind: 'read', records: [pod] }, events: { kind: 'reading' }, targetSide: { kind: 'none' },
    explanation,
  });

  it('shows each target then and now, and what has changed', () => {
    const not =
      { 'ClusterTarget/us': 'InsufficientRoom', 'ClusterTarget/ap': 'Cordoned', 'ClusterTarget/gone': 'Lost' };
    const screen = decisionScreen(journey(bound({ ...toEu, not }), {
      chosen: 'ClusterTarget/ap', targets: [
        { target: 'ClusterTarget/ap', score: 0.9, checks: passes },
        { target: 'ClusterTarget/eu', score: 0.7, checks: passes },
        { target: 'ClusterTarget/us', checks: no('InsufficientRoom') },
        { target: 'ClusterTarget/new', checks: no('Lost') },
      ], margin: { over: 'ClusterTarget/eu', by: 'score', score: 0.2 },
    }));
    assert.deepEqual(screen?.targets.map(({ target, before, now, isSame }) => (
      [target, before && `${before.answer} ${before.why}`, now && `${now.answer} ${now.why}`, isSame]
    )), [
      ['eu', 'chosen score 0.800', 'possible score 0.700', false],
      ['us', 'no InsufficientRoom', 'no InsufficientRoom: none is free', true],
      ['ap', 'no Cordoned', 'chosen score 0.900', false],
      ['gone', 'no Lost', undefined, undefined],
      ['new', undefined, 'no Lost: none is free', undefined],
    ]);
    assert.deepEqual([screen?.isSame, screen?.at], [false, '2026-01-01T10:00:01Z']);
    assert.match(screen?.outcome?.join() ?? '', /ap leads .*eu by 0.200/);
  });

  it('says when the outcome is the same', () => {
    const again = { chosen: 'ClusterTarget/eu', targets: [{ target: 'ClusterTarget/eu', score: 0.1, checks: passes }] };
    assert.equal(decisionScreen(journey(bound(toEu), again))?.isSame, true);
    const none = { targets: [{ target: 'ClusterTarget/eu', checks: no('InsufficientRoom') }] };
    assert.equal(decisionScreen(journey(bound(toEu), none))?.isSame, false);
  });

  it('says why nothing can be decided now, and shows what was', () => {
    const part: UnreadablePart = { what: 'the evaluation of targets', why: 'you may not', advice: 'ask' };
    const screen = decisionScreen(journey(bound(toEu), part));
    assert.deepEqual([screen?.unreadable, screen?.recorded?.target, screen?.outcome, screen?.isSame], [
      [part], 'eu', undefined, undefined,
    ]);
    assert.deepEqual(screen?.targets, [{ target: 'eu', before: { answer: 'chosen', why: 'score 0.800' } }]);
  });

  it('is not there without a record, without the pod, and before the pod was read', () => {
    assert.deepEqual(decisionScreen(journey(shownPod()))?.recorded, undefined);
    const missing = { ...journey(shownPod()), pod: { kind: 'read', records: [] } } as const;
    assert.deepEqual(decisionScreen(missing), { screen: 'decision', targets: [], unreadable: [] });
    assert.equal(decisionScreen({ ...missing, pod: { kind: 'reading' } }), undefined);
  });
});

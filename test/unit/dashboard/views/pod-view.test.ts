import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../api/objects/core.ts';
import type { Explanation } from '../../../../scheduler/explain/explain.ts';
import { containerRows, eventRows, isOfPod } from '../../../../dashboard/pod/pod-events.ts';
import { podScreen, evaluationOf, type SeenJourney } from '../../../../dashboard/views/pod-view.ts';
import { stagesOf, type TargetSide } from '../../../../dashboard/pod/stages.ts';
import type { UnreadablePart, Stage } from '../../../../dashboard/wire/screens.ts';
import { shownPod, unschedulable } from '../../../support/objects/seen-pods.ts';

const at = (second: number) => `2026-01-01T10:00:0${second}Z`;
const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: at(3) } as const;
const isReady = { type: 'Ready', status: 'True', lastTransitionTime: at(6) } as const;
const running = { containerStatuses: [{ name: 'web', ready: true, state: { running: { startedAt: at(5) } } }] };
const part: UnreadablePart = { what: 'evaluation of targets', why: 'you may not', advice: 'ask' };
const bound = shownPod({
  target: 'ClusterTarget/eu', conditions: [{ ...scheduled, lastTransitionTime: at(4) }, isReady], status: running,
});
const delegate: Pod = {
  metadata: { namespace: 'shop', name: 'web-1-abc', creationTimestamp: at(2), uid: 'there' },
  spec: { containers: [{ name: 'web' }], nodeName: 'gpu-7' },
  status: { phase: 'Running', conditions: [scheduled, isReady], ...running },
};
const found: TargetSide =
  { kind: 'found', target: 'ClusterTarget/eu', sentAt: Date.parse(at(1)), delegate, events: [] };

const shape = (stages: readonly Stage[]) => stages.map(({ title, state }) => `${title}: ${state}`);

describe('the way of a pod', () => {
  it('shows every stage with its time when it has arrived', () => {
    assert.deepEqual(stagesOf(bound, found).map(({ title, state, at: time, note }) => [title, state, time, note]), [
      ['Elected', 'done', at(0), 'admitted as a proxy pod'],
      ['Target chosen', 'done', '2026-01-01T10:00:01.000Z', 'eu'],
      ['Delegate pod created', 'done', at(2), 'web-1-abc'],
      ['Scheduled to a node', 'done', at(3), 'gpu-7'],
      ['Bound to the virtual node', 'done', at(4), 'admiralty-eu'],
      ['Containers started', 'done', at(5), undefined],
      ['Ready', 'done', at(6), undefined],
    ]);
  });

  for (const [clock, hour] of [['ahead', '11'], ['behind', '09']] as const) {
    it(`stands at the same stage where the node's clock is an hour ${clock}, with the times of that clock`, () => {
      const text = JSON.stringify(delegate.status).replaceAll('T10:', `T${hour}:`);
      const later = JSON.parse(text) as NonNullable<Pod['status']>;
      const stages = stagesOf(bound, { ...found, delegate: { ...delegate, status: later } });
      assert.deepEqual(shape(stages), shape(stagesOf(bound, found)));
      assert.equal(stages.at(-1)?.at, `2026-01-01T${hour}:00:06Z`);
    });
  }

  const waiting = shownPod({ conditions: [unschedulable('0/1 targets')] });
  const there = (change: Partial<Pod>): TargetSide => ({ ...found, delegate: { ...delegate, ...change } });
  const created = { phase: 'Pending', conditions: [] } as const;
  for (const [what, pod, side, stage, note] of [
    ['no target can take it', waiting, { kind: 'none' }, 'Target chosen: failed', '0/1 targets'],
    ['the scheduler has not decided', shownPod(), { kind: 'none' }, 'Target chosen: now', undefined],
    ['a gate holds it', shownPod({ spec: { schedulingGates: [{ name: 'g' }] } }), { kind: 'none' },
      'Target chosen: now', undefined],
    ['its delegate was not made yet', shownPod(), { kind: 'found', target: 'ClusterTarget/eu', sentAt: 1 },
      'Delegate pod created: now', undefined],
    ['the target has not looked at it', shownPod(), there({ status: created }),
      'Scheduled to a node: now', undefined],
    ['the target has no room', shownPod(), there({ status: { ...created, conditions: [unschedulable('0/2 nodes')] } }),
      'Scheduled to a node: failed', '0/2 nodes'],
    ['the bind is missing', shownPod(), there({}), 'Bound to the virtual node: now', undefined],
    ['its image cannot be pulled', bound, there({
      status: { phase: 'Pending', conditions: [scheduled], containerStatuses: [
        { name: 'web', state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } } as never,
      ] },
    }), 'Containers started: failed', 'ImagePullBackOff: no such image'],
    ['its probe fails', bound, there({ status: { ...delegate.status, conditions: [
      scheduled, { type: 'Ready', status: 'False', message: 'containers with unready status: [web]' },
    ] } }), 'Ready: now', 'containers with unready status: [web]'],
  ] as readonly (readonly [string, Pod, TargetSide, string, string | undefined])[]) {
    it(`stops where ${what}`, () => {
      const stages = stagesOf(pod, side);
      const current = stages.filter(({ state }) => state === 'now' || state === 'failed');
      assert.deepEqual(shape(current), [stage]);
      if (note !== undefined) assert.equal(current[0]?.note, note);
      const after = stages.slice(stages.indexOf(current[0] as Stage) + 1);
      assert.ok(after.every(({ state }) => state === 'later' || state === 'done'), shape(after).join(', '));
    });
  }

  it('says of stages that cannot be read that they are not known, unless what came later tells', () => {
    assert.deepEqual(shape(stagesOf(shownPod(), { kind: 'unknown', unreadable: part })).slice(2, 4), [
      'Delegate pod created: unknown', 'Scheduled to a node: unknown',
    ]);
    assert.ok(stagesOf(bound, { kind: 'unknown', unreadable: part }).every(({ state }) => state === 'done'));
  });

  it('ends with how the pod ended, or that it is being deleted', () => {
    const failed = shownPod({ target: 'ClusterTarget/eu', phase: 'Failed', status: { reason: 'Evicted' } });
    assert.deepEqual(shape(stagesOf(failed, { kind: 'none' })).at(-1), 'Failed: failed');
    const deleted = { ...bound, metadata: { ...bound.metadata, deletionTimestamp: at(9) } };
    assert.deepEqual(shape(stagesOf(deleted, found)).at(-1), 'Terminating: now');
  });
});

describe('evaluation', () => {
  const explanation: Explanation = {
    chosen: 'ClusterTarget/eu',
    margin: { over: 'ClusterTarget/us', by: 'score', score: 0.25 },
    targets: [
      { target: 'ClusterTarget/eu', score: 0.75, checks: [{ filter: 'Room', answer: 'passes' }],
        scores: [{ name: 'leastAllocated', weight: 1, score: 0.75 }] },
      { target: 'ClusterTarget/us', score: 0.5, checks: [{ filter: 'Gate', answer: 'not-asked' }], scores: [] },
      { target: 'Target/shop/x', checks: [
        { filter: 'Room', answer: 'no', reason: 'InsufficientRoom', message: 'full' },
      ] },
    ],
  };

  it('are a matrix of targets by filters and scores, with the outcome in the words of explain', () => {
    const { outcome, targets } = evaluationOf(explanation);
    assert.deepEqual(outcome, ['ClusterTarget/eu leads ClusterTarget/us by 0.250.']);
    assert.deepEqual(targets.map(({ target, answer, score }) => [target, answer, score]), [
      ['eu', 'chosen', 0.75], ['us', 'possible', 0.5], ['shop/x', 'no', undefined],
    ]);
    assert.deepEqual(targets[0]?.passed, ['Room']);
    assert.deepEqual(targets[2]?.rejections, [{ filter: 'Room', reason: 'InsufficientRoom', message: 'full' }]);
  });
});

describe('the screen of a pod', () => {
  const journey: SeenJourney = {
    namespace: 'shop', pod: { kind: 'read', records: [bound] }, events: { kind: 'read', records: [] },
    targetSide: found,
    explanation: undefined,
  };

  it('shows both ends', () => {
    const screen = podScreen(journey);
    assert.deepEqual([screen?.source?.node, screen?.target?.node], ['admiralty-eu', 'gpu-7']);
    assert.deepEqual(screen?.target?.conditions.map(({ type }) => type), ['PodScheduled', 'Ready']);
    assert.deepEqual(screen?.unreadable, []);
  });

  it('says once why neither the evaluation nor the delegate can be read', () => {
    const screen = podScreen({ ...journey, targetSide: { kind: 'unknown', unreadable: part }, explanation: part });
    assert.deepEqual(screen?.unreadable, [part]);
    assert.equal(screen?.evaluation, undefined);
    assert.equal(screen?.target, undefined);
  });

  it('tells a pod that is not there from one that may not be read', () => {
    assert.deepEqual(podScreen({ ...journey, pod: { kind: 'read', records: [] } })?.unreadable, []);
    const denied = podScreen({ ...journey, pod: { kind: 'forbidden', message: 'you may not' } });
    assert.deepEqual(
      [denied?.pod, denied?.unreadable.map(({ what }) => what)], [undefined, ['pods of namespace shop']],
    );
    assert.equal(podScreen({ ...journey, pod: { kind: 'reading' } }), undefined);
  });
});

describe('policies to suppose', () => {
  const choice = { policies: ['PlacementPolicy/in-europe'], spec: 'require: {}' };
  const journey: SeenJourney = {
    namespace: 'shop', pod: { kind: 'read', records: [bound] }, events: { kind: 'read', records: [] },
    targetSide: found,
    explanation: { targets: [] }, choice,
  };

  it('are there with the evaluation, and while it cannot be made because of one of them', () => {
    assert.equal(podScreen(journey)?.choice, choice);
    assert.equal(podScreen({ ...journey, explanation: part })?.choice, choice);
  });

  it('are not there for a pod that is not', () => {
    assert.equal(podScreen({ ...journey, pod: { kind: 'read', records: [] } })?.choice, undefined);
  });
});

describe('more pods like it', () => {
  const explanation: Explanation = { chosen: 'ClusterTarget/eu', targets: [] };
  const journey = (planned: SeenJourney['planned'], known: SeenJourney['explanation'] = explanation): SeenJourney => ({
    namespace: 'shop', pod: { kind: 'read', records: [bound] }, events: { kind: 'read', records: [] },
    targetSide: found,
    explanation: known, planned,
  });
  const placed = (target: string) =>
    ({ kind: 'placed', pod: 'shop/web', target, afterScaleUp: false, afterSeconds: 0 }) as const;
  const waits = { kind: 'waits', pod: 'shop/web', explanation: { targets: [] } } as const;

  it('are counted by target, and the first that waits says why', () => {
    const all = [placed('ClusterTarget/eu'), placed('Target/shop/us'), placed('Target/shop/us'), waits, waits];
    assert.deepEqual(podScreen(journey(all))?.morePods, {
      pods: 5, waiting: 2, placed: [{ target: 'shop/us', pods: 2 }, { target: 'eu', pods: 1 }],
      why: ['There is no target for this namespace.'],
    });
    const denied = [{ kind: 'denied', pod: 'shop/web', message: 'no such namespace' }] as const;
    assert.deepEqual(podScreen(journey(denied))?.morePods?.why, ['no such namespace']);
  });

  it('are not there where nobody asked, and where targets cannot be evaluated any more', () => {
    assert.equal(podScreen(journey(undefined))?.morePods, undefined);
    assert.equal(podScreen(journey([placed('ClusterTarget/eu')], part))?.morePods, undefined);
  });

  it('are unreadable where they cannot be found out, and the evaluation of targets stays', () => {
    const why = 'namespaceelections is forbidden';
    const screen = podScreen(journey({ what: 'where more pods would go', why, advice: 'ask for the permission' }));
    assert.deepEqual([screen?.morePods, screen?.unreadable.map((one) => one.why)], [undefined, [why]]);
    assert.notEqual(screen?.evaluation, undefined);
  });
});

describe('a move', () => {
  const owner = { kind: 'ReplicaSet', name: 'web' };
  const offered = (pod: Pod, actions: SeenJourney['actions'] = ['move']) => podScreen({
    namespace: 'shop', pod: { kind: 'read', records: [pod] }, events: { kind: 'read', records: [] }, targetSide: found,
    explanation: undefined, actions,
  })?.actions;

  it('is offered for a pod that a controller creates again, to whoever may', () => {
    assert.deepEqual(offered(shownPod({ owner, target: 'ClusterTarget/eu' })), ['move']);
    assert.deepEqual(offered(shownPod({ owner })), ['move']);
    assert.deepEqual(offered(shownPod({ owner }), []), []);
  });

  it('is not offered for a pod that nothing would create again, or that ends', () => {
    assert.deepEqual(offered(shownPod({ target: 'ClusterTarget/eu' })), []);
    assert.deepEqual(offered(shownPod({ owner, target: 'ClusterTarget/eu', phase: 'Succeeded' })), []);
    const pod = shownPod({ owner, target: 'ClusterTarget/eu' });
    assert.deepEqual(offered({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: at(7) } }), []);
  });
});

describe('Events and containers', () => {
  it('are shown newest first, of either API, with their counts', () => {
    const rows = eventRows([
      { metadata: {}, reason: 'Old', message: 'm', type: 'Normal', lastTimestamp: at(1), count: 4 },
      {
        metadata: {}, reason: 'New', note: 'n', type: 'Warning', eventTime: at(1),
        series: { count: 9, lastObservedTime: at(8) },
      },
      { metadata: { creationTimestamp: at(5) }, reason: 'Bare' },
      { metadata: { creationTimestamp: at(5) }, reason: 'Same' },
    ]);
    assert.deepEqual(rows.map(({ reason, message, count, at: time }) => [reason, message, count, time]), [
      ['New', 'n', 9, at(8)], ['Bare', '', 1, at(5)], ['Same', '', 1, at(5)], ['Old', 'm', 4, at(1)],
    ]);
  });

  it('are of this pod, and not of an earlier one of its name', () => {
    const uid = bound.metadata.uid ?? '';
    assert.ok(isOfPod({ metadata: {}, involvedObject: { uid } }, bound));
    assert.ok(isOfPod({ metadata: {}, regarding: { uid } }, bound));
    assert.ok(!isOfPod({ metadata: {}, regarding: { uid: 'other' } }, bound));
    assert.ok(!isOfPod({ metadata: {}, regarding: { uid } }, undefined));
  });

  it('say what each container does, also one without a status', () => {
    const states = [
      { running: { startedAt: at(1) } }, { waiting: { reason: 'ContainerCreating' } }, { waiting: {} },
      { terminated: { reason: 'Error', exitCode: 1, message: 'oops' } }, undefined,
    ];
    const pod: Pod = {
      metadata: {}, spec: { containers: states.map((_, index) => ({ name: `c${index}` })) },
      status: { containerStatuses: states.map((state, index) => ({ name: `c${index}`, state }) as never) },
    };
    assert.deepEqual(containerRows(pod).map(({ state }) => state), [
      'Running', 'Waiting: ContainerCreating', 'Waiting', 'Terminated: Error (1)', 'Not started',
    ]);
  });
});

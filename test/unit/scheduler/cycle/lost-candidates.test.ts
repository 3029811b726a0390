// Candidates of which the source does not know enough: an answer was lost, a delete failed, the target is away. Such a
// pod must not run twice, and must not wait for ever where it need not.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { STOPS_UNCONFIRMED_ANNOTATION, TRUE } from '../../../../api/objects/keys.ts';
import { ApiError, UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import { toBeConfirmed } from '../../../../model/delegate/confirmation.ts';
import { toPodChaperon } from '../../../../model/delegate/pod-chaperon.ts';
import type { PolicyIndex } from '../../../../scheduler/snapshot/placement-rules.ts';
import { aPod, named, onNode, withMetadata } from '../../../support/objects/builders.ts';
import { aPolicyIndex, aClusterPolicy } from '../../../support/objects/placement.ts';
import {
  aPodOf, aPodRecord, before, FORBIDDEN, homesOf, REJECTED, ROOM, SCHEDULED, sent, writesOf,
} from '../../../support/objects/scheduled-pods.ts';
import { aSchedulingWorld } from '../../../support/doubles/scheduling-world.ts';

describe('a create of which nobody knows', () => {
  it('keeps the pod with its target, and is asked for again until it is known', async (t) => {
    const { world, a, b } = await before(t, (one) => (one.onCreate = new ApiError(504, 'Timeout', 'lost')));
    await world.pass(60_000);
    assert.deepEqual([b.creates, a.creates.every((uid) => uid === 'u'), a.creates.length > 1], [[], true, true]);
    a.onCreate = 'made';
    await world.pass(60_000);
    assert.deepEqual([homesOf(world, 'u'), b.creates], [['a'], []]);
  });
  it('that was done is found, and not done twice', async (t) => {
    const { world, a, b } = await before(t, (one) => (one.onCreate = 'made, answer lost'));
    a.onCreate = 'made';
    await world.pass(5_000);
    assert.deepEqual([a.holds, b.creates], [['u'], []]);
    a.deliver();
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(writesOf(world), ['bind admiralty-a']);
  });
  it('is no reason to try another target when its own rejects the next one: it asks what is there', async (t) => {
    const { world, a, b } = await before(t, (one) => (one.onCreate = 'made, answer lost'));
    a.onCreate = FORBIDDEN;
    await world.pass(5_000);
    assert.deepEqual([homesOf(world, 'u'), b.creates], [['a'], []]);
  });
  const pool = { targets: {}, patch: [{ op: 'add', path: '/metadata/annotations/pool', value: 'eu' }] } as const;
  const missing = { targets: {}, patch: [{ op: 'remove', path: '/spec/priorityClassName' }] } as const;
  const later: Record<string, PolicyIndex> = {
    'no longer applies': aPolicyIndex(aClusterPolicy({ overrides: [pool, missing] })),
    'is that of two policies now':
      aPolicyIndex(aClusterPolicy({ overrides: [pool] }), aClusterPolicy({ overrides: [] }, 'q')),
  };
  for (const [what, changed] of Object.entries(later)) {
    it(`is asked for again with the override that it was chosen with, where that ${what}`, async (t) => {
      const policyIndex = aPolicyIndex(aClusterPolicy({ overrides: [pool] }));
      const world = await aSchedulingWorld(t, ['a'], { policyIndex });
      const a = world.target('a');
      a.onCreate = new ApiError(504, 'Timeout', 'lost');
      await world.put(aPodOf('u'));
      await world.policies(changed);
      a.onCreate = 'made';
      await world.pass(60_000);
      assert.deepEqual([...a.stored.values()].map(({ metadata }) => metadata.annotations?.['pool']), ['eu']);
    });
  }
  it('is known by its answer, though the watch is behind', async (t) => {
    const { world, a, b } = await before(t, (one) => (one.onCreate = 'made, not seen yet'));
    await world.pass(60_000);
    assert.deepEqual([a.creates, b.creates], [['u'], []], 'asked once');
    a.deliver();
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(writesOf(world), ['bind admiralty-a']);
  });
  it('is over when the watch is past it, and somebody has deleted it meanwhile', async (t) => {
    const { world, a, b } = await before(t, (one) => (one.onCreate = 'made, not seen yet'));
    await world.put(aPodOf('v', named('other')));
    assert.equal(world.cache.podStateOf('u').pendingCreate?.kind, 'created');
    a.remove([...a.stored.keys()][0]!);
    await world.changed('a', {});
    assert.equal(a.creates.filter((uid) => uid === 'u').length + b.creates.filter((uid) => uid === 'u').length, 2);
  });
  it('is not sent while it is not known how the target is asked', async (t) => {
    const { world, a, b } = await before(t, (one, other) => {
      one.mode = undefined;
      other.onCreate = FORBIDDEN;
    });
    assert.deepEqual([a.creates, homesOf(world, 'u')], [[], []]);
    a.mode = 'PodChaperon';
    await world.changed('a', {});
    assert.deepEqual([a.holds, b.creates], [['u'], []]);
  });
  it('is over when its target is removed', async (t) => {
    const { world, b } = await before(t, (one) => (one.onCreate = new ApiError(504, 'Timeout', 'lost')));
    await world.removed('a');
    await world.pass(60_000);
    assert.deepEqual(b.creates, ['u']);
  });
});

describe('a candidate that is taken back', () => {
  const taking = async (t: TestContext, error: Error) => {
    const { world, a, b } = await sent(t);
    a.onDelete = error;
    a.setStatus('u', REJECTED);
    await world.settled();
    a.setStatus('u', SCHEDULED);
    await world.settled();
    return { world, a, b };
  };
  for (const error of [FORBIDDEN, new ApiError(409, 'Conflict', 'it has changed')]) {
    it(`stays where its target rejects that with ${error.status}, and may be bound after all`, async (t) => {
      const { world, b } = await taking(t, error);
      await world.pass(30_000);
      assert.deepEqual([writesOf(world), b.creates], [['bind admiralty-a'], []]);
    });
  }
  it('is never bound where nobody knows whether it is deleted', async (t) => {
    const { world, a, b } = await taking(t, new ApiError(504, 'Timeout', 'lost'));
    await world.pass(30_000);
    assert.deepEqual([writesOf(world), b.creates], [[], []]);
    a.onDelete = 'deleted';
    await world.pass(30_000);
    assert.deepEqual([writesOf(world), a.creates.length + b.creates.length], [[], 2], 'it is placed anew');
  });
});

describe('a target that stops unconfirmed candidates by itself', () => {
  const stops = { metadata: { annotations: { [STOPS_UNCONFIRMED_ANNOTATION]: TRUE } } };
  /** The second pod of a target carries a deadline: what an earlier process announced is known by then. */
  const timed = async (t: TestContext) => {
    const world = await aSchedulingWorld(t, ['a', 'b']);
    const [a, b] = [world.target('a'), world.target('b')];
    await world.changed('b', { isReady: false });
    a.publish(ROOM, stops);
    await world.put(aPodOf('v', named('other')));
    await world.put(aPodOf('u'));
    await world.changed('b', { isReady: true });
    return { world, a, b };
  };
  it('is sent a deadline, from the second candidate on', async (t) => {
    const { a } = await timed(t);
    assert.deepEqual([a.deadlineOf('v'), a.deadlineOf('u')], [undefined, new Date(1_000 + 25_000).toISOString()]);
  });
  it('hears within a second of all that are bound, in one word', async (t) => {
    const { world, a } = await timed(t);
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(a.announced, []);
    await world.pass(1_000);
    assert.deepEqual(a.announced, [new Date(1_000 + 25_001).toISOString()]);
    await world.pass(60_000);
    assert.equal(a.announced.length, 1);
  });
  it('hears of what was bound while it was away when it is back', async (t) => {
    const { world, a } = await timed(t);
    a.setStatus('u', SCHEDULED);
    await world.settled();
    await world.changed('a', { isReady: false });
    await world.pass(5_000);
    assert.deepEqual(a.announced, []);
    await world.changed('a', { isReady: true });
    await world.pass(1_000);
    assert.equal(a.announced.length, 1);
  });
  it('hears of what an earlier process has bound and not told', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    const a = world.target('a');
    await world.put(aPodOf('u', onNode('admiralty-a')));
    const deadline = 90_000;
    const chaperon = toPodChaperon(aPod(), { clusterId: 'source', namespace: 'team-a', name: 'web', uid: 'u' });
    const made = toBeConfirmed(
      { ...chaperon, metadata: { ...chaperon.metadata, uid: 'earlier', resourceVersion: '50' } }, deadline,
    );
    a.stored.set('team-a/earlier', made);
    a.deliver();
    await world.settled();
    await world.pass(1_000);
    assert.deepEqual(a.announced, [new Date(deadline + 1).toISOString()]);
  });
  it('hears nothing about a pod that was bound elsewhere', async (t) => {
    const { world, a } = await timed(t);
    await world.put(aPodOf('u', onNode('admiralty-b')));
    await world.pass(60_000);
    assert.deepEqual(a.announced, []);
  });
  it('loses the pod to another one when it is lost for long enough to have stopped it', async (t) => {
    const { world, a, b } = await timed(t);
    await world.changed('a', { isReady: false });
    await world.pass(44_999);
    a.silentMs = 44_999;
    await world.put(aPodOf('u', withMetadata({ resourceVersion: '2' })));
    assert.deepEqual(b.creates, []);
    a.silentMs = 47_000;
    await world.pass(2_001);
    assert.deepEqual([a.holds.toSorted(), b.creates], [['u', 'v'], ['u']], 'v has no deadline, and waits');
    await world.changed('a', { isReady: true, silentMs: 0 });
    assert.deepEqual([a.holds.includes('u'), writesOf(world)], [false, []], 'what is left of it is deleted');
    b.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(world.writes, [{ pod: 'u', what: 'bind admiralty-b' }]);
  });
  it('loses it as well where nobody knows whether it got the create', async (t) => {
    const { world, a, b } = await timed(t);
    a.onCreate = new UnreachableError('the connection was cut');
    await world.changed('b', { isReady: false });
    await world.put(aPodOf('w', named('third')));
    await world.changed('b', { isReady: true });
    await world.changed('a', { isReady: false, silentMs: 60_000 });
    await world.pass(50_000);
    assert.deepEqual([b.creates.includes('w'), homesOf(world, 'w')], [true, ['b']]);
  });
  it('tells how long that takes', async (t) => {
    const { world } = await timed(t);
    await world.changed('a', { isReady: false });
    await world.pass(5_000);
    const { target, outageMs, endsInMs, mayHaveCandidate } = world.cache.delayOf(aPodRecord('u'), 6_000);
    assert.deepEqual([target, outageMs, endsInMs, mayHaveCandidate], ['ClusterTarget/a', 5_000, 40_000, true]);
    await world.changed('a', { silentMs: undefined });
    assert.equal(world.cache.delayOf(aPodRecord('u'), 6_000).endsInMs, undefined,
      'a server that is down stops nothing');
  });
  it('tells nothing about a pod that is nowhere', async (t) => {
    const { world } = await timed(t);
    assert.deepEqual(world.cache.delayOf(aPodRecord('nowhere'), 6_000), { mayHaveCandidate: false });
  });
  it('is left after ten seconds without a verdict all the same', async (t) => {
    const { world, b } = await timed(t);
    await world.pass(9_999);
    assert.equal(b.creates.length, 0);
    await world.pass(1);
    assert.ok(b.creates.includes('u'));
  });
  it('need not stop the candidate of a pod that is gone: later ones are confirmed without it', async (t) => {
    const { world, a } = await timed(t);
    await world.changed('b', { isReady: false });
    await world.put(aPodOf('w', named('third')));
    await world.forget('team-a/web');
    a.setStatus('w', SCHEDULED);
    await world.settled();
    await world.pass(1_000);
    assert.equal(a.announced.length, 1);
    assert.ok(a.announced[0]! > a.deadlineOf('w')!);
  });
  it('keeps the pod while it is known to be down: its nodes may run on', async (t) => {
    const { world, b } = await timed(t);
    await world.changed('a', { isReady: false, silentMs: undefined });
    await world.pass(600_000);
    assert.deepEqual(b.creates, []);
  });
  it('must not stop one that it schedules late: the deadline goes before the bind', async (t) => {
    const { world, a } = await timed(t);
    await world.changed('a', { isReady: false });
    await world.pass(20_000);
    a.setStatus('u', SCHEDULED);
    await world.changed('a', { isReady: true });
    assert.deepEqual([a.released.length, a.deadlineOf('u'), writesOf(world)], [1, undefined, ['bind admiralty-a']]);
  });
});

describe('a target that is lost', () => {
  it('keeps the pod that it has, however long', async (t) => {
    const { world, a, b } = await sent(t);
    await world.changed('a', { isReady: false });
    await world.pass(20_000);
    const looks = t.mock.method(world.cache, 'gatherCandidates').mock;
    for (let waits = 0; waits < 12; waits += 1) await world.pass(300_000);
    assert.deepEqual([a.holds, b.creates, world.writes], [['u'], [], []]);
    assert.equal(looks.callCount(), 12, 'and it is looked at every five minutes, not more often');
  });
  it('and has decided meanwhile gets the bind when it is back', async (t) => {
    const { world, a } = await sent(t);
    await world.changed('a', { isReady: false });
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(world.writes, []);
    await world.changed('a', { isReady: true });
    assert.deepEqual(writesOf(world), ['bind admiralty-a']);
  });
  it('does not get other pods', async (t) => {
    const world = await aSchedulingWorld(t, ['a', 'b']);
    await world.changed('a', { isReady: false });
    await world.put(aPodOf('u'));
    assert.deepEqual([world.target('a').creates, world.target('b').creates], [[], ['u']]);
  });
  it('and removed from the source loses its pods to others', async (t) => {
    const { world, b } = await sent(t);
    await world.changed('a', { isReady: false });
    await world.removed('a');
    assert.deepEqual(b.creates, ['u']);
  });
});

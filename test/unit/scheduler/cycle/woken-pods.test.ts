// What the cache makes of events: how much room candidates take and until when, and which waiting pods a change wakes.
// A pod that is not woken waits five minutes; room that is not given back is lost until a restart.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, ResourceList } from '../../../../api/objects/core.ts';
import { STOPS_UNCONFIRMED_ANNOTATION, TRUE } from '../../../../api/objects/keys.ts';
import { toPodChaperon } from '../../../../model/delegate/pod-chaperon.ts';
import {
  aPod, inNamespace, inPhase, labelled, named, onNode, terminating, withMetadata, withRequests, withSpec, withUid,
} from '../../../support/objects/builders.ts';
import { aPolicyIndex, aClusterPolicy } from '../../../support/objects/placement.ts';
import { aPodOf, FORBIDDEN, homesOf, REJECTED, ROOM, SCHEDULED, sent,
  writesOf } from '../../../support/objects/scheduled-pods.ts';
import { aSchedulingWorld, type SchedulingWorld, type FakeTarget } from '../../../support/doubles/scheduling-world.ts';

const freeCpu = ({ cache }: SchedulingWorld, name = 'a') =>
  cache.views.snapshots().find(({ ref }) => ref.name === name)?.capacity?.free.get('cpu');
const upTo = (podsResourceVersion: string) => ({ observed: { podsResourceVersion } });
const large = (uid: string, cpu = '8') => aPodOf(uid, named(uid), withRequests({ cpu }));
/** Renewed summaries share what has not changed. */
const TWO: ResourceList = { ...ROOM, cpu: '2' };
const of = (cpu: string): ResourceList => ({ ...ROOM, cpu });

/** A chaperon that an earlier process has made for a pod. */
function leave(target: FakeTarget, uid: string, name = 'web'): void {
  const chaperon = toPodChaperon(aPod(), { clusterId: 'source', namespace: 'team-a', name, uid });
  const made = { ...chaperon, metadata: { ...chaperon.metadata, uid: `earlier-${uid}`, resourceVersion: '50' } };
  target.stored.set(`team-a/${made.metadata.name}`, made);
  target.deliver();
}

describe('the room of a candidate', () => {
  it('is taken at once, and counted by the summary later, never twice', async (t) => {
    const { world, a } = await sent(t);
    assert.equal(freeCpu(world), 63_000);
    a.setStatus('u', {});
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.equal(freeCpu(world), 63_000, 'a word about the delegate gives nothing back');
    a.publish(of('63'), { ...upTo('101') });
    assert.equal(freeCpu(world), 62_000, 'the summary is older than the delegate');
    a.publish(of('63'), { ...upTo('103') });
    assert.equal(freeCpu(world), 63_000);
    assert.equal(world.cache.views.ledger.size, 0);
  });
  it('is given back when it is taken back', async (t) => {
    const { world, a } = await sent(t);
    a.setStatus('u', REJECTED);
    await world.settled();
    assert.deepEqual([freeCpu(world), freeCpu(world, 'b')], [64_000, 63_000]);
  });
  it('is given back when its delegate has ended before any summary has counted it', async (t) => {
    const { world, a } = await sent(t);
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.equal(freeCpu(world), 63_000);
    a.setStatus('u', { phase: 'Succeeded' });
    assert.equal(freeCpu(world), 64_000);
  });
  it('is given back when the pod is gone', async (t) => {
    const { world } = await sent(t);
    await world.forget('team-a/web');
    assert.deepEqual([freeCpu(world), world.cache.podTracker.placed.size], [64_000, 0]);
  });
  it('stays taken while its target is away', async (t) => {
    const { world } = await sent(t);
    await world.changed('a', { isReady: false });
    await world.pass(600_000);
    assert.equal(freeCpu(world), 63_000);
  });
  it('is not taken for one that an earlier process has sent: its target counts it', async (t) => {
    const world = await aSchedulingWorld(t, ['a', 'b']);
    leave(world.target('a'), 'u');
    await world.put(aPodOf('u'));
    assert.deepEqual([homesOf(world, 'u'), world.target('b').creates, freeCpu(world)], [['a'], [], 64_000]);
    assert.equal(world.cache.podTracker.placed.nodeOf('u'), 'admiralty-a');
    world.target('a').setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(writesOf(world), ['bind admiralty-a']);
  });
  it('is taken in one target only, where earlier processes have left two', async (t) => {
    const world = await aSchedulingWorld(t, ['a', 'b']);
    for (const name of ['a', 'b']) leave(world.target(name), 'u');
    world.target('b').setStatus('u', SCHEDULED);
    await world.put(aPodOf('u'));
    assert.deepEqual([homesOf(world, 'u'), writesOf(world)], [['b'], ['bind admiralty-b']]);
  });
  it('of a pod that is gone is none of ours: whoever owns it cleans it up', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    leave(world.target('a'), 'stranger');
    await world.settled();
    assert.deepEqual([world.target('a').holds, world.writes], [['stranger'], []]);
  });
});

describe('where a pod counts as placed', () => {
  const placeOf = ({ cache }: SchedulingWorld) => cache.podTracker.placed.nodeOf('u');
  it('is where it was sent, then where it is bound, until it has ended', async (t) => {
    const { world, a } = await sent(t);
    assert.equal(placeOf(world), 'admiralty-a');
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.equal(placeOf(world), 'admiralty-a');
    await world.put(aPodOf('u', onNode('admiralty-a'), inPhase('Succeeded')));
    assert.equal(placeOf(world), undefined);
  });
  it('is nowhere once its candidate is gone and no other is sent', async (t) => {
    const { world, a, b } = await sent(t);
    b.onCreate = new Error('never');
    await world.changed('b', { isReady: false });
    a.setStatus('u', REJECTED);
    await world.settled();
    assert.equal(placeOf(world), undefined);
  });
  it('is nowhere once its target has rejected the create', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    world.target('a').onCreate = FORBIDDEN;
    await world.put(aPodOf('u'));
    assert.equal(placeOf(world), undefined);
  });
  it('is remembered no longer by the loop once it is bound, whatever its delegate does', async (t) => {
    const { world, a } = await sent(t);
    a.setStatus('u', SCHEDULED);
    await world.settled();
    a.setStatus('u', { phase: 'Running' });
    await world.settled();
    assert.equal(world.cache.podStateOf('u').targets.size, 0);
  });
  it('is where others have bound it', async (t) => {
    const { world } = await sent(t);
    await world.put(aPodOf('u', onNode('admiralty-b')));
    assert.equal(placeOf(world), 'admiralty-b');
  });
});

describe('a pod that waits for room', () => {
  /** Two CPUs are free, and a pod waits for eight. */
  const waiting = async (t: Parameters<typeof sent>[0], ...pods: readonly Pod[]) => {
    const world = await aSchedulingWorld(t, ['a']);
    const a = world.target('a');
    a.publish(TWO, upTo('1'));
    for (const pod of pods) await world.put(pod);
    assert.deepEqual(a.creates, []);
    return { world, a };
  };
  it('is woken by a summary with more', async (t) => {
    const { world, a } = await waiting(t, large('u'));
    a.publish(of('8'));
    await world.settled();
    assert.deepEqual(a.creates, ['u']);
  });
  it('is not looked at when a summary is only renewed', async (t) => {
    const { world, a } = await waiting(t, large('u'));
    const looks = t.mock.method(world.cache, 'gatherCandidates').mock;
    a.publish(TWO, upTo('999'));
    await world.settled();
    assert.equal(looks.callCount(), 0);
  });
  it('is not looked at when a target only goes on to answer', async (t) => {
    const world = await aSchedulingWorld(t, ['a', 'b'], { waiting: [large('u', '80')] });
    const looks = t.mock.method(world.cache, 'gatherCandidates').mock;
    await world.changed('a', {});
    assert.equal(looks.callCount(), 0);
  });
  it('is woken by another pod that goes', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    const a = world.target('a');
    a.publish(of('8'));
    await world.put(large('first'));
    await world.put(large('u'));
    assert.deepEqual(a.creates, ['first']);
    await world.put(terminating()(world.pods.get('team-a/first')!));
    assert.deepEqual(a.creates, ['first', 'u']);
  });
  it('is woken by a target that comes back', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    await world.changed('a', { isReady: false });
    await world.put(large('u'));
    await world.changed('a', { isReady: true });
    assert.deepEqual(world.target('a').creates, ['u']);
  });
  it('is woken by a policy that changes', async (t) => {
    const forbidding = aPolicyIndex(aClusterPolicy({ require: { matchLabels: { no: 'such' } } }));
    const world = await aSchedulingWorld(t, ['a'], { policyIndex: forbidding });
    await world.put(large('u'));
    assert.match(writesOf(world)[0] ?? '', /PolicyRequires/);
    await world.policies(aPolicyIndex());
    assert.deepEqual(world.target('a').creates, ['u']);
  });
  it('is not decided at all while policies are not known', async (t) => {
    const world = await aSchedulingWorld(t, ['a'], { policyIndex: { ...aPolicyIndex(), isComplete: false } });
    await world.put(large('u'));
    assert.match(writesOf(world)[0] ?? '', /PoliciesUnknown/);
    assert.deepEqual(world.target('a').creates, []);
  });
  it('is served by priority, not by age', async (t) => {
    const at = (second: number) => withMetadata({ creationTimestamp: `2026-01-01T00:00:0${second}Z` });
    const { world, a } = await waiting(
      t, at(1)(large('old')), at(2)(withSpec({ priority: 1_000 })(large('important'))), at(3)(large('young')),
    );
    a.publish(of('8'));
    await world.settled();
    assert.deepEqual(a.creates, ['important']);
    a.publish(of('24'));
    await world.settled();
    assert.deepEqual(a.creates, ['important', 'old', 'young']);
  });
  it('of a small namespace does not wait for all of a large one', async (t) => {
    const pods = ['1', '2', '3', '4'].map((index) => large(`many-${index}`));
    const { world, a } = await waiting(t, ...pods, inNamespace('team-b')(large('single')));
    a.publish(of('16'));
    await world.settled();
    assert.deepEqual(new Set(a.creates), new Set(['many-1', 'single']));
  });
});

const GATED = { conditions: [
  { type: 'PodScheduled', status: 'False' as const, reason: 'SchedulingGated', message: 'queued' },
] };

describe('a candidate that waits for its target', () => {
  const forbidding = aPolicyIndex(aClusterPolicy({ require: { matchLabels: { no: 'such' } } }));
  it('is taken back when a policy forbids the target meanwhile', async (t) => {
    const { world, a, b } = await sent(t);
    await world.policies(forbidding);
    assert.deepEqual([a.holds, b.creates], [[], []]);
    assert.match(writesOf(world).join(), /^Unschedulable: 0\/2 targets .*PolicyRequires/);
  });
  it('is taken back when its pod gets a label that such a policy selects', async (t) => {
    const podSelector = { matchLabels: { data: 'secret' } };
    const { world, a } = await sent(t);
    await world.policies(aPolicyIndex(aClusterPolicy({ podSelector, require: { matchLabels: { no: 'such' } } })));
    assert.deepEqual(a.holds, ['u']);
    await world.put(labelled({ data: 'secret' })(world.pods.get('team-a/web')!));
    assert.deepEqual(a.holds, []);
  });
  const CLOSED: Record<string, readonly [close: (world: SchedulingWorld) => Promise<void>, reason: RegExp]> = {
    'its virtual node is cordoned': [(world) => world.node('a', { unschedulable: true }), /a: Cordoned/],
    'its virtual node is tainted': [
      (world) => world.node('a', { taints: [{ key: 'upgrade', effect: 'NoSchedule' }] }), /a: UntoleratedTaint/,
    ],
    'it is being removed': [(world) => world.changed('a', { terminating: true }), /a: Removing/],
  };
  for (const [what, [close, reason]] of Object.entries(CLOSED)) {
    it(`goes elsewhere when ${what} meanwhile`, async (t) => {
      const { world, a, b } = await sent(t);
      await close(world);
      assert.deepEqual([a.holds, b.holds], [[], ['u']]);
    });
    it(`leaves the queue that holds it when ${what} meanwhile, also where no other target takes the pod`, async (t) => {
      const world = await aSchedulingWorld(t, ['a']);
      const a = world.target('a');
      await world.put(large('u'));
      a.setStatus('u', GATED);
      await close(world);
      assert.deepEqual(a.holds, []);
      assert.match(writesOf(world).join(), reason);
    });
  }
  it('stays in a cordoned target whose cordon the pod tolerates', async (t) => {
    const { world, a } = await sent(t, withSpec({ tolerations: [{ operator: 'Exists' }] }));
    await world.node('a', { unschedulable: true });
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(writesOf(world), ['bind admiralty-a']);
  });
  it('stays while nobody knows what the policies say', async (t) => {
    const { world, a } = await sent(t);
    await world.policies({ ...forbidding, isComplete: false });
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(writesOf(world), ['bind admiralty-a']);
  });
});

describe('a candidate that a queue of its target holds by a gate', () => {
  it('keeps its place while no other target would take the pod, and its user is told', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    const a = world.target('a');
    await world.put(large('u'));
    a.setStatus('u', GATED);
    for (let minutes = 0; minutes < 10; minutes += 1) await world.pass(60_000);
    assert.deepEqual([a.creates, a.holds], [['u'], ['u']]);
    assert.match(writesOf(world).join(), /^Unschedulable: 0\/1 targets .*a: SchedulingGated: held there [^,]*$/);
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.equal(writesOf(world).at(-1), 'bind admiralty-a');
  });
  it('is stopped by no deadline while it waits', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    const a = world.target('a');
    a.publish(ROOM, { metadata: { annotations: { [STOPS_UNCONFIRMED_ANNOTATION]: TRUE } } });
    await world.put(large('first')); // its successors carry a deadline
    a.setStatus('first', SCHEDULED);
    await world.put(large('u'));
    a.setStatus('u', GATED);
    await world.settled();
    assert.notEqual(a.deadlineOf('u'), undefined);
    for (let seconds = 0; seconds < 24; seconds += 1) await world.pass(1_000);
    assert.deepEqual([a.deadlineOf('u'), a.creates], [undefined, ['first', 'u']], 'before the deadline is over');
  });
  it('goes elsewhere once, and does not lose its place in one queue after the other', async (t) => {
    const { world, a, b } = await sent(t);
    a.setStatus('u', GATED);
    await world.settled();
    await world.pass(10_000);
    assert.deepEqual([a.holds, b.holds], [[], ['u']]);
    b.setStatus('u', GATED);
    for (let minutes = 0; minutes < 10; minutes += 1) await world.pass(60_000);
    assert.deepEqual([a.creates, b.creates, b.holds], [['u'], ['u'], ['u']]);
  });
  it('goes elsewhere as soon as there is room', async (t) => {
    const world = await aSchedulingWorld(t, ['a', 'b']);
    const [a, b] = [world.target('a'), world.target('b')];
    b.publish(of('2'));
    await world.put(large('u'));
    a.setStatus('u', GATED);
    await world.pass(60_000);
    assert.deepEqual([a.holds, b.holds], [['u'], []]);
    b.publish(ROOM);
    await world.pass(10_000);
    assert.deepEqual([a.holds, b.holds], [[], ['u']]);
  });
});

describe('a pod that waits for other pods', () => {
  const alone = (uid: string) => aPodOf(uid, named(uid), labelled({ app: 'web' }), withUid(uid), withSpec({ affinity: {
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution:
      [{ topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'web' } } }] } } }));
  it('is woken when one of them goes', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    const a = world.target('a');
    await world.put(alone('first'));
    await world.put(alone('second'));
    assert.deepEqual(a.creates, ['first']);
    assert.match(writesOf(world)[0] ?? '', /PodAntiAffinity: 1 pod with app=web is in/);
    a.setStatus('first', SCHEDULED);
    await world.settled();
    await world.put(aPodOf('first', named('first'), labelled({ app: 'web' }), onNode('admiralty-a'),
      inPhase('Failed')));
    assert.deepEqual(a.creates, ['first', 'second']);
  });
  it('and keeps others away does so from where it was sent, before it is bound', async (t) => {
    const world = await aSchedulingWorld(t, ['a', 'b']);
    await world.put(alone('first'));
    await world.put(aPodOf('plain', named('plain'), labelled({ app: 'web' })));
    assert.deepEqual([homesOf(world, 'first'), homesOf(world, 'plain')], [['a'], ['b']]);
  });
});

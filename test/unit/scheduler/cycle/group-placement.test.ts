// Pods of a group in the loop: none is bound before all have nodes, and when one fits nowhere all candidates are taken
// back. A group that is placed by halves holds room that nobody can use.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { POD_GROUP_LABEL, POD_GROUP_MIN_COUNT_ANNOTATION } from '../../../../api/objects/keys.ts';
import {
  annotated, labelled, named, onNode, terminating, withRequests, withUid,
} from '../../../support/objects/builders.ts';
import { aPolicyIndex, aClusterPolicy } from '../../../support/objects/placement.ts';
import {
  aPodOf, FORBIDDEN, gated, homesOf, REJECTED, ROOM, SCHEDULED, writesOf,
} from '../../../support/objects/scheduled-pods.ts';
import { GROUP_TIMEOUT_MS } from '../../../../scheduler/cycle/placement.ts';
import { aSchedulingWorld } from '../../../support/doubles/scheduling-world.ts';

const member = (uid: string, minCount = 2) => aPodOf(
  uid, named(uid), labelled({ [POD_GROUP_LABEL]: 'train' }), withRequests({ cpu: '2' }),
  annotated({ [POD_GROUP_MIN_COUNT_ANNOTATION]: `${minCount}` }),
);

/** Two members, and as much room in each target. */
async function aGroup(t: TestContext, cpu: Readonly<Record<string, string>> = { a: '2', b: '2' }, minCount = 2) {
  const world = await aSchedulingWorld(t, Object.keys(cpu));
  for (const [name, each] of Object.entries(cpu)) world.target(name).publish({ ...ROOM, cpu: each });
  await world.put(member('one', minCount));
  await world.put(member('two', minCount));
  const homes = () => ['one', 'two'].map((uid) => homesOf(world, uid, Object.keys(cpu))[0]);
  const say = async (uid: string, status: typeof SCHEDULED | typeof REJECTED) => {
    world.target(homesOf(world, uid)[0]!).setStatus(uid, status);
    await world.settled();
  };
  const binds = () => writesOf(world).filter((what) => what.startsWith('bind'));
  return { world, homes, say, binds };
}

describe('a group', () => {
  it('waits for its last member, and is then sent at once', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    await world.put(member('one'));
    assert.deepEqual([world.target('a').creates, writesOf(world)[0]?.includes('GroupIncomplete')], [[], true]);
    await world.put(member('two'));
    assert.deepEqual(world.target('a').creates.toSorted((one, other) => (one < other ? -1 : 1)), ['one', 'two']);
  });
  it('is told once that it waits, however many of its pods come one by one', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    const uids = ['one', 'two', 'three', 'four', 'five'];
    for (const uid of uids) await world.put(member(uid, 9));
    assert.deepEqual(world.writes.map(({ pod }) => pod), uids);
  });
  it('is bound when all have nodes, and not before', async (t) => {
    const { homes, say, binds } = await aGroup(t);
    assert.deepEqual(new Set(homes()), new Set(['a', 'b']));
    await say('one', SCHEDULED);
    assert.deepEqual(binds(), []);
    await say('two', SCHEDULED);
    assert.equal(binds().length, 2);
  });
  it('is sent nowhere where only half of it fits', async (t) => {
    const { world, homes } = await aGroup(t, { a: '2', b: '1' });
    assert.deepEqual(homes(), [undefined, undefined]);
    assert.ok(writesOf(world).some((what) => what.includes('2 of its pods must be placed together')));
    assert.equal(world.cache.views.ledger.size, 0);
  });
  it('that a policy keeps from all targets is placed as soon as that is gone', async (t) => {
    const policyIndex = aPolicyIndex(aClusterPolicy({ require: { matchLabels: { no: 'such' } } }));
    const world = await aSchedulingWorld(t, ['a'], { policyIndex });
    for (const uid of ['one', 'two']) await world.put(member(uid));
    assert.ok(writesOf(world).some((what) => what.includes('2 of its pods must be placed together')));
    await world.policies(aPolicyIndex());
    assert.deepEqual(homesOf(world, 'one', ['a']), ['a']);
  });
  it('is taken back when one of them fits nowhere any more', async (t) => {
    const { world, homes, say, binds } = await aGroup(t);
    const [, second] = homes();
    await say('one', SCHEDULED);
    await say('two', REJECTED);
    assert.deepEqual([homes(), binds(), world.cache.views.ledger.size], [[undefined, undefined], [], 0], second);
  });
  it('keeps its places when the one that was rejected has another', async (t) => {
    const { homes, say, binds } = await aGroup(t, { a: '2', b: '8' });
    assert.deepEqual(homes(), ['b', 'b']);
    await say('one', SCHEDULED);
    await say('two', REJECTED);
    assert.deepEqual(homes(), ['b', 'a']);
    await say('two', SCHEDULED);
    assert.equal(binds().length, 2);
  });
  it('that has been bound goes on one by one', async (t) => {
    const { world, say, binds } = await aGroup(t, { a: '8' });
    for (const uid of ['one', 'two']) await say(uid, SCHEDULED);
    await world.put(member('three'));
    await say('three', SCHEDULED);
    assert.equal(binds().length, 3);
  });
  it('is not committed by a pod that was bound before it was labelled into it', async (t) => {
    const { world, say, binds } = await aGroup(t, { a: '2', b: '2' }, 3);
    await world.put(onNode('admiralty-c')(member('of-another', 3)));
    await say('one', SCHEDULED);
    assert.deepEqual(binds(), [], 'it counts as one of them, no more');
    await say('two', SCHEDULED);
    assert.equal(binds().length, 2);
  });
  it('loses a member that is deleted before the bind, and waits for another', async (t) => {
    const { world, say, binds } = await aGroup(t);
    await say('one', SCHEDULED);
    await world.put(terminating()(world.pods.get('team-a/two')!));
    await world.pass(GROUP_TIMEOUT_MS - 1);
    assert.deepEqual([homesOf(world, 'two'), homesOf(world, 'one').length], [[], 1], 'another may be made at once');
    await world.pass(1);
    assert.deepEqual([homesOf(world, 'one'), binds(), world.cache.views.ledger.size], [[], [], 0]);
    await world.put(member('three'));
    await say('three', SCHEDULED);
    await say('one', SCHEDULED);
    assert.equal(binds().length, 2);
  });
  it('that was created again with smaller requests is placed, although nothing else has changed', async (t) => {
    const { world, homes } = await aGroup(t, { a: '2', b: '1' });
    for (const uid of ['one', 'two']) await world.forget(`team-a/${uid}`);
    const smaller = ['three', 'four'].map((uid) => withRequests({ cpu: '1' })(named(uid)(withUid(uid)(member('one')))));
    for (const pod of smaller) void world.put(pod); // a controller creates them at once
    await world.settled();
    assert.deepEqual([homesOf(world, 'three').length, homesOf(world, 'four').length], [1, 1], homes().join());
  });
  it('whose minimum is lowered while it waits is placed, although nothing else has changed', async (t) => {
    const { world, homes, say, binds } = await aGroup(t, { a: '2', b: '1' });
    await world.put(member('one', 1));
    assert.deepEqual(homes(), [undefined, undefined], 'the largest count of its pods is the minimum');
    await world.put(member('two', 1));
    assert.deepEqual(homes().filter((home) => home !== undefined), ['a']);
    await say('one', SCHEDULED);
    assert.equal(binds().length, 1);
  });
  it('whose minimum is lowered while its candidates wait binds those that have nodes', async (t) => {
    const { world, say, binds } = await aGroup(t);
    await say('one', SCHEDULED);
    for (const uid of ['one', 'two']) await world.put(member(uid, 1));
    assert.equal(binds().length, 1);
  });
  it('does not count a pod whose scheduling gate is shut, and holds no capacity for it', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    await world.put(gated(member('one')));
    await world.put(member('two'));
    assert.deepEqual([world.target('a').creates, world.cache.views.ledger.size], [[], 0]);
    assert.ok(writesOf(world).some((what) => what.includes('GroupIncomplete')));
    await world.put(member('one'));
    assert.deepEqual(world.target('a').creates.toSorted((one, other) => (one < other ? -1 : 1)), ['one', 'two']);
  });
  it('is placed anew when the target of a reserved place is removed before it was sent', async (t) => {
    const { world, homes } = await aGroup(t, { a: '2', b: '2', c: '8' });
    const [first] = homes();
    await world.removed(first!);
    assert.ok(homes().every((home) => home !== undefined && home !== first));
  });
  it('whose target rejects one of them at once takes the other back too, where there is no room elsewhere',
    async (t) => {
    const world = await aSchedulingWorld(t, ['a', 'b']);
    for (const name of ['a', 'b']) world.target(name).publish({ ...ROOM, cpu: '2' });
    world.target('b').onCreate = FORBIDDEN;
    await world.put(member('one'));
    await world.put(member('two'));
    assert.deepEqual([homesOf(world, 'one'), homesOf(world, 'two')], [[], []]);
    assert.equal(world.cache.views.ledger.size, 0);
  });
});

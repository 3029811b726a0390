import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  PodGroups, type GroupMember, type GroupState, type MemberState,
} from '../../../../scheduler/queue/pod-groups.ts';

function member(name: string, minCount = 3, rest: Partial<GroupMember> = {}): GroupMember {
  return {
    uid: `uid-${name}`, key: `team/${name}`, namespace: 'team', priority: 0, createdAt: 0,
    group: { name: 'train', minCount }, ...rest,
  };
}

/** Groups with members of these states. */
function groupsOf(states: Readonly<Record<string, MemberState>>, minCount = 3): PodGroups {
  const groups = new PodGroups();
  for (const [name, state] of Object.entries(states)) groups.put(member(name, minCount), state);
  return groups;
}

function told(groupState: GroupState | undefined): string {
  if (groupState?.kind !== 'incomplete') return groupState?.kind ?? 'none';
  return `needs ${groupState.needed} of ${groupState.unplaced.map(({ key }) => key.slice(5)).join(' ') || 'nobody'}`;
}

describe('the state of a group', () => {
  const cases: Record<string, readonly [states: Readonly<Record<string, MemberState>>, groupState: string]> = {
    'waits while members are missing': [{ a: 'unplaced', b: 'unplaced' }, 'too-few'],
    'needs a place for all that are there': [{ a: 'unplaced', b: 'unplaced', c: 'unplaced' }, 'needs 3 of a b c'],
    'needs no more than its least number':
      [{ a: 'unplaced', b: 'unplaced', c: 'unplaced', d: 'unplaced' }, 'needs 3 of a b c d'],
    'counts those that have been asked for': [{ a: 'asked', b: 'unplaced', c: 'unplaced' }, 'needs 2 of b c'],
    'and those that have their node': [{ a: 'placed', b: 'asked', c: 'unplaced' }, 'needs 1 of c'],
    'needs nobody while all are asked for': [{ a: 'placed', b: 'asked', c: 'asked' }, 'needs 0 of nobody'],
    'is complete when the least number has its nodes':
      [{ a: 'placed', b: 'placed', c: 'placed', d: 'unplaced' }, 'complete'],
    'stays complete when one is bound, whatever became of the others':
      [{ a: 'bound', b: 'unplaced', c: 'unplaced' }, 'complete'],
  };
  for (const [name, [states, groupState]] of Object.entries(cases)) {
    it(name, () => assert.equal(told(groupsOf(states).stateOf('uid-a')), groupState));
  }

  it('does not count a pod that has been relabelled into another group, and tells the others', () => {
    const groups = groupsOf({ a: 'unplaced', b: 'unplaced' }, 2);
    const heard = groups.put(member('b', 2, { group: { name: 'other', minCount: 2 } }), 'unplaced');
    assert.deepEqual(heard, ['team/a']);
    assert.deepEqual([told(groups.stateOf('uid-a')), told(groups.stateOf('uid-b'))], ['too-few', 'too-few']);
  });

  it('is none for a pod of no group', () => assert.equal(new PodGroups().stateOf('uid-a'), undefined));

  it('of one namespace says nothing of a group of the same name in another', () => {
    const groups = groupsOf({ a: 'unplaced', b: 'unplaced' }, 2);
    groups.put(member('c', 2, { namespace: 'other', key: 'other/c' }), 'unplaced');
    assert.equal(told(groups.stateOf('uid-c')), 'too-few');
  });

  it('is sorted once for all members, and again when one changes', () => {
    const groups = groupsOf({ a: 'unplaced', b: 'unplaced', c: 'unplaced' });
    const unplaced = () => ['uid-a', 'uid-b'].map((uid) => {
      const state = groups.stateOf(uid);
      return state?.kind === 'incomplete' ? state.unplaced : undefined;
    });
    const [ofA, ofB] = unplaced();
    assert.equal(ofA, ofB);
    groups.put(member('c', 3, { priority: 7 }), 'unplaced');
    assert.deepEqual(unplaced()[0]?.map(({ key }) => key), ['team/c', 'team/a', 'team/b']);
    groups.put(member('c'), 'asked');
    assert.equal(unplaced()[0]?.length, 2);
  });

  it('takes members by their turns', () => {
    const groups = groupsOf({ a: 'unplaced', b: 'unplaced' });
    groups.put(member('urgent', 3, { priority: 7 }), 'unplaced');
    assert.equal(told(groups.stateOf('uid-a')), 'needs 3 of urgent a b');
  });

  it('stays complete after the bound one has gone: whoever replaces it is placed by itself', () => {
    const groups = groupsOf({ a: 'bound', b: 'bound', c: 'bound' });
    groups.remove('uid-a');
    groups.put(member('a2'), 'unplaced');
    assert.equal(told(groups.stateOf('uid-a2')), 'complete');
  });

  it('begins anew once all members have gone', () => {
    const groups = groupsOf({ a: 'bound' }, 1);
    groups.remove('uid-a');
    groups.put(member('b', 2), 'unplaced');
    assert.equal(told(groups.stateOf('uid-b')), 'too-few');
  });
});

describe('a member that finds no place', () => {
  it('has the candidates of the others taken back, and the group begins anew when they are gone', () => {
    const groups = groupsOf({ a: 'placed', b: 'asked', c: 'unplaced' });
    assert.deepEqual(groups.fail('uid-c'), ['team/a', 'team/b']);
    assert.equal(told(groups.stateOf('uid-a')), 'failed');
    assert.deepEqual(groups.displace('uid-a'), ['team/b', 'team/c']);
    assert.equal(told(groups.stateOf('uid-c')), 'failed');
    groups.displace('uid-b');
    assert.equal(told(groups.stateOf('uid-c')), 'needs 3 of a b c');
  });

  it('concerns nobody while nobody has a candidate', () => {
    const groups = groupsOf({ a: 'unplaced', b: 'unplaced', c: 'unplaced' });
    assert.deepEqual(groups.fail('uid-c'), []);
    assert.equal(told(groups.stateOf('uid-a')), 'needs 3 of a b c');
  });

  it('is waited for no longer once the candidates of the others are gone, whoever has joined', () => {
    const groups = groupsOf({ a: 'placed', b: 'unplaced', c: 'joined' });
    assert.equal(told(groups.stateOf('uid-a')), 'needs 1 of b');
    groups.fail('uid-b');
    groups.displace('uid-a');
    assert.equal(told(groups.stateOf('uid-a')), 'needs 2 of a b');
  });

  it('concerns nobody once the group is committed', () => {
    const groups = groupsOf({ a: 'bound', b: 'placed', c: 'unplaced' });
    assert.deepEqual(groups.fail('uid-c'), []);
    assert.equal(told(groups.stateOf('uid-b')), 'complete');
  });
});

describe('who is told of a change', () => {
  it('the others, when a state has changed', () => {
    const groups = groupsOf({ a: 'unplaced', b: 'unplaced' });
    assert.deepEqual(groups.put(member('a'), 'asked'), ['team/b']);
    assert.deepEqual(groups.put(member('a'), 'asked'), []);
  });

  it('the others, when the minimum has changed, which is the largest count: nobody for the counts below it', () => {
    const groups = groupsOf({ a: 'placed', b: 'placed' });
    assert.deepEqual(groups.put(member('a', 2), 'placed'), []);
    assert.equal(told(groups.stateOf('uid-a')), 'too-few');
    assert.deepEqual(groups.put(member('b', 2), 'placed'), ['team/a']);
    assert.equal(told(groups.stateOf('uid-a')), 'complete');
    assert.deepEqual(groups.put(member('a', 4), 'placed'), ['team/b']);
  });

  it('the others, when one comes or goes', () => {
    const groups = groupsOf({ a: 'unplaced' }, 2);
    assert.deepEqual(groups.put(member('b', 2), 'unplaced'), ['team/a']);
    assert.deepEqual(groups.remove('uid-b'), ['team/a']);
    assert.deepEqual(groups.remove('uid-b'), []);
    assert.deepEqual(groups.displace('uid-b'), []);
  });

  it('nobody, when one comes and there are still too few, unless it asks for more', () => {
    const groups = groupsOf({ a: 'placed' });
    assert.deepEqual(groups.put(member('b'), 'unplaced'), []);
    assert.deepEqual(groups.put(member('c'), 'unplaced'), ['team/a', 'team/b']);
    assert.deepEqual(groups.put(member('d', 5), 'unplaced'), ['team/a', 'team/b', 'team/c']);
  });
});

describe('laws', () => {
  const states = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom<MemberState>('unplaced', 'asked', 'placed'),
    { minKeys: 1, noNullPrototype: true },
  );

  it('a group is complete just when its least number has a node', () => {
    fc.assert(fc.property(states, fc.integer({ min: 1, max: 6 }), (given, minCount) => {
      const placed = Object.values(given).filter((state) => state === 'placed').length;
      const groupState = groupsOf(given, minCount).stateOf(`uid-${Object.keys(given)[0]}`);
      assert.equal(groupState?.kind === 'complete', placed >= minCount);
    }));
  });

  it('what is needed, asked and placed is never less than the least number', () => {
    fc.assert(fc.property(states, fc.integer({ min: 1, max: 5 }), (given, minCount) => {
      const groupState = groupsOf(given, minCount).stateOf(`uid-${Object.keys(given)[0]}`);
      if (groupState?.kind !== 'incomplete') return;
      const under = Object.values(given).filter((state) => state !== 'unplaced').length;
      assert.ok(groupState.needed + under >= minCount);
      assert.ok(groupState.needed <= groupState.unplaced.length);
    }));
  });
});

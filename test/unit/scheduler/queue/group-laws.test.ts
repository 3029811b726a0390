// Pod groups and their messages under whatever comes: all or none, and nobody is told of nothing.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { groupDoesNotFit, tooFewMembers } from '../../../../scheduler/queue/group-rejections.ts';
import { PodGroups, type GroupMember, type MemberState } from '../../../../scheduler/queue/pod-groups.ts';
import { SKIPPED_WAIT_MS, VerdictTimes } from '../../../../scheduler/queue/verdict-times.ts';

const NAMES = ['a', 'b', 'c', 'd'];
const member = (name: string, minCount: number): GroupMember => ({
  uid: `uid-${name}`, key: `team/${name}`, namespace: 'team', priority: 0, createdAt: 0,
  group: { name: 'train', minCount },
});
const event = fc.oneof(
  fc.record({
    kind: fc.constant('put' as const), name: fc.constantFrom(...NAMES),
    state: fc.constantFrom<MemberState>('unplaced', 'asked', 'placed', 'bound'),
  }),
  fc.record({
    kind: fc.constantFrom('displace' as const, 'remove' as const, 'fail' as const), name: fc.constantFrom(...NAMES),
  }),
);
const events = fc.array(event, { maxLength: 25 });
const counts = fc.integer({ min: 1, max: 4 });

/** What a group should know after these events: written down, not computed as the code does. */
class Ledger {
  readonly states = new Map<string, MemberState>();
  mayHaveCandidate = false;

  note(each: { readonly kind: string; readonly name: string; readonly state?: MemberState }): void {
    const { kind, name, state } = each;
    if (kind === 'put' && state !== undefined) this.states.set(name, state);
    if (kind === 'displace' && this.states.has(name)) this.states.set(name, 'unplaced');
    if (kind === 'remove') this.states.delete(name);
    if (this.states.get(name) === 'bound') this.mayHaveCandidate = true;
    if (this.states.size === 0) this.mayHaveCandidate = false;
  }

  count(...wanted: readonly MemberState[]): number {
    return [...this.states.values()].filter((state) => wanted.includes(state)).length;
  }
}

/** Groups after these events, with what each of them told. */
function after(
  some: readonly { readonly kind: string; readonly name: string; readonly state?: MemberState }[], minCount: number,
) {
  const groups = new PodGroups();
  const ledger = new Ledger();
  const told: { readonly name: string; readonly keys: readonly string[]; readonly before: number }[] = [];
  for (const each of some) {
    const { kind, name, state } = each;
    const before = ledger.states.size;
    const keys = kind === 'put' ? groups.put(member(name, minCount), state ?? 'unplaced')
      : kind === 'displace' ? groups.displace(`uid-${name}`)
      : kind === 'remove' ? groups.remove(`uid-${name}`) : groups.fail(`uid-${name}`);
    ledger.note(each);
    told.push({ name, keys, before });
  }
  return { groups, ledger, told };
}

describe('a group, whatever happens to its members', () => {
  it('is known to those that are there, and to nobody else', () => {
    fc.assert(fc.property(events, counts, (some, minCount) => {
      const { groups, ledger } = after(some, minCount);
      for (const name of NAMES) {
        assert.equal(groups.stateOf(`uid-${name}`) !== undefined, ledger.states.has(name), name);
      }
    }));
  });
  it('says the same to each of them', () => {
    fc.assert(fc.property(events, counts, (some, minCount) => {
      const { groups, ledger } = after(some, minCount);
      const said = [...ledger.states.keys()].map((name) => groups.stateOf(`uid-${name}`));
      for (const each of said) assert.deepEqual(each, said[0]);
    }));
  });
  it('stays complete once one is bound, until all of them are gone', () => {
    fc.assert(fc.property(events, counts, (some, minCount) => {
      const { groups, ledger } = after(some, minCount);
      if (!ledger.mayHaveCandidate) return;
      for (const name of ledger.states.keys()) assert.equal(groups.stateOf(`uid-${name}`)?.kind, 'complete');
    }));
  });
  it('asks for as many as are missing, and never for one that has been asked for', () => {
    fc.assert(fc.property(events, counts, (some, minCount) => {
      const { groups, ledger } = after(some, minCount);
      const [first] = ledger.states.keys();
      const state = groups.stateOf(`uid-${first}`);
      if (state?.kind !== 'incomplete') return;
      assert.equal(state.needed, Math.max(0, minCount - ledger.count('asked', 'placed')));
      assert.deepEqual(state.unplaced.map(({ key }) => key.slice(5)).toSorted(),
        [...ledger.states].filter(([, its]) => its === 'unplaced').map(([name]) => name).toSorted());
    }));
  });
  it('is failed only while somebody has a candidate: then it begins anew', () => {
    fc.assert(fc.property(events, counts, (some, minCount) => {
      const { groups, ledger } = after(some, minCount);
      const [first] = ledger.states.keys();
      if (groups.stateOf(`uid-${first}`)?.kind !== 'failed') return;
      assert.ok(!ledger.mayHaveCandidate && ledger.count('asked', 'placed') > 0);
      for (const name of ledger.states.keys()) groups.displace(`uid-${name}`);
      assert.notEqual(groups.stateOf(`uid-${first}`)?.kind, 'failed');
    }));
  });
  it('tells the others, and never the one that it happened to', () => {
    fc.assert(fc.property(events, counts, (some, minCount) => {
      for (const { name, keys, before } of after(some, minCount).told) {
        assert.equal(keys.includes(`team/${name}`), false);
        assert.ok(keys.length <= before);
      }
    }));
  });
});

describe('what is said of a group', () => {
  const pod = { group: { name: 'train', minCount: 8 } };
  it('that has too few members is how many must be', () => assert.deepEqual(tooFewMembers(pod, { minCount: 8 }), {
    target: 'group train', reason: 'GroupIncomplete',
    message: 'fewer than 8 of its pods exist without a scheduling gate; create the others, or open their gates',
  }));
  it('that does not fit is how many must, and that none is sent', () => assert.deepEqual(groupDoesNotFit(pod, 5), {
    target: 'group train', reason: 'GroupDoesNotFit',
    message: '5 of its pods must be placed together, and fewer fit now; none is sent until all fit',
  }));
});

describe('the time from which patience counts', () => {
  const candidate = fc.record({ seenAt: fc.nat({ max: 100_000 }), priority: fc.constantFrom(-1, 0, 7) });
  const note = fc.tuple(fc.nat({ max: 200_000 }), fc.option(candidate, { nil: undefined }));
  const notes = fc.array(note, { maxLength: 12 }).map((all) => all.toSorted(([one], [other]) => one - other));
  type Note = readonly [at: number, decided: { readonly seenAt: number; readonly priority: number } | undefined];
  const timesOf = (all: readonly Note[]): VerdictTimes => {
    const times = new VerdictTimes();
    for (const [at, decided] of all) times.note('c', at, decided);
    return times;
  };

  it('is never before the candidate was seen, and never after the last verdict and that', () => {
    fc.assert(fc.property(notes, candidate, (all, one) => {
      const since = timesOf(all).waitingSince('c', one);
      assert.ok(since >= one.seenAt);
      assert.ok(since <= Math.max(one.seenAt, all.at(-1)?.[0] ?? 0));
    }));
  });
  it('is bounded exactly for those that one was preferred to that came later and is not more important', () => {
    fc.assert(fc.property(notes, candidate, (all, one) => {
      const isPassedOver = all.some(([, decided]) => decided !== undefined && decided.priority <= one.priority
        && decided.seenAt > one.seenAt + 2_000);
      const since = timesOf(all).waitingSince('c', one);
      const last = Math.max(one.seenAt, all.at(-1)?.[0] ?? 0);
      assert.equal(since, isPassedOver ? Math.min(last, one.seenAt + SKIPPED_WAIT_MS) : last);
    }));
  });
  it('is not moved by what another target decides', () => {
    fc.assert(fc.property(notes, candidate, (all, one) => {
      const times = timesOf(all);
      const before = times.waitingSince('c', one);
      times.note('other', 1_000_000, { seenAt: 999_999, priority: -9 });
      assert.equal(times.waitingSince('c', one), before);
    }));
  });
});

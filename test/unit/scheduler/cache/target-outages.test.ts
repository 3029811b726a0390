import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TargetOutages } from '../../../../scheduler/cache/target-outages.ts';

const READY = { isReady: true, isGone: false };
const SILENT = { isReady: false, isGone: false };
const GONE = { isReady: false, isGone: true };

describe('TargetOutages', () => {
  it('counts from the first time a target was not ready', () => {
    const targets = new TargetOutages();
    assert.equal(targets.outageMs('c', 5), undefined);
    targets.note('c', SILENT, 10);
    targets.note('c', GONE, 20);
    assert.equal(targets.outageMs('c', 25), 15);
    targets.note('c', READY, 30);
    assert.equal(targets.outageMs('c', 35), undefined);
    targets.note('c', SILENT, 40);
    targets.remove('c');
    assert.equal(targets.outageMs('c', 45), undefined);
  });

  it('keeps targets apart, and forgets all of one that is removed', () => {
    const targets = new TargetOutages();
    for (const key of ['a', 'b']) {
      targets.note(key, READY, 0);
      targets.note(key, GONE, 1_000);
    }
    targets.note('a', READY, 3_000);
    assert.deepEqual([targets.outageMs('a', 4_000), targets.outageMs('b', 4_000)], [undefined, 3_000]);
    assert.deepEqual(targets.restarted(3_500), ['a']);
    targets.remove('a');
    assert.deepEqual([targets.restarted(3_500), targets.isRestarted('a', 3_500)], [[], false]);
    targets.note('a', GONE, 4_000);
    assert.equal(targets.note('a', READY, 9_000), undefined, 'a target of the same name is a new one');
  });
  it('avoids one that restarts again from its last return', () => {
    const targets = new TargetOutages();
    targets.note('c', READY, 0);
    targets.note('c', GONE, 0);
    assert.equal(targets.note('c', READY, 20_000), 20_000);
    targets.note('c', GONE, 21_000);
    assert.equal(targets.note('c', READY, 22_000), 1_000);
    assert.deepEqual([targets.isRestarted('c', 22_999), targets.isRestarted('c', 23_000)], [true, false]);
  });
  it('does not take a connection that was cut before it was first ready for a restart', () => {
    const targets = new TargetOutages();
    targets.note('c', GONE, 0);
    targets.note('c', READY, 1_000);
    targets.note('c', SILENT, 2_000);
    assert.equal(targets.note('c', READY, 3_000), undefined, 'what was seen before its return does not count');
  });

  const avoided: Readonly<Record<string, readonly [
    notes: readonly (readonly [object, number])[], ms: number | undefined,
  ]>> = {
    'as long as its API server was gone': [[[READY, 0], [GONE, 1_000], [READY, 5_000]], 4_000],
    'as long as that, not for the silence before':
      [[[READY, 0], [SILENT, 1_000], [GONE, 2_000], [READY, 5_000]], 3_000],
    'also for silence after that': [[[READY, 0], [GONE, 1_000], [SILENT, 2_000], [READY, 5_000]], 4_000],
    'for half a minute at most': [[[READY, 0], [GONE, 1_000], [READY, 900_000]], 30_000],
    'not after silence: its scheduler has worked on': [[[READY, 0], [SILENT, 1_000], [READY, 5_000]], undefined],
    'not when it is ready for the first time': [[[GONE, 0], [READY, 5_000]], undefined],
    'not while it stays ready': [[[READY, 0], [READY, 5_000]], undefined],
  };
  for (const [what, [notes, ms]] of Object.entries(avoided)) {
    it(`avoids a target ${what}`, () => {
      const targets = new TargetOutages();
      const told = notes.map(([signs, at]) => targets.note('c', signs as typeof READY, at)).at(-1);
      const last = notes.at(-1)?.[1] ?? 0;
      assert.equal(told, ms);
      assert.equal(targets.isRestarted('c', last), ms !== undefined);
      assert.deepEqual(targets.restarted(last), ms === undefined ? [] : ['c']);
      assert.equal(targets.isRestarted('c', last + (ms ?? 0)), false);
      assert.deepEqual(targets.restarted(last + (ms ?? 0)), []);
    });
  }
});

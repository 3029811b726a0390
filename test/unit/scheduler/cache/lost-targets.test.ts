import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LostTargets } from '../../../../scheduler/cache/lost-targets.ts';

const READY = { isReady: true, isGone: false };
const SILENT = { isReady: false, isGone: false };
const GONE = { isReady: false, isGone: true };

describe('LostTargets', () => {
  it('counts from the first time a target was not ready', () => {
    const targets = new LostTargets();
    assert.equal(targets.lostForMs('c', 5), undefined);
    targets.note('c', SILENT, 10);
    targets.note('c', GONE, 20);
    assert.equal(targets.lostForMs('c', 25), 15);
    targets.note('c', READY, 30);
    assert.equal(targets.lostForMs('c', 35), undefined);
    targets.note('c', SILENT, 40);
    targets.remove('c');
    assert.equal(targets.lostForMs('c', 45), undefined);
  });

  const avoided: Readonly<Record<string, readonly [
    notes: readonly (readonly [object, number])[], ms: number | undefined,
  ]>> = {
    'as long as it was away, once its API server was gone': [[[READY, 0], [GONE, 1_000], [READY, 5_000]], 4_000],
    'also where it was silent at first': [[[READY, 0], [SILENT, 1_000], [GONE, 2_000], [READY, 5_000]], 4_000],
    'for half a minute at most': [[[READY, 0], [GONE, 1_000], [READY, 900_000]], 30_000],
    'not after silence: its scheduler has worked on': [[[READY, 0], [SILENT, 1_000], [READY, 5_000]], undefined],
    'not when it is ready for the first time': [[[GONE, 0], [READY, 5_000]], undefined],
    'not while it stays ready': [[[READY, 0], [READY, 5_000]], undefined],
  };
  for (const [what, [notes, ms]] of Object.entries(avoided)) {
    it(`avoids a target ${what}`, () => {
      const targets = new LostTargets();
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

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ReadyTargets } from '../../../targets/ready-targets.ts';

const OBJECT = { spec: { kubeconfigSecret: { name: 's' } }, labels: { tier: 'one' }, hasLeft: false };
const WELL = [true, OBJECT] as const;
const LOST = [false, OBJECT] as const;

describe('ReadyTargets', () => {
  const cases: Readonly<Record<string, readonly [
    notes: readonly (readonly [isReady: boolean, object: typeof OBJECT | undefined])[], isNews: boolean,
  ]>> = {
    'a target that is ready for the first time is news': [[WELL], true],
    'one that is not ready is none': [[LOST], false],
    'one that stays ready is none, however often it is noted': [[WELL, WELL, [true, { ...OBJECT }]], false],
    'one that has come back is news': [[WELL, LOST, WELL], true],
    'one that is still lost is none': [[WELL, LOST, LOST], false],
    'one with another spec is news': [[WELL, [true, { ...OBJECT, spec: { kubeconfigSecret: { name: 't' } } }]], true],
    'one with other labels is news': [[WELL, [true, { ...OBJECT, labels: { tier: 'two' } }]], true],
    'one that is back in its registry is news': [[[true, { ...OBJECT, hasLeft: true }], WELL], true],
    'one whose object is gone is none': [[WELL, [true, undefined]], false],
  };
  for (const [what, [notes, isNews]] of Object.entries(cases)) {
    it(what, () => {
      const targets = new ReadyTargets();
      assert.equal(notes.map(([isReady, object]) => targets.note('c', isReady, object)).at(-1), isNews);
    });
  }

  it('forgets one that was deleted, and mixes none up', () => {
    const targets = new ReadyTargets();
    targets.note('c', ...WELL);
    assert.ok(targets.note('d', ...WELL));
    targets.remove('c');
    assert.ok(targets.note('c', ...WELL));
    assert.ok(!targets.note('d', ...WELL));
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { TargetsOfTenant, type RankedTarget } from '../../../targets/tenant-targets.ts';

const target = (key: string, createdAt: number): RankedTarget => ({ key, createdAt });

describe('the Targets of a namespace', () => {
  it('are used, the oldest first, in whatever order they come', () => {
    const of = new TargetsOfTenant(2);
    const [old, middle, young] = [target('old', 1), target('middle', 2), target('young', 3)];
    assert.deepEqual([of.add(young), of.add(middle), of.add(old)], [undefined, undefined, 'young']);
    assert.deepEqual([old, middle, young].map((one) => of.isUsed(one)), [true, true, false]);
    assert.equal(of.remove(middle), 'young');
    assert.equal(of.isUsed(young), true);
  });

  it('that are not used make no room', () => {
    const of = new TargetsOfTenant(1);
    of.add(target('a', 1));
    of.add(target('b', 2));
    assert.equal(of.remove(target('b', 2)), undefined);
    assert.equal(of.isUsed(target('a', 1)), true);
  });

  it('are used as a sort of all of them says, whatever came and went', () => {
    const step = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), goes: fc.boolean() });
    fc.assert(fc.property(fc.array(step, { maxLength: 40 }),
      fc.integer({ min: 1, max: 4 }), fc.func(fc.integer({ min: 0, max: 3 })), (steps, most, ageOf) => {
      const of = new TargetsOfTenant(most);
      const there = new Map<string, RankedTarget>();
      const used = new Set<string>();
      for (const { key, goes } of steps) {
        const one = target(key, ageOf(key));
        const told = goes ? of.remove(one) : of.add(one);
        if (goes) {
          there.delete(key);
          used.delete(key);
          if (told !== undefined) used.add(told);
        } else {
          there.set(key, one);
          if (told !== undefined) used.delete(told);
          if (of.isUsed(one)) used.add(key);
        }
        const sorted = [...there.values()].toSorted((a, b) => a.createdAt - b.createdAt || (a.key < b.key ? -1 : 1))
          .slice(0, most);
        assert.deepEqual([...used].toSorted(), sorted.map((ranked) => ranked.key).toSorted());
      }
      assert.equal(of.isEmpty, there.size === 0);
    }), { numRuns: 300 });
  });
});

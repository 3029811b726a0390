import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { RankTree } from '../../../../scheduler/cache/rank-tree.ts';

const change = fc.record({ place: fc.nat(40), rank: fc.integer({ min: -2, max: 3 }) });

/** As a scan from the front finds it. */
function firstOfHighest(ranks: readonly number[], mayCount: (place: number) => boolean = () => true): number {
  let best = -1;
  for (const [place, rank] of ranks.entries()) if (mayCount(place) && rank > (ranks[best] ?? -Infinity)) best = place;
  return best;
}

describe('RankTree', () => {
  it('begins without any rank', () => {
    const tree = new RankTree(3);
    assert.deepEqual([tree.best, tree.at(0), tree.at(2)], [0, -Infinity, -Infinity]);
    assert.equal(tree.bestOf(3, -1, () => true), -1);
  });

  it('stands for no place at all', () => {
    assert.equal(new RankTree(0).at(new RankTree(0).best), -Infinity);
  });

  it('gives the first of the highest after any changes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 41 }),
        fc.array(change, { minLength: 1, maxLength: 60 }), (places, changes) => {
        const tree = new RankTree(places);
        const ranks = Array.from({ length: places }, () => -Infinity);
        for (const { place, rank } of changes) {
          if (place >= places) continue;
          tree.set(place, rank);
          ranks[place] = rank;
          assert.equal(tree.at(place), rank);
          assert.equal(tree.best, firstOfHighest(ranks));
          const isOdd = (at: number) => at % 2 === 1;
          const odd = firstOfHighest(ranks, isOdd);
          assert.equal(tree.bestOf(places, -1, isOdd), (ranks[odd] ?? -Infinity) > -1 ? odd : -1);
        }
      }),
    );
  });
});

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import { allOf, NotLeaderError, type Fence } from '../../../../kubernetes/flow/fence.ts';

const fence = (msLeft: number): Fence => ({ holds: () => msLeft > 0, msLeft: () => msLeft });

describe('several fences', () => {
  it('hold while each holds, for as long as the shortest', () => fc.assert(fc.property(
    fc.array(fc.integer({ min: -10, max: 10 }), { minLength: 1, maxLength: 5 }),
    (left) => {
      const all = allOf(left.map(fence));
      assert.equal(all.holds(), left.every((ms) => ms > 0));
      assert.equal(all.msLeft(), Math.min(...left));
    },
  )));

  it('are asked again each time, because a lease can expire between two writes', () => {
    let msLeft = 5;
    const all = allOf([fence(100), { holds: () => msLeft > 0, msLeft: () => msLeft }]);
    assert.equal(all.holds(), true);
    msLeft = 0;
    assert.equal(all.holds(), false);
    assert.equal(all.msLeft(), 0);
  });

  it('that are none always hold', () => {
    assert.equal(allOf([]).holds(), true);
    assert.equal(allOf([]).msLeft(), Infinity);
  });
});

describe('a write that was not sent', () => {
  it('says so, and which fence did not hold', () => {
    const lost = fence(0);
    const error = new NotLeaderError(lost);
    assert.equal(error.name, 'NotLeaderError');
    assert.match(error.message, /does not hold the lease/);
    assert.equal(error.fence, lost);
  });
});

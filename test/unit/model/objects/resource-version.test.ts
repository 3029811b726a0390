import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { isLater } from '../../../../model/objects/resource-version.ts';

describe('isLater', () => {
  it('orders versions as the numbers that they are', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 2n ** 64n }), fc.bigInt({ min: 1n, max: 2n ** 64n }),
        (one, other) => isLater(String(one), String(other)) === one > other,
      ),
      { numRuns: 200 },
    );
  });

  it('holds any version for later than none', () => {
    assert.equal(isLater('1', ''), true);
    assert.equal(isLater('', ''), false);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ObservedDeletions } from '../../../../model/delegate/observed-deletions.ts';

describe('what was seen to go', () => {
  it('is all that is waited for, or not enough', () => {
    const seen = new ObservedDeletions<'chaperon' | 'delegate'>();
    assert.equal(seen.has('a', ['delegate']), false, 'nothing was seen');
    seen.note('a', 'delegate');
    assert.deepEqual(
      [seen.has('a', ['delegate']), seen.has('a', ['chaperon', 'delegate']), seen.has('b', ['delegate'])],
      [true, false, false],
    );
    seen.note('a', 'chaperon');
    seen.note('a', 'chaperon');
    assert.equal(seen.has('a', ['chaperon', 'delegate']), true);
  });

  it('is forgotten with whoever waits', () => {
    const seen = new ObservedDeletions<'delegate'>();
    seen.note('a', 'delegate');
    seen.forget('a');
    seen.forget('b');
    assert.equal(seen.has('a', ['delegate']), false);
  });
});

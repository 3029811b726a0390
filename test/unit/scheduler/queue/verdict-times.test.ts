import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VerdictTimes } from '../../../../scheduler/queue/verdict-times.ts';

const FIRST = { seenAt: 1_000, priority: 0 };
const LATER = { seenAt: 10_000, priority: 0 };

/** How long a candidate that was passed over waits beyond the patience with an idle target. */
const SKIPPED_WAIT_MS = 20_000;
/** The target decides about these, one a second from 11 s on. */
function decided(...candidates: readonly { readonly seenAt: number; readonly priority: number }[]): VerdictTimes {
  const times = new VerdictTimes();
  candidates.forEach((candidate, index) => times.note('c', 11_000 + index * 1_000, candidate));
  return times;
}

describe('waitingSince', () => {
  it('is when the candidate was seen, where the target has decided nothing', () => {
    assert.equal(new VerdictTimes().waitingSince('c', FIRST), 1_000);
    assert.equal(decided(FIRST).waitingSince('other', FIRST), 1_000);
  });

  it('is the last verdict about anybody while the target works through its queue', () => {
    assert.equal(decided(FIRST, FIRST).waitingSince('c', LATER), 12_000);
    assert.equal(decided({ ...FIRST, seenAt: 2_900 }).waitingSince('c', FIRST), 11_000, 'in another order than we saw');
  });

  it('is bounded once the target has decided about a later one: it has passed this one over', () => {
    const times = decided(LATER);
    for (let second = 12; second < 120; second += 1) times.note('c', second * 1_000, LATER);
    assert.equal(times.waitingSince('c', FIRST), FIRST.seenAt + SKIPPED_WAIT_MS);
    assert.equal(times.waitingSince('c', LATER), 119_000);
  });

  it('lets more important candidates go first', () => {
    const times = decided({ ...LATER, priority: 100 });
    times.note('c', 90_000, undefined);
    assert.equal(times.waitingSince('c', FIRST), 90_000);
    assert.equal(times.waitingSince('c', { ...FIRST, priority: 100 }), FIRST.seenAt + SKIPPED_WAIT_MS);
  });

  it('begins anew with a target that was removed', () => {
    const times = decided(LATER);
    times.forget('c');
    assert.equal(times.waitingSince('c', FIRST), 1_000);
  });
});

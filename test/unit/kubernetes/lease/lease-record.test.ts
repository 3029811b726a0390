import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  deadlineIn, earlier, freeIn, mayTake, msUntil, observeLease, type ObservedLease,
} from '../../../../kubernetes/lease/lease-record.ts';

const lease = (resourceVersion: string, holderIdentity?: string) => ({
  metadata: { resourceVersion },
  spec: { leaseDurationSeconds: 15, leaseTransitions: 2, ...(holderIdentity !== undefined && { holderIdentity }) },
});

describe('observeLease', () => {
  it('notes when a version was first seen by our own clock', () => {
    const first = observeLease(lease('1', 'a'), undefined, 100);
    assert.deepEqual(first, { resourceVersion: '1', holder: 'a', durationMs: 15_000, transitions: 2, seenAt: 100 });
    assert.equal(observeLease(lease('1', 'a'), first, 200), first);
    assert.equal(observeLease(lease('2', 'a'), first, 300).seenAt, 300);
  });
});

describe('mayTake', () => {
  const seen = (holder: string): ObservedLease =>
    ({ resourceVersion: '1', holder, durationMs: 15_000, transitions: 0, seenAt: 1_000 });
  const rows: readonly (readonly [what: string, holder: string, now: number, expected: boolean])[] = [
    ['nobody holds it', '', 1_001, true],
    ['it is ours', 'me', 1_001, true],
    ['another one holds it', 'other', 16_000, false],
    ['another one has not renewed it in time', 'other', 16_001, true],
  ];
  for (const [what, holder, now, expected] of rows) {
    it(`${expected ? 'yes' : 'no'} when ${what}`, () => assert.equal(mayTake(seen(holder), 'me', now), expected));
  }
});

describe('freeIn', () => {
  const seen = (holder: string): ObservedLease =>
    ({ resourceVersion: '1', holder, durationMs: 15_000, transitions: 0, seenAt: 1_000 });
  const rows: readonly (readonly [what: string, holder: string, now: number, expected: number])[] = [
    ['what is left of it', 'other', 6_000, 10_000],
    ['nothing when it has run out', 'other', 20_000, 0],
    ['nothing when nobody holds it', '', 1_001, 0],
  ];
  for (const [what, holder, now, expected] of rows) {
    it(`is ${what}`, () => assert.equal(freeIn(seen(holder), now), expected));
  }
});

describe('a deadline', () => {
  const at = (monotonic: number, wall: number) => ({ monotonic: () => monotonic, wall: () => wall });
  const deadline = deadlineIn(10, at(100, 5_000));
  const rows: readonly (readonly [what: string, monotonic: number, wall: number, left: number])[] = [
    ['before it by both clocks', 109, 5_009, 1],
    ['the machine slept: the monotonic clock stood still', 101, 90_000, -84_990],
    ['the wall clock was set back', 110, 0, 0],
    ['after it by both', 200, 6_000, -990],
  ];
  for (const [what, monotonic, wall, left] of rows) {
    it(`has ${left} ms left: ${what}`, () => assert.equal(msUntil(deadline, at(monotonic, wall)), left));
  }

  it('of two counts the earlier one, by each clock', () => {
    assert.deepEqual(earlier({ monotonic: 1, wall: 20 }, { monotonic: 2, wall: 10 }), { monotonic: 1, wall: 10 });
  });
});

describe('two replicas, whatever their clocks and delays', () => {
  it('never both may act: who takes a lease has seen it unchanged for longer than its holder may act on it', () => {
    fc.assert(
      fc.property(fc.nat(5_000), fc.nat(5_000), fc.nat(30_000), (sendDelay, seeDelay, later) => {
        const [leaseMs, renewWithinMs] = [15_000, 10_000];
        const requestedAt = 1_000; // the holder counts from here
        const storedAt = requestedAt + sendDelay;
        const seenAt = storedAt + seeDelay; // the other one counts from here
        const now = seenAt + later;
        const other = mayTake(
          { resourceVersion: '1', holder: 'holder', durationMs: leaseMs, transitions: 0, seenAt }, 'other', now,
        );
        const acts = now < requestedAt + renewWithinMs;
        assert(!(other && acts));
      }),
    );
  });
});

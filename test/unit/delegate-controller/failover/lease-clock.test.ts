import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SourceLease, SourceLeaseSpec, SourceLeaseStatus } from '../../../../api/kinds/source-lease.ts';
import { hasExpired, LeaseClock, planLeaseStatus } from '../../../../delegate-controller/failover/lease-clock.ts';

const START = Date.UTC(2026, 0, 1);
const at = (seconds: number) => new Date(START + seconds * 1_000).toISOString();

function lease(renewedAt: number, spec: Partial<SourceLeaseSpec> = {}, status?: SourceLeaseStatus): SourceLease {
  return {
    metadata: { namespace: 'ns', name: 'source-a', uid: 'u', resourceVersion: '7' },
    spec: { holder: 'run-1', durationSeconds: 60, renewTime: at(renewedAt), ...spec },
    ...(status !== undefined && { status }),
  };
}

const seen = (renewedAt: number, seenAt: number, rest: SourceLeaseStatus = {}): SourceLeaseStatus =>
  ({ seenHolder: 'run-1', seenRenewTime: at(renewedAt), seenAt: at(seenAt), ...rest });

/** The target's monotonic clock shows seconds since its own start, its time of day is an hour ahead of the source's. */
const now = (seconds: number) => ({ monotonic: seconds * 1_000, wall: START + (3_600 + seconds) * 1_000 });

function endAfter(heard: readonly (readonly [SourceLease, at: number])[]): number {
  const clock = new LeaseClock();
  for (const [version, seconds] of heard) clock.observe(version, now(seconds));
  return clock.endsAt / 1_000;
}

describe('a lease ends', () => {
  const cases: Record<string, readonly [heard: readonly (readonly [SourceLease, number])[], end: number]> = {
    'its duration after it was heard of first': [[[lease(0), 100]], 160],
    'its duration after each renewal that came at once': [[[lease(0), 100], [lease(10), 110], [lease(20), 120]], 180],
    'no later for a renewal that came late': [[[lease(0), 100], [lease(10), 110], [lease(20), 165]], 180],
    'no later for a version that is told twice': [[[lease(0), 100], [lease(10), 110], [lease(10), 150]], 170],
    'by the promptest renewal, whichever it was': [[[lease(0), 100], [lease(10), 125], [lease(20), 121]], 181],
    'no later for a renewal of before that arrives after a newer one':
      [[[lease(0), 100], [lease(10), 110], [lease(20), 120], [lease(10), 125]], 170],
    'by the clock of its holder alone: another run begins anew': [
      [[lease(0), 100], [lease(10), 110], [lease(-500, { holder: 'run-2' }), 120], [
        lease(-490, { holder: 'run-2' }), 130,
      ]],
      190,
    ],
    'after what the last run of the controller has left of it': [[[lease(0, {}, seen(0, 3_600 + 70)), 100]], 130],
    'with the time for a renewal, when nothing is left': [[[lease(0, {}, seen(0, 3_600)), 100]], 115],
    'with no more than that for one that comes late then':
      [[[lease(0, {}, seen(0, 3_600)), 100], [lease(10), 112]], 127],
    'by what was seen of an earlier renewal, when that is all there is':
      [[[lease(10, {}, seen(0, 3_600 + 65)), 100]], 135],
    'its whole duration later, when only another run was seen':
      [[[lease(0, {}, { ...seen(0, 3_600), seenHolder: 'run-0' }), 100]], 160],
    'no later than that, whatever the time of day was set to': [[[lease(0, {}, seen(0, 9_999)), 100]], 160],
  };
  for (const [sentence, [heard, end]] of Object.entries(cases)) it(sentence, () => assert.equal(endAfter(heard), end));

  it('not before it was heard of', () => assert.equal(new LeaseClock().endsAt, Infinity));
});

describe('the status of a lease', () => {
  const patchOf = (version: SourceLease, isOver: boolean) =>
    planLeaseStatus(version, isOver, START + 5_000).map((command) => 'patch' in command && command.patch)[0];

  it('says that a renewal was seen, and when', () =>
    assert.deepEqual(patchOf(lease(0), false), {
      metadata: { uid: 'u' }, status: { state: 'Held', seenHolder: 'run-1', seenRenewTime: at(0), seenAt: at(5) },
    }));
  it('says so once', () => assert.equal(patchOf(lease(0, {}, seen(0, 1, { state: 'Held' })), false), undefined));
  it('says that it has ended, of this very version, and not when that renewal was seen once more', () =>
    assert.deepEqual(patchOf(lease(0, {}, seen(0, 1, { state: 'Held' })), true), {
      metadata: { uid: 'u', resourceVersion: '7' },
      status: { state: 'Expired', seenHolder: 'run-1', seenRenewTime: at(0) },
    }));
  it('says that once', () => assert.equal(patchOf(lease(0, {}, seen(0, 1, { state: 'Expired' })), true), undefined));
  it('is held again when it is renewed in time', () => assert.equal(
    (patchOf(lease(30, {}, seen(0, 1, { state: 'Expired' })), false) as { status: SourceLeaseStatus }).status.state,
    'Held',
  ));

  const expired: Record<string, readonly [SourceLease, boolean]> = {
    'one without a status': [lease(0), false],
    'one that is held': [lease(0, {}, seen(0, 1, { state: 'Held' })), false],
    'one that has ended': [lease(0, {}, seen(0, 1, { state: 'Expired' })), true],
    'one that was renewed since': [lease(30, {}, seen(0, 1, { state: 'Expired' })), false],
    'one that another run has taken': [lease(0, { holder: 'run-2' }, seen(0, 1, { state: 'Expired' })), false],
  };
  for (const [sentence, [version, answer]] of Object.entries(expired)) {
    it(`means the end for ${sentence}: ${answer}`, () => assert.equal(hasExpired(version), answer));
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LEASE_TIMINGS, QUICK_LEASE_TIMINGS } from '../../../../kubernetes/lease/lease-record.ts';
import { LeaseDuration } from '../../../../kubernetes/lease/lease-duration.ts';

describe('LeaseDuration', () => {
  const { callMs, leaseMs, slowLeaseMs } = QUICK_LEASE_TIMINGS;
  const rows: readonly (
    readonly [what: string, tookMs: number | 'failed', leaseMs: number | undefined, isSlow: boolean]
  )[] = [
    ['quick', 10, leaseMs, false],
    ['a quarter of the deadline', callMs / 4, leaseMs, false],
    ['late', callMs / 4 + 1, slowLeaseMs, false],
    ['later than its deadline', callMs + 1, slowLeaseMs, true],
    ['failed', 'failed', slowLeaseMs, false],
  ];
  for (const [what, took, lease, isSlow] of rows) {
    it(`a renewal that was ${what}: the next one asks for ${lease} ms${isSlow ? ' and waits' : ''}`, () => {
      const pace = new LeaseDuration(QUICK_LEASE_TIMINGS);
      if (took === 'failed') pace.failed(1_000);
      else pace.answered(1_000 - took, 1_000);
      assert.deepEqual([pace.leaseMs(1_001), pace.isSlow], [lease, isSlow]);
    });
  }

  it('asks for usual leases again ten seconds after the last late answer, not at the first quick one', () => {
    const pace = new LeaseDuration(QUICK_LEASE_TIMINGS);
    pace.answered(0, 600);
    pace.answered(2_000, 2_010);
    assert.equal(pace.leaseMs(10_599), slowLeaseMs);
    assert.equal(pace.leaseMs(10_600), leaseMs);
  });

  it('takes nothing for slow that was quick the last time', () => {
    const pace = new LeaseDuration(QUICK_LEASE_TIMINGS);
    pace.answered(0, 3_000);
    pace.answered(4_000, 4_010);
    assert.equal(pace.isSlow, false);
  });

  it('asks for usual leases again ten seconds after the last failure', () => {
    const pace = new LeaseDuration(QUICK_LEASE_TIMINGS);
    pace.failed(1_000);
    assert.deepEqual([pace.leaseMs(10_999), pace.leaseMs(11_000)], [slowLeaseMs, leaseMs]);
  });

  it('asks for the same lease always where there is no longer one', () => {
    const pace = new LeaseDuration(LEASE_TIMINGS);
    pace.failed(0);
    assert.equal(pace.leaseMs(1), LEASE_TIMINGS.leaseMs);
  });
});

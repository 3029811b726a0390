import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { peerOf, TokenBucket, type PeerLimits } from '../../../../process/servers/peer-budget.ts';

describe('whose connection it is', () => {
  const rows: Readonly<Record<string, readonly [address: string, peer: string]>> = {
    'an IPv4 address is itself': ['10.0.0.7', '10.0.0.7'],
    'an IPv4 address in IPv6 form is the same': ['::ffff:10.0.0.7', '10.0.0.7'],
    'an IPv6 address is its /64': ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    'a short one as well': ['2001:db8::1', '2001:db8:0:0::/64'],
    'and one that begins with nothing': ['::1', '0:0:0:0::/64'],
    'the interface of a link-local address does not count': ['fe80::1:2%eth0', 'fe80:0:0:0::/64'],
    'upper case and leading zeros do not count': ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
  };
  for (const [what, [address, peer]] of Object.entries(rows)) it(what, () => assert.equal(peerOf(address), peer));
});

describe('a bucket', () => {
  it('never gives more than its burst and its rate, however it is asked', () => {
    const asks = fc.array(fc.nat({ max: 2_000 }), { maxLength: 200 });
    fc.assert(fc.property(fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 50 }), asks, (burst, perSecond, pauses) => {
      const [limits, bucket] = [{ burst, perSecond, open: 1 } satisfies PeerLimits, new TokenBucket()];
      let [now, taken] = [5_000, 0];
      for (const pause of pauses) {
        now += pause;
        const had = bucket.has(limits, now);
        assert.equal(bucket.take(limits, now), had);
        taken += had ? 1 : 0;
      }
      assert.ok(taken <= burst + ((now - 5_000) * perSecond) / 1_000 + 1e-6);
    }));
  });

  it('is full at first and after a pause, and not in between', () => {
    const [limits, bucket] = [{ burst: 2, perSecond: 1, open: 1 }, new TokenBucket()];
    assert.equal(bucket.isFull(limits, 0), true);
    assert.deepEqual([bucket.take(limits, 0), bucket.take(limits, 0), bucket.take(limits, 0)], [true, true, false]);
    assert.deepEqual([bucket.isFull(limits, 1_999), bucket.isFull(limits, 2_000)], [false, true]);
  });
});

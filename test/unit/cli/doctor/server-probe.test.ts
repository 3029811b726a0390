import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { certificateDates } from '../../../../cli/checks/certificate-dates.ts';
import { clockOf } from '../../../../cli/doctor/server-probe.ts';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';

describe('the clock of a server', () => {
  it('is known to half a second and half of the round trip, whatever it shows', () => {
    const time = fc.integer({ min: 1_700_000_000_000, max: 1_800_000_000_000 });
    fc.assert(fc.property(time, fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: -100_000, max: 100_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }), (sentMs, tripMs, aheadMs, part) => {
      const shown = new Date(Math.floor((sentMs + tripMs * part + aheadMs) / 1_000) * 1_000).toUTCString();
      const clock = clockOf(shown, { sentMs, answeredMs: sentMs + tripMs });
      assert.ok(
        clock !== undefined && Math.abs(clock.aheadMs - aheadMs) <= clock.uncertainMs + 1, JSON.stringify(clock),
      );
    }));
  });

  it('is not known where the server gives no date', () => {
    assert.equal(clockOf(undefined, { sentMs: 0, answeredMs: 1 }), undefined);
    assert.equal(clockOf('soon', { sentMs: 0, answeredMs: 1 }), undefined);
  });
});

describe('the dates of certificates', () => {
  it('are those of all in a bundle; what is none is passed over', async () => {
    const from = new Date('2026-01-01T00:00:00Z');
    const { certificate } = (await createAuthority('a', 10, from)).keyPair;
    const dates =
      certificateDates(`${certificate}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${certificate}`);
    assert.equal(dates.length, 2);
    assert.equal(dates[0]?.untilMs, from.getTime() + 10 * 86_400_000);
    assert.ok((dates[0]?.fromMs ?? Infinity) <= from.getTime());
    assert.deepEqual(certificateDates('nothing'), []);
  });
});

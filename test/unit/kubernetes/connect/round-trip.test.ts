import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { RoundTrip } from '../../../../kubernetes/connect/round-trip.ts';

describe('RoundTrip', () => {
  it('is unknown until it is measured, then the first sample', () => {
    const roundTrip = new RoundTrip();
    assert.equal(roundTrip.ms, undefined);
    assert.ok(roundTrip.sample(12.345));
    assert.equal(roundTrip.ms, 12);
  });

  it('keeps two significant digits of short ones', () => {
    const roundTrip = new RoundTrip();
    roundTrip.sample(0.3456);
    assert.equal(roundTrip.ms, 0.35);
  });

  it('is not moved by one slow answer', () => {
    const roundTrip = new RoundTrip();
    roundTrip.sample(10);
    assert.ok(!roundTrip.sample(40));
    assert.equal(roundTrip.ms, 10);
  });

  it('is not moved by a minute of slow answers but one, and then by the next', () => {
    const roundTrip = new RoundTrip();
    roundTrip.sample(10);
    for (let n = 0; n < 5; n += 1) assert.ok(!roundTrip.sample(100 + n));
    assert.ok(roundTrip.sample(105));
    assert.equal(roundTrip.ms, 100);
  });

  it('follows a lasting change', () => {
    const roundTrip = new RoundTrip();
    roundTrip.sample(10);
    for (let n = 0; n < 50; n += 1) roundTrip.sample(100);
    assert.ok(roundTrip.ms! > 60 && roundTrip.ms! <= 100);
  });

  it('falls to a shorter sample at once: a busy process measures too long ones at its start', () => {
    const roundTrip = new RoundTrip();
    roundTrip.sample(800);
    assert.ok(roundTrip.sample(20));
    assert.equal(roundTrip.ms, 20);
  });

  it('is no news in a network so near that a few milliseconds are a multiple', () => {
    const roundTrip = new RoundTrip();
    roundTrip.sample(0.4);
    for (let n = 0; n < 50; n += 1) assert.ok(!roundTrip.sample(n % 2 === 0 ? 5 : 0.2));
    assert.equal(roundTrip.ms, 0.4);
  });

  it('is news only when it differs by half, however the samples jitter', () => {
    fc.assert(fc.property(fc.array(fc.double({ min: 0.01, max: 5_000, noNaN: true }), { minLength: 1 }), (samples) => {
      const roundTrip = new RoundTrip();
      let told: number | undefined;
      for (const sample of samples) {
        const isNews = roundTrip.sample(sample);
        assert.equal(isNews, roundTrip.ms !== told);
        told = roundTrip.ms;
        assert.ok(told! >= Math.min(...samples) * 0.9 && told! <= Math.max(...samples) * 1.1);
      }
    }));
  });
});

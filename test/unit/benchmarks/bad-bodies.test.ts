// The bodies that P3b floods the webhook with.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { badBodies } from '../../../benchmarks/webhook/bad-bodies.ts';

const GOOD = JSON.stringify(
  { kind: 'AdmissionReview', request: { uid: 'u', object: { metadata: {}, spec: { filler: 'x'.repeat(2_000) } } } },
);
const texts = (seed: number): readonly string[] =>
  badBodies(GOOD, 500, seed).map((body) => Buffer.from(body).toString('base64'));

describe('badBodies', () => {
  it('gives the same ones for the same seed, and others for another', () => {
    assert.deepEqual(texts(1), texts(1));
    assert.notDeepEqual(texts(1), texts(2));
  });

  it('gives as many as were asked for, hardly two alike, and both sorts', () => {
    const bodies = badBodies(GOOD, 500, 3);
    assert.equal(bodies.length, 500);
    assert.ok(new Set(texts(3)).size > 480);
    const mutated = bodies.filter((body) => Buffer.from(body).includes('x'.repeat(100))).length;
    assert.ok(mutated > 200 && mutated < 400, `${mutated} still look like a review`);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextAttempt, type Signs } from '../../../../gateway/protocol/candidate-address.ts';

const attempt = { number: 0, sinceMs: 10_000 };
const at = (nowMs: number, signs: Partial<Signs> = {}) =>
  nextAttempt(attempt, { addresses: 2, lastHandshakeMs: 0, answers: false, ...signs }, nowMs);

describe('an attempt at an address', () => {
  it('goes on for two seconds', () => assert.equal(at(11_999), attempt));
  it('then gives way to the next', () => assert.deepEqual(at(12_000), { number: 1, sinceMs: 12_000 }));
  it('goes on while the peer answers', () => assert.equal(at(99_000, { answers: true }), attempt));
  it('goes on for a while after a handshake: the other gateway may be starting', () => assert.equal(
    at(18_999, { lastHandshakeMs: 11_000 }), attempt,
  ));
  it('gives way when nothing comes after the handshake', () => assert.equal(
    at(19_000, { lastHandshakeMs: 11_000 }).number, 1,
  ));
  it('does not count a handshake from before it', () => assert.equal(at(12_000, { lastHandshakeMs: 9_000 }).number, 1));
  it('goes on where there is no address to try', () => assert.equal(at(99_000, { addresses: 0 }), attempt));
  it('tries all of four addresses within ten seconds', () => {
    let current = { number: 0, sinceMs: 0 };
    for (let nowMs = 0; nowMs <= 10_000; nowMs += 1_000) current =
      nextAttempt(current, { addresses: 4, lastHandshakeMs: 0, answers: false }, nowMs);
    assert.ok(current.number >= 4);
  });
});

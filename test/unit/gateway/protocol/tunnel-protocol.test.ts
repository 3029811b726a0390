import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  alpnOf, purposeOf, PURPOSES, refusalBytes, TUNNEL_LIMITS,
} from '../../../../gateway/protocol/tunnel-protocol.ts';

describe('the purpose of a session', () => {
  it('survives its ALPN name', () => assert.deepEqual(PURPOSES.map((purpose) => purposeOf(alpnOf(purpose))), PURPOSES));
  it('has a name of its own for each of the four', () => assert.equal(new Set(PURPOSES.map(alpnOf)).size, 4));
  for (const alpn of ['h2', 'http/1.1', 'isthmus-2-open-calls', '', false, undefined, null] as const) {
    it(`is not behind ${String(alpn)}`, () => assert.equal(purposeOf(alpn), undefined));
  }
});

describe('the bytes of a refusal', () => {
  it('begin as a server that sends SETTINGS and GOAWAY with the words', () => {
    const bytes = refusalBytes('revoked: gone', { dialer: 'open', lane: 'calls' });
    assert.deepEqual([...bytes.subarray(0, 9)], [0, 0, 0, 4, 0, 0, 0, 0, 0]);
    assert.deepEqual([...bytes.subarray(9, 18)], [0, 0, 8 + 13, 7, 0, 0, 0, 0, 0]);
    assert.equal(bytes.subarray(26).toString(), 'revoked: gone');
  });
  it('begin as a client where the one who refuses opens the streams', () => assert.match(
    refusalBytes('limit: full', { dialer: 'serve', lane: 'bulk' }).toString('latin1'),
    /^PRI \* HTTP\/2\.0\r\n\r\nSM\r\n\r\n/,
  ));
  it('stay short', () => assert.ok(refusalBytes('x'.repeat(10_000), { dialer: 'open', lane: 'calls' }).length < 300));
});

it('a dead peer is noticed after three pings at the soonest', () => assert.ok(
  TUNNEL_LIMITS.deadAfterMs >= 3 * TUNNEL_LIMITS.pingEveryMs,
));

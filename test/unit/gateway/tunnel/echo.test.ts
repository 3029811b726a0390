// Round trips through the tunnel, measured by datagrams that anybody at an address of the tunnel may send.
import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Echo } from '../../../../gateway/tunnel/echo.ts';

const [REQUEST, ANSWER] = [1, 2];

/** A datagram of the protocol; `magic` and `size` may be wrong. */
function datagram(kind: number, sentMs: number, magic = 0x69736d45, size = 20): Buffer {
  const message = Buffer.alloc(size);
  message.writeUInt32BE(magic, 0);
  message.writeUInt32BE(kind, 4);
  message.writeDoubleBE(sentMs, 8);
  return message;
}

describe('an echo', () => {
  let echo: Echo;
  let peer: Socket;
  let port: number;
  beforeEach(async () => {
    [echo, peer] = [await Echo.open('127.0.0.1', 0), createSocket('udp4')];
    peer.bind(0, '127.0.0.2');
    await once(peer, 'listening');
    echo.send('127.0.0.2', peer.address().port); // so that its port is known
    const [request, from] = await once(peer, 'message') as [Buffer, { readonly port: number }];
    assert.equal(request.readUInt32BE(4), REQUEST);
    port = from.port;
  });
  afterEach(() => {
    echo.close();
    peer.close();
  });
  const say = (message: Buffer) => peer.send(message, port, '127.0.0.1');
  const next = async () => (await once(peer, 'message') as [Buffer])[0];
  /** Resolves once everything before it was taken: datagrams on loopback keep their order. */
  const passed = async () => {
    say(datagram(REQUEST, 0));
    await next();
  };

  it('answers a request with as many bytes, and with what it was asked: nothing is amplified', async () => {
    const request = datagram(REQUEST, 123.5);
    say(request);
    const answer = await next();
    assert.equal(answer.length, request.length);
    assert.deepEqual([answer.readUInt32BE(4), answer.readDoubleBE(8)], [ANSWER, 123.5]);
  });

  it('answers nothing that is not one: no scanner learns of it', async () => {
    for (const wrong of [Buffer.alloc(0), Buffer.alloc(20), datagram(REQUEST, 0, 0x69736d46),
      datagram(REQUEST, 0, undefined, 21),
      datagram(REQUEST, 0).subarray(0, 19), Buffer.alloc(1_400, 1)]) say(wrong);
    say(datagram(REQUEST, 7));
    assert.equal((await next()).readDoubleBE(8), 7, 'the only answer is that to the last one');
  });

  it('knows when its peer has answered, and how long that took', async () => {
    assert.equal(echo.state('127.0.0.2').answeredMs, undefined);
    say(datagram(ANSWER, performance.now() - 50));
    await passed();
    const { answeredMs, trips } = echo.state('127.0.0.2');
    assert.ok(answeredMs !== undefined && JSON.stringify(trips).length > 2);
    echo.forget('127.0.0.2');
    assert.equal(echo.state('127.0.0.2').answeredMs, undefined);
  });

  it('believes no answer to what was never asked: from the future, too old, or no time at all', async () => {
    for (const sent of [performance.now() + 60_000, performance.now() - 120_000, NaN, Infinity, -Infinity, -1e300]) {
      say(datagram(ANSWER, sent));
    }
    await passed();
    assert.equal(echo.state('127.0.0.2').answeredMs, undefined);
  });

  it('outlives any datagram', async () => {
    for (const bytes of fc.sample(fc.uint8Array({ maxLength: 64 }), 60)) {
      say(Buffer.from(bytes));
      await passed(); // one by one, for a socket drops what it has no room for
    }
  });
});

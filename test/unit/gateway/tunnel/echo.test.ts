// Round trips through the tunnel, measured by datagrams that anybody at an address of the tunnel may send.
import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Echo } from '../../../../gateway/tunnel/echo.ts';

const [REQUEST, ANSWER] = [1, 2];

/** A datagram of the protocol; `magic` and `size` may be wrong. */
function datagram(kind: number, id: number, magic = 0x69736d45, size = 20): Buffer {
  const message = Buffer.alloc(size, id);
  message.writeUInt32BE(magic, 0);
  message.writeUInt32BE(kind, 4);
  return message;
}

/** The answer to a request. */
function answerTo(request: Buffer): Buffer {
  const answer = Buffer.from(request);
  answer.writeUInt32BE(ANSWER, 4);
  return answer;
}

describe('an echo', () => {
  let echo: Echo;
  let peer: Socket;
  let port: number;
  let request: Buffer;
  beforeEach(async () => {
    [echo, peer] = [await Echo.open('127.0.0.1', 0), createSocket('udp4')];
    peer.bind(0, '127.0.0.2');
    await once(peer, 'listening');
    echo.send('127.0.0.2', peer.address().port); // so that its port is known
    const [first, from] = await once(peer, 'message') as [Buffer, { readonly port: number }];
    assert.equal(first.readUInt32BE(4), REQUEST);
    [request, port] = [first, from.port];
  });
  afterEach(() => {
    echo.close();
    peer.close();
  });
  it('goes on after a request from port 0, which anybody can forge and nobody can answer', async () => {
    const opened: Socket[] = [];
    const note = (message: unknown) => opened.push((message as { readonly socket: Socket }).socket);
    subscribe('udp.socket', note);
    const other = await Echo.open('127.0.0.1', 0);
    unsubscribe('udp.socket', note);
    assert.equal(opened[0]?.emit('message', datagram(REQUEST, 1), { address: '127.0.0.2', port: 0 }), true);
    other.close();
  });

  const say = (message: Buffer) => peer.send(message, port, '127.0.0.1');
  const next = async () => (await once(peer, 'message') as [Buffer])[0];
  /** Resolves once everything before it was taken: datagrams on loopback keep their order. */
  const passed = async () => {
    say(datagram(REQUEST, 0));
    await next();
  };

  it('answers a request with as many bytes, and with what it was asked: nothing is amplified', async () => {
    const theirs = datagram(REQUEST, 123);
    say(theirs);
    assert.deepEqual(await next(), answerTo(theirs));
  });

  it('answers nothing that is not one: no scanner learns of it', async () => {
    for (const wrong of [Buffer.alloc(0), Buffer.alloc(20), datagram(REQUEST, 0, 0x69736d46),
      datagram(REQUEST, 0, undefined, 21), datagram(3, 0),
      datagram(REQUEST, 0).subarray(0, 19), Buffer.alloc(1_400, 1)]) say(wrong);
    say(datagram(REQUEST, 7));
    assert.deepEqual(await next(), datagram(ANSWER, 7), 'the only answer is that to the last one');
  });

  it('knows when its peer has answered, and how long that took', async () => {
    assert.equal(echo.state('127.0.0.2').answeredMs, undefined);
    const before = performance.now();
    say(answerTo(request));
    await passed();
    const { answeredMs = 0, trips } = echo.state('127.0.0.2');
    assert.ok(answeredMs >= before);
    assert.equal(trips.count, 1);
    echo.forget('127.0.0.2');
    assert.equal(echo.state('127.0.0.2').answeredMs, undefined);
  });

  it('believes no answer to what was never asked', async () => {
    const altered = answerTo(request);
    altered.writeUInt8(altered.readUInt8(19) ^ 1, 19);
    for (const forged of [datagram(ANSWER, 0), altered]) say(forged);
    await passed();
    assert.equal(echo.state('127.0.0.2').answeredMs, undefined);
  });

  it('counts an answer once, however often it comes', async () => {
    for (let times = 0; times < 3; times += 1) say(answerTo(request));
    await passed();
    assert.equal(echo.state('127.0.0.2').trips.count, 1);
  });

  it('takes a late answer, but not one to a request before the last sixteen', async () => {
    const later: Buffer[] = [];
    for (let sent = 0; sent < 16; sent += 1) {
      echo.send('127.0.0.2', peer.address().port);
      later.push(await next());
    }
    say(answerTo(request));
    await passed();
    assert.equal(echo.state('127.0.0.2').trips.count, 0);
    for (const one of later) say(answerTo(one));
    await passed();
    assert.equal(echo.state('127.0.0.2').trips.count, 16);
  });

  it('keeps nothing of an address that it never asked, nor takes its answer for another', async () => {
    const stranger = createSocket('udp4');
    stranger.bind(0, '127.0.0.3');
    await once(stranger, 'listening');
    stranger.send(answerTo(request), port, '127.0.0.1');
    stranger.send(datagram(REQUEST, 1), port, '127.0.0.1');
    await once(stranger, 'message'); // both were taken
    stranger.close();
    assert.deepEqual([echo.state('127.0.0.3').answeredMs, echo.state('127.0.0.2').answeredMs], [undefined, undefined]);
  });

  it('outlives any datagram', async () => {
    for (const bytes of fc.sample(fc.uint8Array({ maxLength: 64 }), 60)) {
      say(Buffer.from(bytes));
      await passed(); // one by one, for a socket drops what it has no room for
    }
  });
});

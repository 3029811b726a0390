// The channels of exec, attach and port-forward over a connection of the test's own: what is read of the frames of an
// API server, or of something that is none, and what is sent.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, it, mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CHANNELS, PodChannels } from '../../../../kubernetes/stream/pod-channels.ts';
import { OPCODES } from '../../../../kubernetes/stream/websocket-frames.ts';

const { binary, close, continuation, ping, pong, text } = OPCODES;

/** A frame of a server with a short payload. */
function frame(opcode: number, payload: string | readonly number[], final = true): Buffer {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : Buffer.from(payload);
  return Buffer.concat([Buffer.from([(final ? 0x80 : 0) | opcode, bytes.length]), bytes]);
}

/** The frames that a client has sent, unmasked; all of them are short. */
function unmasked(bytes: Buffer): (readonly [opcode: number, payload: string])[] {
  const frames: (readonly [number, string])[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = bytes.readUInt8(at + 1) & 0x7f;
    const mask = bytes.subarray(at + 2, at + 6);
    const body = bytes.subarray(at + 6, at + 6 + size).map((byte, index) => byte ^ (mask[index & 3] ?? 0));
    frames.push([bytes.readUInt8(at) & 0x0f, Buffer.from(body).toString('latin1')]);
    at += 6 + size;
  }
  return frames;
}

/** Channels over a connection, with what was read and sent. */
function channels({ head = Buffer.alloc(0), protocol = 'v5.channel.k8s.io', highWaterMark = 1 << 20 }: {
  readonly head?: Buffer; readonly protocol?: string; readonly highWaterMark?: number
} = {}) {
  const sent: Buffer[] = [];
  const pending: (() => void)[] = [];
  const socket = new Duplex({
    highWaterMark, read: () => undefined, allowHalfOpen: true,
    write: (chunk: Buffer, _encoding, done) => {
      sent.push(chunk);
      if (highWaterMark > 1) done();
      else pending.push(done);
    },
  });
  socket.on('error', () => undefined);
  const opened = new PodChannels(socket as unknown as Socket, head, protocol);
  const read: (readonly [channel: number, data: string])[] = [];
  opened.onMessage = (channel, data) => void read.push([channel, data.toString('latin1')]);
  return {
    socket, opened, read, sent: () => unmasked(Buffer.concat(sent)),
    flush: () => pending.splice(0).forEach((done) => done()),
    receive: async (...frames: readonly Buffer[]) => {
      for (const one of frames) socket.push(one);
      await nextTurn();
    },
  };
}

describe('what is read of a pod', () => {
  const rows: Readonly<Record<string, readonly [
    frames: readonly Buffer[], read: readonly (readonly [channel: number, data: string])[],
  ]>> = {
    'a message of a channel': [[frame(binary, '\x01out')], [[1, 'out']]],
    'a message as text, as some proxies pass it on': [[frame(text, '\x02err')], [[2, 'err']]],
    'a channel that is opened without data': [[frame(binary, '\x01')], [[1, '']]],
    'nothing of an empty message, which has no channel, and what follows':
      [[frame(binary, ''), frame(text, ''), frame(binary, '\x01out')], [[1, 'out']]],
    'a message in parts, with its channel before the first':
      [[frame(binary, '\x01o', false), frame(continuation, 'u', false), frame(continuation, 't')], [[1, 'out']]],
    'a message whose first part is empty': [[frame(binary, '', false), frame(continuation, '\x01out')], [[1, 'out']]],
    'bytes as they are, also those that are no UTF-8': [[frame(binary, [1, 0xc3, 0x28, 0xff])], [[1, '\xc3\x28\xff']]],
    'a channel of a port above the first, as port-forward numbers them': [[frame(binary, '\x06data')], [[6, 'data']]],
    'nothing of a pong that nobody has asked for': [[frame(pong, 'x')], []],
  };
  for (const [what, [frames, expected]] of Object.entries(rows)) it(`is ${what}`, async () => {
    const { read, receive, socket } = channels();
    await receive(...frames);
    assert.deepEqual([read, socket.destroyed], [expected, false]);
  });

  it('is what came with the answer, before all else', async () => {
    const { read, receive } = channels({ head: frame(binary, '\x01first') });
    await receive(frame(binary, '\x01second'));
    assert.deepEqual(read, [[1, 'first'], [1, 'second']]);
  });

  it('is whole wherever the network cuts it', async () => {
    const bytes = Buffer.concat([frame(binary, '\x01h\xe9'), frame(binary, '\x03{}')]);
    const { read, receive } = channels();
    await receive(...Array.from(bytes, (byte) => Buffer.from([byte])));
    assert.deepEqual(read.map(([channel]) => channel), [CHANNELS.stdout, CHANNELS.error]);
  });

  it('waits while it is paused', async () => {
    const { opened, read, receive } = channels();
    await nextTurn();
    opened.pause();
    await receive(frame(binary, '\x01out'));
    assert.deepEqual(read, []);
    opened.resume();
    await nextTurn();
    assert.deepEqual(read, [[1, 'out']]);
  });

  it('ends with a message that is masked, which only clients may send', async () => {
    const { opened, read, socket } = channels();
    socket.push(Buffer.from([0x82, 0x80, 0, 0, 0, 0]));
    await opened.closed;
    assert.deepEqual(read, []);
  });

  it('ends when the server ends the connection without a word', async () => {
    const { opened, socket } = channels();
    socket.push(null);
    await opened.closed;
    assert.equal(socket.writableEnded, true);
  });
});

describe('what is sent to a pod', () => {
  it('has its channel before it, and is masked', () => {
    const { opened, sent } = channels();
    assert.equal(opened.send(CHANNELS.stdin, Buffer.from('ls\n')), true);
    opened.send(CHANNELS.stdin, Buffer.alloc(0));
    assert.deepEqual(sent(), [[binary, '\x00ls\n'], [binary, '\x00']]);
  });

  it('tells the size of a terminal as kubelets read it', () => {
    const { opened, sent } = channels();
    opened.resize(120, 40);
    assert.deepEqual(sent(), [[binary, '\x04{"Width":120,"Height":40}']]);
  });

  for (const [protocol, can, frames] of [
    ['v5.channel.k8s.io', true, [[binary, '\xff\x00']]], ['v4.channel.k8s.io', false, []], ['', false, []],
  ] as const) {
    it(`${can ? 'ends' : 'cannot end'} its input alone with ${protocol || 'no protocol'}`, () => {
      const { opened, sent } = channels({ protocol });
      assert.equal(opened.closeChannel(CHANNELS.stdin), can);
      assert.deepEqual(sent(), frames);
    });
  }

  it('answers a ping with its own bytes', async () => {
    const { receive, sent } = channels();
    await receive(frame(ping, 'beat'));
    assert.deepEqual(sent(), [[pong, 'beat']]);
  });

  it('answers a close, and takes nothing more', async () => {
    const { opened, receive, sent } = channels();
    await receive(frame(close, [0x03, 0xe8]));
    assert.deepEqual(sent(), [[close, '']]);
    assert.equal(opened.send(CHANNELS.stdin, Buffer.from('x')), false);
    assert.deepEqual(sent(), [[close, '']]);
  });

  it('waits for what was sent before', async () => {
    const { opened, flush, socket } = channels({ highWaterMark: 1 });
    assert.equal(opened.send(CHANNELS.stdin, Buffer.from('x')), false);
    const drained = opened.drained();
    const drain = once(socket, 'drain');
    flush();
    await Promise.all([drain, drained]);
    await opened.drained();
  });

  it('leaves nothing behind for each time that it has waited', async () => {
    const { opened, flush, socket } = channels({ highWaterMark: 1 });
    const reactions = mock.method(opened.closed, 'then').mock;
    const events = () => socket.listenerCount('drain') + socket.listenerCount('close');
    const before = events();
    for (let round = 0; round < 3; round += 1) {
      opened.send(CHANNELS.stdin, Buffer.from('x'));
      const drained = opened.drained();
      flush();
      await drained;
    }
    assert.deepEqual([reactions.callCount(), events()], [0, before]);
  });

  it('waits no longer once it never can be', async () => {
    const { opened, socket } = channels({ highWaterMark: 1 });
    opened.send(CHANNELS.stdin, Buffer.from('x'));
    const drained = opened.drained();
    socket.destroy();
    await Promise.all([drained, opened.closed]);
    assert.equal(opened.send(CHANNELS.stdin, Buffer.from('y')), false);
  });
});

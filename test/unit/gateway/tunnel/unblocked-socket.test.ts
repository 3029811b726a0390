// A socket whose writes never block its reads: two ends that both have much to send do not wait for one another.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { unblocked } from '../../../../gateway/tunnel/unblocked-socket.ts';

/** A socket whose writes end when a test says so, and which tells what is done to it. */
class HeldSocket extends Duplex {
  readonly sent: string[] = [];
  readonly held: (() => void)[] = [];
  isEnded = false;

  override _read(): void {
    // the test pushes
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.sent.push(chunk.toString());
    this.held.push(done);
  }

  override _final(done: () => void): void {
    this.isEnded = true;
    done();
  }

  /** As a socket's: after what was written. */
  destroySoon(): void {
    this.destroy();
  }
}

const wrap = (unsent = { bytes: 0 }) => {
  const socket = new HeldSocket();
  return { socket, unsent, duplex: unblocked(socket as unknown as TLSSocket, unsent) };
};
const written = (duplex: Duplex, text: string) => new Promise<void>((resolve) => duplex.write(text, () => resolve()));

describe('an unblocked socket', () => {
  it('completes a write that the socket still holds, so that reading goes on', async () => {
    const { socket, duplex } = wrap();
    await written(duplex, 'a');
    await written(duplex, 'b');
    assert.equal(socket.held.length, 1, 'the socket has not sent the first yet');
    socket.push('from the other end');
    assert.equal(String((await once(duplex, 'data') as [Buffer])[0]), 'from the other end');
  });
  it('sends everything in its order', async () => {
    const { socket, duplex } = wrap();
    for (const text of ['a', 'b', 'c', 'd']) duplex.write(text);
    for (let turn = 0; turn < 20; turn += 1) {
      socket.held.shift()?.();
      await nextTurn();
    }
    assert.equal(socket.sent.join(''), 'abcd');
  });
  it('stops reading when nobody takes what was read, and goes on when somebody does', async () => {
    const { socket, duplex } = wrap();
    const piece = Buffer.alloc(128 << 10);
    for (let pieces = 0; pieces < 8; pieces += 1) socket.push(piece);
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    assert.equal(socket.isPaused(), true, 'memory is bounded');
    let bytes = 0;
    duplex.on('data', (chunk: Buffer) => (bytes += chunk.length));
    for (let turn = 0; turn < 50 && bytes < 8 * piece.length; turn += 1) await nextTurn();
    assert.equal(bytes, 8 * piece.length);
  });
  for (const [what, size, count] of [['much', 1 << 20, 129], ['many small writes', 17, 280_000]] as const) {
    it(`ends a connection whose peer leaves ${what} unread`, async () => {
      const { socket, duplex } = wrap();
      const failed = once(duplex, 'error') as Promise<[Error]>;
      const piece = Buffer.alloc(size);
      for (let pieces = 0; pieces < count; pieces += 1) duplex.write(piece);
      assert.match((await failed)[0].message, /does not read/);
      assert.equal(socket.destroyed, true);
    });
  }
  it('counts all connections of a peer, and those no more that have ended', async () => {
    const one = wrap();
    const other = wrap(one.unsent);
    const failed = once(other.duplex, 'error') as Promise<[Error]>;
    const piece = Buffer.alloc(1 << 20);
    for (let pieces = 0; pieces < 65; pieces += 1) for (const { duplex } of [one, other]) duplex.write(piece);
    assert.match((await failed)[0].message, /does not read/);
    assert.equal(one.socket.destroyed, false);
    one.duplex.destroy();
    await once(one.duplex, 'close');
    for (const { socket } of [one, other]) for (const done of socket.held) done();
    await nextTurn();
    assert.equal(one.unsent.bytes, 0);
  });
  it('keeps a connection whose peer reads as much', async () => {
    const { socket, duplex } = wrap();
    const piece = Buffer.alloc(1 << 20);
    for (let pieces = 0; pieces < 129; pieces += 1) {
      duplex.write(piece);
      socket.held.shift()?.();
      await nextTurn();
    }
    assert.deepEqual([socket.sent.length, socket.destroyed], [129, false]);
  });
  it('ends when the other end has ended, and when this one has', async () => {
    const one = wrap();
    one.duplex.resume();
    one.socket.push(null);
    await once(one.duplex, 'end');
    const other = wrap();
    other.duplex.end();
    await once(other.duplex, 'finish');
    assert.equal(other.socket.isEnded, true);
  });
  it('is destroyed with its socket, with the error of it', async () => {
    const { socket, duplex } = wrap();
    const failed = once(duplex, 'error') as Promise<[Error]>;
    socket.destroy(new Error('reset'));
    assert.equal((await failed)[0].message, 'reset');
    assert.equal(duplex.destroyed, true);
  });
  it('takes its socket along when it is destroyed', async () => {
    const { socket, duplex } = wrap();
    duplex.destroy();
    await once(duplex, 'close');
    assert.equal(socket.destroyed, true);
  });
  it('closes without an error when the socket closes', async () => {
    const { socket, duplex } = wrap();
    socket.destroy();
    await once(duplex, 'close');
    assert.equal(duplex.errored, null);
  });
});

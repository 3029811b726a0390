// Two streams that were joined: how bytes go over, when a side is read no further, and how an end or a break goes
// through.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { joinStreams } from '../../../../gateway/tunnel/stream-junction.ts';
import { until } from '../../../support/doubles/gateway-world.ts';

/**
 * A stream whose other end is the test: what comes out is given with `push`, what goes in is kept as the system calls
 * would be.
 */
class Side extends Duplex {
  /** Sizes of chunks, one list for each write to the system. */
  readonly writes: number[][] = [];
  #isBlocked = false;
  #done: (() => void) | undefined;
  /** Asked for more. */
  wanted: () => void = () => undefined;

  override _read(): void {
    this.wanted();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#take([chunk.length], done);
  }

  override _writev(chunks: { readonly chunk: Buffer }[], done: () => void): void {
    this.#take(chunks.map(({ chunk }) => chunk.length), done);
  }

  /** Takes no more until it is released. */
  block(): void {
    this.#isBlocked = true;
  }

  release(): void {
    this.#isBlocked = false;
    this.#done?.();
  }

  get received(): number {
    return this.writes.flat().reduce((sum, size) => sum + size, 0);
  }

  #take(sizes: number[], done: () => void): void {
    this.writes.push(sizes);
    if (this.#isBlocked) this.#done = done;
    else done();
  }
}

const KB = 1_024;

function joined(halfClosedMs = 60_000): { one: Side; other: Side; ends: () => number } {
  const [one, other] = [new Side(), new Side()];
  let ends = 0;
  for (const side of [one, other]) side.on('error', () => undefined);
  joinStreams(one, other, halfClosedMs, () => (ends += 1));
  return { one, other, ends: () => ends };
}

describe('two joined streams', () => {
  it('send on what is small at once, each by itself', () => {
    const { one, other } = joined();
    one.push(Buffer.alloc(500));
    one.push(Buffer.alloc(2 * KB));
    one.read(0);
    return until(() => other.received === 500 + 2 * KB, 'both').then(
      () => assert.deepEqual(other.writes, [[500], [2 * KB]]),
    );
  });

  it('send on what is large together, after all that was there has been read', async () => {
    const { one, other } = joined();
    await new Promise(setImmediate);
    for (let count = 0; count < 8; count += 1) one.push(Buffer.alloc(16 * KB));
    await until(() => other.received === 128 * KB, 'all of it');
    assert.deepEqual(other.writes, [Array.from({ length: 8 }, () => 16 * KB)]);
  });

  it('keep the order of small and large', async () => {
    const { one, other } = joined();
    await new Promise(setImmediate);
    for (const size of [10, 16 * KB, 20, 30]) one.push(Buffer.alloc(size));
    await until(() => other.received === 60 + 16 * KB, 'all of it');
    assert.deepEqual(other.writes.flat(), [10, 16 * KB, 20, 30]);
  });

  it('read no more than 256 KiB ahead of who does not take it, and go on when it does', async () => {
    const { one, other } = joined();
    other.block();
    let given = 0;
    one.wanted = () => {
      if (given >= 100) return;
      given += 1;
      setImmediate(() => one.push(Buffer.alloc(64 * KB)));
    };
    one.read(0);
    await until(() => one.isPaused(), 'a pause');
    assert.ok(
      other.writableLength >= 256 * KB && other.writableLength <= 320 * KB, `${other.writableLength} bytes wait`,
    );
    other.release();
    await until(() => other.received === 100 * 64 * KB, 'all of it');
  });

  it('pass an end on after all that was sent before it', async () => {
    const { one, other, ends } = joined();
    one.push(Buffer.alloc(16 * KB));
    one.push(null);
    await once(other, 'finish');
    assert.equal(other.received, 16 * KB);
    assert.equal(ends(), 0);
    other.push(null);
    await until(() => ends() === 1, 'the end of both');
    assert.ok(one.destroyed && other.destroyed);
  });

  it('break together when one breaks, and say so once', async () => {
    const { one, other, ends } = joined();
    one.destroy(new Error('cut'));
    await until(() => other.destroyed, 'the end of the other');
    other.destroy();
    await new Promise(setImmediate);
    assert.equal(ends(), 1);
  });

  it('are cut when one direction has ended for longer than is allowed', async () => {
    const { one, other, ends } = joined(20);
    one.push(null);
    await until(() => one.destroyed && other.destroyed && ends() === 1, 'the cut');
  });
});

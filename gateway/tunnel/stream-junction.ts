// Pipes two byte streams into each other with backpressure. An end is forwarded as an end, an error breaks both;
// nothing stays half-closed for long.
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Bytes buffered towards one side before the other is paused. Node's default of 16 KiB pauses and resumes for each
 * chunk.
 */
const MOST_WAITING = 256 << 10;
/**
 * Chunks of this size are held until everything received was read, and leave in one system call. Smaller ones (events,
 * responses) never wait.
 */
const GATHERED_FROM = 4 << 10;

/** Closes both when done. `halfClosedMs` limits the time after one direction has ended. Calls `done` once. */
export function joinStreams(
  one: Duplex, other: Duplex, halfClosedMs: number, done: () => void = () => undefined,
): void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const breakBoth = () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    for (const stream of [one, other]) {
      // Reset where possible: TLS inside detects truncation in any case.
      if (stream instanceof Socket && !stream.destroyed) stream.resetAndDestroy();
      else stream.destroy();
    }
    done();
  };
  const join = (from: Duplex, to: Duplex) => {
    carry(from, to);
    from.on('error', breakBoth);
    from.on('end', () => {
      // An aborted HTTP/2 stream also ends, but is closed by then.
      if (from.closed && !from.writableFinished) return breakBoth();
      to.end();
      timer ??= setTimeout(breakBoth, halfClosedMs).unref();
    });
    from.on('close', () => {
      // One that has ended in both directions may close before the other has flushed.
      const isWhole = from.readableEnded && from.writableFinished;
      if (!isWhole || to.closed) breakBoth();
    });
  };
  join(one, other);
  join(other, one);
}

/** `pipe` with our own high-water mark and fewer, larger writes. */
function carry(from: Duplex, to: Duplex): void {
  let isGathering = false;
  const release = () => {
    isGathering = false;
    to.uncork();
  };
  from.on('data', (chunk: Buffer) => {
    if (!isGathering && chunk.length >= GATHERED_FROM) {
      isGathering = true;
      to.cork();
      setImmediate(release);
    }
    to.write(chunk);
    if (to.writableLength >= MOST_WAITING) from.pause();
  });
  to.on('drain', () => from.resume());
}

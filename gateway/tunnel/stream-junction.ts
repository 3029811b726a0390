// Joins two byte streams: what comes from one goes to the other, at the pace of the slower. An end goes through as an end, anything else
// breaks both; nothing stays half closed for long.
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Bytes that may wait to be sent to one side before the other is read no further. Node's own bound, 16 KiB, stops and starts the reader for each chunk. */
const MOST_WAITING = 256 << 10;
/** Chunks of so many bytes are held until all that has arrived was read, and then leave by one system call. Smaller ones (events, answers) never wait. */
const GATHERED_FROM = 4 << 10;

/** Ends both when they are done. `halfClosedMs` bounds the time after one direction has ended. Calls `done` once. */
export function joinStreams(one: Duplex, other: Duplex, halfClosedMs: number, done: () => void = () => undefined): void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const breakBoth = () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    for (const stream of [one, other]) {
      // A reset where the system still can: what is inside (TLS) tells a cut from an end in any case.
      if (stream instanceof Socket && !stream.destroyed) stream.resetAndDestroy();
      else stream.destroy();
    }
    done();
  };
  const join = (from: Duplex, to: Duplex) => {
    carry(from, to);
    from.on('error', breakBoth);
    from.on('end', () => {
      // A stream of HTTP/2 that was broken off ends as well, but is closed by then.
      if (from.closed && !from.writableFinished) return breakBoth();
      to.end();
      timer ??= setTimeout(breakBoth, halfClosedMs).unref();
    });
    from.on('close', () => {
      // One that has ended in both directions may close before the other has sent what it still holds.
      const isWhole = from.readableEnded && from.writableFinished;
      if (!isWhole || to.closed) breakBoth();
    });
  };
  join(one, other);
  join(other, one);
}

/** `pipe` with a bound of our own and fewer, larger writes. */
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

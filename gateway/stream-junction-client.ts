// Joins two byte streams: what comes from one goes to the other, at the pace of the slower. An end goes through as an end, anything else as a
// break; nothing stays half closed for long.
import type { Duplex } from 'node:stream';

/** Ends both when they are done. `halfClosedMs` bounds the time after one direction has ended. Calls `done` once. */
export function joinStreams(one: Duplex, other: Duplex, halfClosedMs: number, done: () => void = () => undefined): void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const breakBoth = () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    one.destroy();
    other.destroy();
    done();
  };
  const onEnd = () => {
    timer ??= setTimeout(breakBoth, halfClosedMs).unref();
  };
  for (const stream of [one, other]) {
    stream.on('error', breakBoth);
    stream.on('end', onEnd);
    stream.on('close', () => {
      // A stream that has ended in both directions may close before the other has sent what it still holds.
      const isWhole = stream.readableEnded && stream.writableFinished;
      if (!isWhole || (one.closed && other.closed)) breakBoth();
    });
  }
  one.pipe(other);
  other.pipe(one);
}

// Yields to the event loop. Work that never waits is one chain of microtasks: timers and sockets, the Lease renewal's
// among them, would starve until it ends.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Yield after this many ms and this many items. */
const TIME_SLICE_MS = 10;
const TURN_PIECES = 16;

let began = 0;
let pieces = 0;
let next: Promise<void> | undefined;

/** Resolves when the next item may start; undefined while the current time slice lasts. */
export function yieldToEventLoop(): Promise<void> | undefined {
  if (next !== undefined) return next.then(yieldToEventLoop);
  if (pieces === 0) began = performance.now();
  pieces += 1;
  if (pieces <= TURN_PIECES || performance.now() - began < TIME_SLICE_MS) return undefined;
  next = turnOver();
  return next.then(yieldToEventLoop);
}

async function turnOver(): Promise<void> {
  await nextTurn();
  [next, pieces] = [undefined, 0];
}

// Turns of the event loop. Work that never waits for anything is a chain of microtasks: timers and sockets, a lease's among them, would wait until
// the last of it is done.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** After so long, and so many pieces of work, all else gets its turn. In ms. */
const TIME_SLICE_MS = 10;
const TURN_PIECES = 16;

let began = 0;
let pieces = 0;
let next: Promise<void> | undefined;

/** Resolves when a piece of work may begin: undefined for at once, while the turn is young. */
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

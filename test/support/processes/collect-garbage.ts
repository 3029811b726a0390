// Garbage collection on demand, for tests of what is let go.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects all garbage, in a turn of its own: a WeakRef keeps its object for the turn in which it was made. */
export async function collectGarbage(): Promise<void> {
  await nextTurn();
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

// Prints how many MB become old of listeners that were forgotten at once, after some that waited for long. A process of
// its own, with --expose-gc: what other tests leave in a heap becomes old as well.
import { getHeapSpaceStatistics } from 'node:v8';
import { onAbort } from '../../../kubernetes/flow/abort.ts';

const collect = (globalThis as { readonly gc?: (how: object) => void }).gc;
if (collect === undefined) throw new Error('start it with --expose-gc');
/** Objects that it meets twice become old, and wait for a full collection. */
const collectYoung = (): void => collect({ type: 'minor', execution: 'sync' });

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0;

/** Callers that each hold some 5 kB, as many as there are Leases in flight. */
function waitingCalls(signal: AbortSignal): readonly (() => void)[] {
  return Array.from({ length: 32 }, () => {
    const held = Array.from({ length: 100 }, (_, index) => ({ index }));
    return onAbort(signal, () => void held);
  });
}

const { signal } = new AbortController();
const slow = waitingCalls(signal);
for (let i = 0; i < 3; i += 1) collectYoung();
for (const forget of slow) forget();
const before = oldBytes();
for (let i = 0; i < 200; i += 1) {
  for (const forget of waitingCalls(signal)) forget();
  collectYoung();
}
process.stdout.write(((oldBytes() - before) / 1e6).toFixed(1));

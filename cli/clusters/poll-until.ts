// Polling of commands that wait for what a controller does: they run once, and a watch would not pay.
import { delay } from '../../kubernetes/flow/backoff.ts';

/** How long to poll, and how often, in ms. */
export interface Polling {
  readonly forMs: number;
  readonly everyMs: number;
}

/** Polls `look` until it returns something; undefined on timeout. Throws what `look` throws, or the signal's reason. */
export async function pollUntil<T>(
  look: () => Promise<T | undefined>, polling: Polling, signal: AbortSignal,
): Promise<T | undefined> {
  const end = performance.now() + polling.forMs;
  for (;;) {
    signal.throwIfAborted();
    const found = await look();
    if (found !== undefined || performance.now() > end) return found;
    await delay(polling.everyMs, signal);
  }
}

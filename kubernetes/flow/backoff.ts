// Exponential backoff with jitter, so that many clients do not retry at once.
import { forwardAbort, onAbort } from './abort.ts';

/** Limits of a backoff in ms. */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Delay in ms before attempt `failures + 1`: doubles up to the cap, minus up to half at random. `random` is in [0,1).
 */
export function backoffDelay(limits: BackoffLimits, failures: number, random: number): number {
  const full = Math.min(limits.maxMs, limits.firstMs * 2 ** Math.min(failures - 1, 30));
  return full / 2 + (full / 2) * random;
}

/** The longest Node timer in ms (24.8 days); a longer one fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** `ms` clamped to what a timer supports. NaN becomes 0. */
export function timerMs(ms: number): number {
  return Math.min(Math.max(ms, 0) || 0, LONGEST_TIMER_MS);
}

/**
 * {@link delay} that `wake` may end early: it gets a callback, and returns what forgets it. Resolves to whether
 * it did.
 */
export async function delayUnless(
  wake: ((back: () => void) => () => void) | undefined, ms: number, signal: AbortSignal,
): Promise<boolean> {
  const woken = new AbortController();
  const forgets = [forwardAbort([signal], woken), wake?.(() => woken.abort()) ?? (() => undefined)];
  await delay(ms, woken.signal);
  for (const forget of forgets) forget();
  return woken.signal.aborted && !signal.aborted;
}

/** Resolves after `ms`, or at once when `signal` is aborted. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      forget();
      resolve();
    };
    const timer = setTimeout(done, timerMs(ms));
    const forget = onAbort(signal, done);
  });
}

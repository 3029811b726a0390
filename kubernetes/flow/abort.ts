// Listeners on long-lived AbortSignals that leak nothing and raise no MaxListeners warning: thousands of calls may wait
// on the signal of one process.
import { setMaxListeners } from 'node:events';

const unlimited = new WeakSet<AbortSignal>();

/** Calls `listener` when the signal aborts, at once if it already has; the returned function unsubscribes. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => undefined;
  }
  if (!unlimited.has(signal)) {
    setMaxListeners(0, signal);
    unlimited.add(signal);
  }
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/**
 * Aborts `to` with the reason of the first of `from` that aborts. `AbortSignal.any` would leak on long-lived signals
 * (Node 20).
 */
export function forwardAbort(from: readonly AbortSignal[], to: AbortController): () => void {
  const removals = from.map((signal) => onAbort(signal, () => to.abort(signal.reason)));
  return () => removals.forEach((remove) => remove());
}

/**
 * Runs `work` with a signal that aborts with `signal`, or with a TimeoutError after `ms`. Removes its listener from
 * `signal` when done.
 */
export async function within<T>(
  ms: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const either = new AbortController();
  const forget = forwardAbort([signal], either);
  const timer = setTimeout(() => either.abort(new DOMException(`not done within ${ms / 1_000} s`, 'TimeoutError')), ms);
  try {
    return await work(either.signal);
  } finally {
    clearTimeout(timer);
    forget();
  }
}

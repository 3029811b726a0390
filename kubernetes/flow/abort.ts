// Listeners on long-lived AbortSignals that leak nothing and raise no MaxListeners warning: thousands of calls may wait
// on the signal of one process.
import { setMaxListeners } from 'node:events';

/** What is called when a signal aborts; an object of its own, so that one function may be added twice. */
interface Listener {
  readonly call: () => void;
}

/** The listeners of one signal behind a single one of its own: adding and removing one takes constant time. */
interface Observed {
  readonly listeners: Set<Listener>;
  readonly dispatch: () => void;
}

const observed = new WeakMap<AbortSignal, Observed>();

/** Calls `listener` when the signal aborts, at once if it already has; the returned function unsubscribes. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => undefined;
  }
  const { listeners, dispatch } = observed.get(signal) ?? observe(signal);
  if (listeners.size === 0) signal.addEventListener('abort', dispatch, { once: true });
  const own: Listener = { call: listener };
  listeners.add(own);
  return () => {
    if (listeners.delete(own) && listeners.size === 0) signal.removeEventListener('abort', dispatch);
  };
}

function observe(signal: AbortSignal): Observed {
  setMaxListeners(0, signal); // others may listen by themselves
  const listeners = new Set<Listener>();
  const dispatch = (): void => {
    for (const { call } of listeners) attempt(call);
    listeners.clear();
  };
  const entry = { listeners, dispatch };
  observed.set(signal, entry);
  return entry;
}

/** As an EventTarget does: what a listener throws is an uncaught exception, and the others are called. */
function attempt(call: () => void): void {
  try {
    call();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
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

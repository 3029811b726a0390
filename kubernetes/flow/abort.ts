// Listeners on long-lived AbortSignals that leak nothing and raise no MaxListeners warning: thousands of calls may wait
// on the signal of one process.
import { setMaxListeners } from 'node:events';

/**
 * What is called when a signal aborts, in a ring with those before and after it. It is no Set: a set that grows and
 * shrinks leaves tables behind that refer to their successor and to members that are long gone. Once one of them is
 * among the old objects, all later ones and what they refer to become old as well, the whole of each call in flight
 * (docs/results/benchmarks.md). A listener that was removed refers to none.
 */
interface Listener {
  readonly call: () => void;
  before: Listener | undefined;
  after: Listener | undefined;
}

/** The listeners of one signal behind a single one of its own: adding and removing one takes constant time. */
interface Observed {
  /** The beginning and the end of the ring. */
  readonly ends: Listener;
  readonly dispatch: () => void;
}

const observed = new WeakMap<AbortSignal, Observed>();

/** Calls `listener` when the signal aborts, at once if it already has; the returned function unsubscribes. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => undefined;
  }
  const { ends, dispatch } = observed.get(signal) ?? observe(signal);
  if (ends.after === ends) signal.addEventListener('abort', dispatch, { once: true });
  const own: Listener = { call: listener, before: ends.before, after: ends };
  if (ends.before !== undefined) ends.before.after = own;
  ends.before = own;
  return () => {
    if (remove(own) && ends.after === ends) signal.removeEventListener('abort', dispatch);
  };
}

function observe(signal: AbortSignal): Observed {
  setMaxListeners(0, signal); // others may listen by themselves
  const ends: Listener = { call: () => undefined, before: undefined, after: undefined };
  ends.before = ends;
  ends.after = ends;
  const dispatch = (): void => {
    for (let next = ends.after; next !== undefined && next !== ends; next = ends.after) {
      remove(next);
      attempt(next.call);
    }
  };
  const entry = { ends, dispatch };
  observed.set(signal, entry);
  return entry;
}

/** Takes a listener out of its ring; false when it was out already. */
function remove(listener: Listener): boolean {
  const { before, after } = listener;
  if (before === undefined || after === undefined) return false;
  before.after = after;
  after.before = before;
  listener.before = undefined;
  listener.after = undefined;
  return true;
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

/** Calls `listener` with the reason of each of the signals that aborts; the returned function unsubscribes. */
export function onAnyAbort(signals: readonly AbortSignal[], listener: (reason: unknown) => void): () => void {
  const removals = signals.map((signal) => onAbort(signal, () => listener(signal.reason)));
  return () => removals.forEach((remove) => remove());
}

/**
 * Aborts `to` with the reason of the first of `from` that aborts. `AbortSignal.any` would leak on long-lived signals
 * (Node 20).
 */
export function forwardAbort(from: readonly AbortSignal[], to: AbortController): () => void {
  return onAnyAbort(from, (reason) => to.abort(reason));
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

// Simulations of all viewers of a process: one at a time, in small pieces, and at most half of the time. One of a
// hundred pods in a hundred targets takes seconds, and every open screen may ask for one.
import { onAbort } from '../../kubernetes/flow/abort.ts';
import { timerMs } from '../../kubernetes/flow/backoff.ts';
import { yieldToEventLoop } from '../../kubernetes/flow/event-loop-yield.ts';

/**
 * Runs a simulation of one viewer, and resolves to all that it gives; it begins when `start` is called. Rejects with
 * what it throws, and at once when the signal aborts while it waits.
 */
export type Simulate = <T>(start: () => Iterable<T>, signal: AbortSignal) => Promise<readonly T[]>;

/** Runs them: viewers take turns, and each has its own in the order in which they were asked for. */
export class Simulations {
  /** What waits, by viewer; the first has the next turn. */
  readonly #waiting = new Map<string, readonly (() => void)[]>();
  #isRunning = false;
  /** By the clock of `performance`, in ms: as long after the last one as it took, however it ended. */
  #restsUntil = 0;
  #rest: NodeJS.Timeout | undefined;

  /** Those of one viewer; sessions of the same user name share its turns. */
  of(viewer: string): Simulate {
    return async (start, signal) => {
      signal.throwIfAborted();
      await this.#turn(viewer, signal);
      return this.#run(start, signal);
    };
  }

  async #run<T>(start: () => Iterable<T>, signal: AbortSignal): Promise<readonly T[]> {
    const [all, began]: [T[], number] = [[], performance.now()];
    try {
      signal.throwIfAborted();
      for (const one of start()) {
        all.push(one);
        await yieldToEventLoop();
        signal.throwIfAborted();
      }
      return all;
    } finally {
      const now = performance.now();
      this.#restsUntil = now + (now - began);
      this.#isRunning = false;
      this.#next();
    }
  }

  #turn(viewer: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        forget();
        resolve();
      };
      const forget = onAbort(signal, () => {
        this.#keep(viewer, this.#of(viewer).filter((other) => other !== begin));
        reject(signal.reason as Error);
        this.#next();
      });
      this.#keep(viewer, [...this.#of(viewer), begin]);
      this.#next();
    });
  }

  #of(viewer: string): readonly (() => void)[] {
    return this.#waiting.get(viewer) ?? [];
  }

  #keep(viewer: string, turns: readonly (() => void)[]): void {
    if (turns.length > 0) this.#waiting.set(viewer, turns);
    else this.#waiting.delete(viewer);
  }

  /** Begins the next one, or a timer for it; there is none while nothing waits. */
  #next(): void {
    clearTimeout(this.#rest);
    const [first] = this.#waiting;
    if (this.#isRunning || first === undefined) return;
    const restMs = this.#restsUntil - performance.now();
    if (restMs > 0) {
      this.#rest = setTimeout(() => this.#next(), timerMs(Math.ceil(restMs)));
      return;
    }
    const [viewer, [begin, ...others]] = first;
    this.#waiting.delete(viewer);
    this.#keep(viewer, others); // behind all others
    this.#isRunning = true;
    begin?.();
  }
}

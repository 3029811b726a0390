// Simulations of one viewer: one at a time, in small pieces, and at most half of the time. One of a hundred pods in a
// hundred targets takes seconds, and every open screen may ask for one.
import { delay } from '../../kubernetes/flow/backoff.ts';
import { yieldToEventLoop } from '../../kubernetes/flow/event-loop-yield.ts';

/** Runs them. */
export class Simulations {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * All that the simulation gives, once those before it have ended; it begins when `start` is called. Rejects with what
   * it throws, and when the signal aborts.
   */
  run<T>(start: () => Iterable<T>, signal: AbortSignal): Promise<readonly T[]> {
    const running = this.#last.then(() => this.#run(start, signal));
    this.#last = running.then(({ tookMs }) => delay(tookMs, signal), () => undefined).catch(() => undefined);
    return running.then(({ all }) => all);
  }

  async #run<T>(
    start: () => Iterable<T>, signal: AbortSignal,
  ): Promise<{ readonly all: readonly T[]; readonly tookMs: number }> {
    signal.throwIfAborted();
    const [all, began]: [T[], number] = [[], performance.now()];
    for (const one of start()) {
      all.push(one);
      await yieldToEventLoop();
      signal.throwIfAborted();
    }
    return { all, tookMs: performance.now() - began };
  }
}

// Keys whose write was fenced because this process was no longer leader. They wait until it is leader again: retried
// every second, the thousands of keys of a burst would take CPU from the very API server whose slowness let the Lease
// expire.
import { onAbort } from '../flow/abort.ts';
import type { Fence } from '../flow/fence.ts';
import { yieldToEventLoop } from '../flow/event-loop-yield.ts';

/** Interval at which the fence is checked while keys wait, in ms. */
const INTERVAL_MS = 200;
/** How long a key waits after the last fenced write, in ms. Its controller has retried it by then. */
export const FENCED_KEY_TTL_MS = 15_000;

interface Waiting {
  readonly keys: Set<string>;
  /** Consecutive checks without success since the last key was added. */
  looks: number;
}

/** The fenced keys of one controller. */
export class FencedKeys {
  readonly #again: (key: string) => void;
  readonly #byFence = new Map<Fence, Waiting>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * `again` is called with each key once its fence holds, unless that takes longer than {@link FENCED_KEY_TTL_MS}.
   * Never called after `signal` has aborted.
   */
  constructor(again: (key: string) => void, signal: AbortSignal) {
    this.#again = again;
    onAbort(signal, () => this.#stop());
  }

  /** Adds a key that waits for the fence. */
  add(key: string, fence: Fence): void {
    const waiting = this.#byFence.get(fence) ?? { keys: new Set(), looks: 0 };
    this.#byFence.set(fence, waiting);
    waiting.keys.add(key);
    waiting.looks = 0;
    this.#timer ??= setInterval(() => void this.#look(), INTERVAL_MS).unref();
  }

  async #look(): Promise<void> {
    const free = [...this.#byFence].filter(([fence]) => fence.holds());
    for (const [fence] of free) this.#byFence.delete(fence);
    for (const [fence, waiting] of this.#byFence) {
      waiting.looks += 1;
      // a lease that another replica has taken may never come back
      if (waiting.looks * INTERVAL_MS >= FENCED_KEY_TTL_MS) this.#byFence.delete(fence);
    }
    if (this.#byFence.size === 0) this.#stop();
    for (const key of free.flatMap(([, { keys }]) => [...keys])) {
      const turn = yieldToEventLoop();
      if (turn !== undefined) await turn;
      this.#again(key);
    }
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#byFence.clear();
  }
}

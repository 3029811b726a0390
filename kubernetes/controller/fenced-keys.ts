// Keys whose write was refused because the right to write had lapsed. They wait until it holds again: tried each second, the thousands of keys of a burst
// would take the processor from the very API server whose slowness let the lease lapse.
import { onAbort } from '../flow/abort.ts';
import type { Fence } from '../flow/fence.ts';
import { yieldToEventLoop } from '../flow/event-loop-yield.ts';

/** How often the right is looked at while keys wait for it, in ms. */
const LOOK_MS = 200;
/** A key is kept for so long after the last one was refused, in ms. Its controller has tried it again by then. */
export const FENCED_KEY_TTL_MS = 15_000;

interface Waiting {
  readonly keys: Set<string>;
  /** How often it was looked at in vain since the last key came. */
  looks: number;
}

/** The keys of one controller. */
export class FencedKeys {
  readonly #again: (key: string) => void;
  readonly #byFence = new Map<Fence, Waiting>();
  #timer: NodeJS.Timeout | undefined;

  /** `again` gets each key once its right holds, unless that takes longer than {@link FENCED_KEY_TTL_MS}. Nothing is given back once `signal` has aborted. */
  constructor(again: (key: string) => void, signal: AbortSignal) {
    this.#again = again;
    onAbort(signal, () => this.#stop());
  }

  /** Keeps a key until the fence holds. */
  add(key: string, fence: Fence): void {
    const waiting = this.#byFence.get(fence) ?? { keys: new Set(), looks: 0 };
    this.#byFence.set(fence, waiting);
    waiting.keys.add(key);
    waiting.looks = 0;
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  async #look(): Promise<void> {
    const free = [...this.#byFence].filter(([fence]) => fence.holds());
    for (const [fence] of free) this.#byFence.delete(fence);
    for (const [fence, waiting] of this.#byFence) {
      waiting.looks += 1;
      if (waiting.looks * LOOK_MS >= FENCED_KEY_TTL_MS) this.#byFence.delete(fence); // a share that was given away is never ours again
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

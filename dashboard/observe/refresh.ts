// What changes often is gathered seldom: work is repeated when it is woken, never twice at once and with a pause
// between, and what was read is used again for a while.
import { onAbort } from '../../kubernetes/flow/abort.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';

/** Pause between two runs in ms, unless the work has its own. */
const PAUSE_MS = 2_000;

/** What is repeated. */
export interface RefreshedWork {
  /** Resolves to whether there was any work: there is no pause after none. */
  readonly work: (signal: AbortSignal) => Promise<boolean>;
  /** What the work throws, unless the signal aborts. */
  readonly failed: (error: unknown) => void;
  /** Pause between two runs in ms. */
  readonly pauseMs?: number;
}

/** Runs the work after each wake. */
export class Refresh {
  readonly #options: RefreshedWork;
  #isRequested = true;
  #wake: () => void = () => undefined;

  /** The work runs once at the beginning. */
  constructor(options: RefreshedWork) {
    this.#options = options;
  }

  /** Asks for another run. */
  wake(): void {
    this.#isRequested = true;
    this.#wake();
  }

  /** Works until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const forget = onAbort(signal, () => this.#wake());
    while (!signal.aborted) {
      if (!this.#isRequested) await new Promise<void>((resolve) => (this.#wake = resolve));
      if (signal.aborted) break;
      this.#isRequested = false;
      if (await this.#runOnce(signal)) await delay(this.#options.pauseMs ?? PAUSE_MS, signal);
    }
    forget();
  }

  async #runOnce(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#options.work(signal);
    } catch (error) {
      if (!signal.aborted) this.#options.failed(error);
      return true;
    }
  }
}

/** A value that is used again for a while after it was read. A change meanwhile is reported after the next read. */
export class RecentValue<T> {
  readonly #freshMs: number;
  readonly #staled: () => void;
  #value: Promise<T> | undefined;
  #hasChanged = false;

  /** `staled` is called when a value has been used for `freshMs` and its source has changed since it was asked for. */
  constructor(freshMs: number, staled: () => void) {
    [this.#freshMs, this.#staled] = [freshMs, staled];
  }

  /** The recent value, or the one that `read` resolves to. */
  get(read: () => Promise<T>): Promise<T> {
    this.#value ??= this.#keep(read());
    return this.#value;
  }

  /** The source has changed: what was asked for before may not show it. */
  changed(): void {
    this.#hasChanged = true;
  }

  /** Forgets it: the next one is read. */
  forget(): void {
    this.#value = undefined;
  }

  #keep(reading: Promise<T>): Promise<T> {
    this.#hasChanged = false;
    const value = reading.finally(() => setTimeout(() => this.#expire(value), this.#freshMs).unref());
    return value;
  }

  #expire(value: Promise<T>): void {
    if (this.#value !== value) return;
    this.forget();
    if (this.#hasChanged) this.#staled();
  }
}

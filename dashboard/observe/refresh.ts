// Repeats work when it is woken, never twice at once and with a pause between: what changes often is gathered seldom.
import { onAbort } from '../../kubernetes/flow/abort.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';

/** Pause between two runs in ms. */
const PAUSE_MS = 2_000;

/** Runs the work after each wake. */
export class Refresh {
  readonly #work: (signal: AbortSignal) => Promise<boolean>;
  readonly #pauseMs: number;
  #isAsked = true;
  #wake: () => void = () => undefined;

  /** The work runs once at the beginning. It resolves to whether there was any: there is no pause after none. */
  constructor(work: (signal: AbortSignal) => Promise<boolean>, pauseMs: number = PAUSE_MS) {
    [this.#work, this.#pauseMs] = [work, pauseMs];
  }

  /** Asks for another run. */
  wake(): void {
    this.#isAsked = true;
    this.#wake();
  }

  /** Works until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const forget = onAbort(signal, () => this.#wake());
    while (!signal.aborted) {
      if (!this.#isAsked) await new Promise<void>((resolve) => (this.#wake = resolve));
      if (signal.aborted) break;
      this.#isAsked = false;
      const hasWorked = await this.#work(signal).catch(() => true); // interrupted: the signal aborts
      if (hasWorked) await delay(this.#pauseMs, signal).catch(() => undefined);
    }
    forget();
  }
}

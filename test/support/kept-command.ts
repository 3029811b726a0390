// A command of ours that is kept running, as a kubelet would keep it: Isthmus ends its process when it is to stand by, to be started again.
import { setTimeout as sleep } from 'node:timers/promises';
import { RunningCommand } from './command-line.ts';
import { stopWithProcess } from './stopped-with-process.ts';

const PAUSE_MS = 500;

/** Runs until it is stopped. */
export class KeptCommand {
  #running: RunningCommand | undefined;
  #isWanted = true;
  readonly #loop: Promise<void>;

  constructor(...args: readonly string[]) {
    this.#loop = this.#keep(args);
    stopWithProcess(() => this.stop());
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.#isWanted = false;
    await this.#running?.stop();
    await this.#loop;
  }

  async #keep(args: readonly string[]): Promise<void> {
    while (this.#isWanted) {
      this.#running = new RunningCommand(...args);
      await this.#running.untilLines(Number.POSITIVE_INFINITY);
      await sleep(PAUSE_MS);
    }
  }
}

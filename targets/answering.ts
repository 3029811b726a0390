// Whether a server still answers, as far as that matters to whoever is about to send it something that cannot be taken back. Nothing is asked while
// it has just been heard, or while nobody wants to know; all who want to know at once share one question.
import { delay } from '../kubernetes/flow/backoff.ts';
import { onAbort } from '../kubernetes/flow/abort.ts';
import { SilenceError } from '../kubernetes/connect/silence.ts';

/** The server, as far as this goes. */
export interface ProbedServer {
  /** When it last answered anything, in ms of a monotonic clock. */
  readonly signs: { readonly heardAt: number };
  /** Asks it. */
  answersWithin(ms: number): Promise<boolean>;
}

/** What was heard of a server within this time is as good as an answer, in ms. */
export const FRESH_MS = 2_000;
/** How long it may take to answer, in ms; both together are less than the 5 s after which nothing is sent to a server that is silent. */
export const ANSWER_MS = 1_200;
/** How often a server that does not answer is asked again, in ms, until it does or the session ends. */
const AGAIN_MS = 1_000;

/** Follows one server. */
export class ServerLiveness {
  readonly #server: ProbedServer;
  readonly #changed: () => void;
  readonly #ended: AbortSignal;
  #asking: Promise<boolean> | undefined;
  #silent = new AbortController();

  /** `changed` hears that {@link isSilent} is another one; `ended` ends all questions. */
  constructor(server: ProbedServer, changed: () => void, ended: AbortSignal) {
    this.#server = server;
    this.#changed = changed;
    this.#ended = ended;
    onAbort(ended, () => this.#silent.abort(new Error('the session has ended')));
  }

  /** Whether it did not answer when it was last asked, and has not been heard since. */
  get isSilent(): boolean {
    return this.#silent.signal.aborted && !this.#ended.aborted;
  }

  /** Aborted when it is found not to answer; another one from when it does again. */
  get silence(): AbortSignal {
    return this.#silent.signal;
  }

  /** Whether it answers now. */
  async answersNow(): Promise<boolean> {
    if (performance.now() - this.#server.signs.heardAt < FRESH_MS) return true;
    this.#asking ??= this.#server.answersWithin(ANSWER_MS).finally(() => (this.#asking = undefined));
    const answers = await this.#asking;
    if (!answers) this.#doubt();
    return answers;
  }

  /** It was heard. */
  hear(): void {
    if (!this.isSilent) return;
    this.#silent = new AbortController();
    this.#changed();
  }

  #doubt(): void {
    if (this.#silent.signal.aborted) return;
    this.#silent.abort(new SilenceError(`the API server has not answered within ${ANSWER_MS / 1_000} s`));
    this.#changed();
    void this.#askAgain();
  }

  async #askAgain(): Promise<void> {
    while (this.isSilent) {
      await delay(AGAIN_MS, this.#ended);
      if (this.isSilent && (await this.#server.answersWithin(ANSWER_MS))) this.hear();
    }
  }
}

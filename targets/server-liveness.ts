// Liveness of an API server, checked on demand before an irreversible write. Nothing is sent while it responded
// recently or no caller asks; concurrent callers share one probe.
import { delay } from '../kubernetes/flow/backoff.ts';
import { onAbort } from '../kubernetes/flow/abort.ts';
import { SilenceError } from '../kubernetes/connect/silence.ts';

/** The probed server. */
export interface ProbedServer {
  /** Its last answer to anything, in ms of a monotonic clock. */
  readonly activity: { readonly lastAnswerAt: number };
  /** Probes it: whether it answers within so many ms. */
  answersWithin(ms: number): Promise<boolean>;
}

/** A server that answered within this time, in ms, is alive without a probe. */
export const FRESH_MS = 2_000;
/**
 * Probe timeout in ms: a silent server gets no candidate later than {@link FRESH_MS} plus this after its last
 * answer.
 */
const PROBE_TIMEOUT_MS = 1_200;
/** Interval at which an unresponsive server is probed again, in ms, until it responds or the session ends. */
const PROBE_INTERVAL_MS = 1_000;

/** Tracks one server. */
export class ServerLiveness {
  readonly #server: ProbedServer;
  readonly #changed: () => void;
  readonly #ended: AbortSignal;
  #probe: Promise<boolean> | undefined;
  #silent = new AbortController();

  /** `changed` is called when {@link isSilent} changes; `ended` ends all probes. */
  constructor(server: ProbedServer, changed: () => void, ended: AbortSignal) {
    this.#server = server;
    this.#changed = changed;
    this.#ended = ended;
    onAbort(ended, () => this.#silent.abort(new Error('the session has ended')));
  }

  /** Whether the last probe failed and nothing was received since. */
  get isSilent(): boolean {
    return this.#silent.signal.aborted && !this.#ended.aborted;
  }

  /** Aborted when the server stops responding; replaced when it responds again. */
  get silence(): AbortSignal {
    return this.#silent.signal;
  }

  /** Whether it responds now. */
  async probe(): Promise<boolean> {
    if (performance.now() - this.#server.activity.lastAnswerAt < FRESH_MS) return true;
    this.#probe ??= this.#server.answersWithin(PROBE_TIMEOUT_MS).finally(() => (this.#probe = undefined));
    const answers = await this.#probe;
    if (!answers) this.#doubt();
    return answers;
  }

  /** A response was received. */
  noteAnswer(): void {
    if (!this.isSilent) return;
    this.#silent = new AbortController();
    this.#changed();
  }

  #doubt(): void {
    if (this.#silent.signal.aborted) return;
    this.#silent.abort(new SilenceError(`the API server has not answered within ${PROBE_TIMEOUT_MS / 1_000} s`));
    this.#changed();
    void this.#probeUntilReachable();
  }

  async #probeUntilReachable(): Promise<void> {
    while (this.isSilent) {
      await delay(PROBE_INTERVAL_MS, this.#ended);
      if (this.isSilent && (await this.#server.answersWithin(PROBE_TIMEOUT_MS))) this.noteAnswer();
    }
  }
}

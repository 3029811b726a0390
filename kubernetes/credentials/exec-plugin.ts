// Credentials from an exec plugin: it runs once at a time, again shortly before its answer expires or when the server
// has rejected it, and with backoff while it fails. The last credential is used until it expires.
import PQueue from 'p-queue';
import { AppError } from '../../process/errors.ts';
import { runBounded, type BoundedRun, type RunOutcome } from '../../process/programs/bounded-run.ts';
import { execInfo, readExecCredential, type ExecConfig, type PluginAnswer } from './exec-credential.ts';
import type { ResolvedCredentials } from './resolved-credentials.ts';

/** The environment of a plugin's process. */
export interface ExecPlace {
  /** What it inherits; the kubeconfig's own variables come on top. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether it is run from a terminal, where its standard error is visible. */
  readonly atTerminal: boolean;
  /** Whether it may prompt there. */
  readonly isInteractive: boolean;
}

/** How a plugin is run, and the clock; tests supply their own. */
export interface ExecEnvironment {
  readonly run: (run: BoundedRun, signal: AbortSignal) => Promise<RunOutcome>;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Timeout of a plugin without a terminal, in ms; those of clouds take a second or two. */
const EXEC_TIMEOUT_MS = 20_000;
/** Timeout of a plugin that may ask a person to log in, in ms. */
const LOGIN_TIMEOUT_MS = 600_000;
/** An answer is some kilobytes. */
const MAX_ANSWER_BYTES = 1 << 20;
/** How long before its expiry a credential is renewed: in ms, and at most this part of its lifetime. */
const RENEW_BEFORE_MS = 60_000;
const RENEW_PART = 1 / 5;
/** Longest pause in ms after the start of a run without success; the first ones are 2 s, 4 s and so on. */
const MAX_PAUSE_MS = 60_000;
/** Plugins of many targets that start together must not take all memory; a turn is not part of the timeout. */
const TURNS = new PQueue({ concurrency: 10 });

interface HeldAnswer extends PluginAnswer {
  readonly renewAtMs: number;
}

/** One credential of one kubeconfig. */
export class ExecPlugin {
  readonly #config: ExecConfig;
  readonly #place: ExecPlace;
  readonly #environment: ExecEnvironment;
  #held: HeldAnswer | undefined;
  #running: Promise<ResolvedCredentials> | undefined;
  #stopping = new AbortController();
  /** Runs in a row that failed, or whose answer the server rejected. */
  #useless = 0;
  #startedAtMs = -Infinity;
  #problem: AppError | undefined;

  constructor(config: ExecConfig, place: ExecPlace, environment: ExecEnvironment = { run: runBounded, now: Date.now }) {
    this.#config = config;
    this.#place = place;
    this.#environment = environment;
  }

  /**
   * Valid credentials. Those that will expire soon are renewed in the background.
   * @throws AppError `CredentialsUnavailable` when the plugin fails; what it printed is not part of the message.
   */
  async current(): Promise<ResolvedCredentials> {
    const now = this.#environment.now();
    const held = this.#held;
    if (held === undefined || now >= (held.expiresAtMs ?? Infinity)) return this.#run(now);
    if (now >= held.renewAtMs) void this.#run(now).catch(() => undefined);
    return held.credentials;
  }

  /** The server has rejected the credentials: the next call runs the plugin. */
  reject(): void {
    if (this.#held === undefined) return;
    this.#held = undefined;
    this.#useless += 1;
  }

  /** Kills a run that no call waits for any more. A later call may start another one. */
  stop(): void {
    this.#stopping.abort();
    this.#stopping = new AbortController();
  }

  #run(now: number): Promise<ResolvedCredentials> {
    if (this.#running !== undefined) return this.#running;
    const pauseMs = this.#useless === 0 ? 0 : Math.min(1_000 * 2 ** this.#useless, MAX_PAUSE_MS);
    if (now < this.#startedAtMs + pauseMs) {
      return Promise.reject(this.#problem ?? failure(this.#config, 'what it gave was rejected; it runs again soon'));
    }
    this.#startedAtMs = now;
    this.#running = this.#ask(this.#stopping.signal).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #ask(signal: AbortSignal): Promise<ResolvedCredentials> {
    const outcome = await TURNS.add(() => this.#environment.run(this.#toRun(), signal));
    const now = this.#environment.now();
    const answer = this.#toAnswer(outcome, now);
    if (typeof answer === 'string') {
      if (outcome.kind !== 'aborted') this.#useless += 1;
      this.#problem = failure(this.#config, answer);
      throw this.#problem;
    }
    this.#problem = undefined;
    if (this.#held !== undefined) this.#useless = 0; // the one before was good until its end
    const lifeMs = (answer.expiresAtMs ?? Infinity) - now;
    const renewAtMs = now + lifeMs - Math.min(RENEW_BEFORE_MS, lifeMs * RENEW_PART);
    this.#held = { ...answer, renewAtMs: Number.isNaN(renewAtMs) ? Infinity : renewAtMs };
    return answer.credentials;
  }

  #toRun(): BoundedRun {
    const { command, args, env } = this.#config;
    const { env: inherited, atTerminal, isInteractive } = this.#place;
    const asks = isInteractive && this.#config.interactiveMode !== 'Never';
    return {
      command, args, atTerminal, maxBytes: MAX_ANSWER_BYTES, timeoutMs: atTerminal ? LOGIN_TIMEOUT_MS : EXEC_TIMEOUT_MS,
      env: { ...inherited, ...env, KUBERNETES_EXEC_INFO: execInfo(this.#config, asks) },
    };
  }

  #toAnswer(outcome: RunOutcome, now: number): PluginAnswer | string {
    const { apiVersion, installHint } = this.#config;
    const { atTerminal } = this.#place;
    switch (outcome.kind) {
      case 'ended': {
        const hint = atTerminal ? '' : `; ${BY_HAND}`;
        if (outcome.code !== 0) return `it ended with exit code ${outcome.code}${hint}`;
        return readExecCredential(outcome.output, apiVersion, now);
      }
      case 'not-started':
        if (outcome.why !== 'ENOENT') return `it cannot be run (${outcome.why})`;
        if (!atTerminal) return 'there is no such program where Isthmus runs; add it to the image, or mount it';
        return `there is no such program${installHint === undefined ? '' : `: ${installHint.trim()}`}`;
      case 'signalled':
        return `it was killed by ${outcome.signal}`;
      case 'timed-out':
        return `it did not end within ${EXEC_TIMEOUT_MS / 1_000} s and was killed; ${BY_HAND}`;
      case 'printed-too-much':
        return `it printed more than ${MAX_ANSWER_BYTES >> 20} MiB and was killed`;
      case 'aborted':
        return 'it was stopped with the target';
    }
  }
}

const BY_HAND =
  'run it by hand in a pod of Isthmus to see why: its error output is not repeated here, because it may quote secrets';

function failure({ command }: ExecConfig, why: string): AppError {
  return new AppError('CredentialsUnavailable', `exec plugin ${command} gives no credentials: ${why}`);
}

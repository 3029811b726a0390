// Shutdown: signals become one AbortSignal, and what was started is stopped in reverse order. The only file with signal
// handlers and process.exit.
import { messageOf } from './errors.ts';

/** The part of `process` used here; tests pass a fake. */
export interface SignalSource {
  on(event: NodeJS.Signals | 'exit', listener: () => void): unknown;
  off(event: NodeJS.Signals | 'exit', listener: () => void): unknown;
  exit(code: number): unknown;
  readonly stdout?: { on(event: 'error', listener: () => void): unknown };
}

const stopSignals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** The exit code of a shell's Ctrl-C (128 + SIGINT). */
export const interruptedExitCode = 130;

/**
 * Signals within this many ms of the first count as the same one: on a Ctrl-C, npm and `timeout` forward the signal to
 * a process that already got it from the terminal.
 */
export const repeatedSignalMs = 1_000;

/**
 * One AbortSignal for SIGINT, SIGTERM and SIGHUP: the first one aborts it with the signal's name as reason; another one
 * at least a second later exits at once with code 130. It also aborts, with reason `SIGPIPE`, when nothing reads the
 * output any more. Call it once, in a command's entry point. `clock` returns ms.
 */
export function untilStopped(
  source: SignalSource = process, clock: () => number = () => performance.now(),
): AbortSignal {
  const controller = new AbortController();
  let first = Number.POSITIVE_INFINITY;
  for (const name of stopSignals) {
    source.on(name, () => {
      if (clock() - first >= repeatedSignalMs) source.exit(interruptedExitCode);
      if (controller.signal.aborted) return;
      first = clock();
      controller.abort(name);
    });
  }
  if (source.stdout !== undefined) onLostReader(source.stdout, () => controller.abort('SIGPIPE'));
  return controller.signal;
}

type Output = NonNullable<SignalSource['stdout']>;
const lostReaders = new WeakMap<Output, Set<() => void>>();

/** One listener for each output, however many commands a process runs. */
function onLostReader(output: Output, tell: () => void): void {
  const callbacks = lostReaders.get(output);
  if (callbacks !== undefined) return void callbacks.add(tell);
  const all = new Set([tell]);
  lostReaders.set(output, all);
  output.on('error', () => {
    for (const each of all) each();
  });
}

/**
 * Runs `last` when the process exits normally or after a second signal; synchronous work only. Returns a function that
 * unregisters it.
 */
export function beforeExit(last: () => void, source: SignalSource = process): () => void {
  source.on('exit', last);
  return () => void source.off('exit', last);
}

/** Sets the exit code without cutting off pending output. */
export function exitWith(code: number): void {
  process.exitCode = code;
}

/** Resolves when the signal aborts, at once if it already has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** One shutdown step. */
export interface ShutdownStep {
  readonly name: string;
  stop(): Promise<void>;
}

/**
 * How long a process may take to stop, in ms: less than the 30 s that a kubelet waits before it kills, so that the log
 * names what did not end. controller-runtime has GracefulShutdownTimeout for it.
 */
const gracefulShutdownMs = 25_000;

/** Stopping takes this much longer than draining, in ms. */
const AFTER_DRAIN_MS = 15_000;

/** How long stopping may take where so many ms of it are for what goes on, in ms. */
export function shutdownMs(drainMs: number): number {
  return Math.max(gracefulShutdownMs, drainMs + AFTER_DRAIN_MS);
}

/** What was printed by then has left the process; in ms. */
const LAST_WORDS_MS = 1_000;

/** Steps to run in reverse order; a step that fails or does not end does not prevent the others. */
export class Shutdown {
  readonly #steps: ShutdownStep[] = [];
  readonly #timeoutMs: number | undefined;
  #run: Promise<void> | undefined;
  #isLate = false;

  /** All steps together have so many ms, or as long as they take. */
  constructor(timeoutMs?: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Whether a step did not end in time: what it waits for keeps the process alive. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** Adds a step; it runs before all that were added earlier. */
  add(step: ShutdownStep): void {
    this.#steps.push(step);
  }

  /**
   * Runs all steps once, also those that a step adds; later calls wait for the first one. After the timeout the steps
   * that are left are begun and not waited for. Throws an AggregateError that names each step that failed or did not
   * end.
   */
  run(): Promise<void> {
    this.#run ??= this.#stopAll();
    return this.#run;
  }

  async #stopAll(): Promise<void> {
    const failures: Error[] = [];
    const timeout = this.#timeout();
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      await Promise.race([step.stop(), ...timeout.promises]).catch((error: unknown) => {
        failures.push(new Error(`${step.name}: ${messageOf(error)}`, { cause: error }));
      });
    }
    clearTimeout(timeout.timer);
    if (failures.length > 0) {
      throw new AggregateError(failures, `Stopping failed: ${failures.map((failure) => failure.message).join('; ')}`);
    }
  }

  /** A promise that rejects when the steps have taken too long; none where they may take as long as they do. */
  #timeout(): { readonly promises: readonly Promise<never>[]; readonly timer?: NodeJS.Timeout } {
    const ms = this.#timeoutMs;
    if (ms === undefined) return { promises: [] };
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#isLate = true;
        reject(new Error(`has not ended ${ms / 1_000} s after the process was asked to stop`));
      }, ms);
    });
    late.catch(() => undefined); // nobody waits for it between two steps
    return { promises: [late], ...(timer === undefined ? {} : { timer }) };
  }
}

/**
 * Passed to a starting service. Its signal aborts when the process was asked to stop, when `fail` is called, and when
 * starting fails.
 */
export interface RunningService {
  readonly signal: AbortSignal;
  /** Shutdown steps. */
  readonly shutdown: Shutdown;
  /** Ends the service with this error. */
  readonly fail: (error: unknown) => void;
}

/** How a service ends; tests pass their own. */
export interface ServiceEnd {
  /** How long stopping may take, in ms. */
  readonly timeoutMs?: number;
  readonly exit?: (code: number) => unknown;
}

/**
 * Runs a service until `asked` aborts or it fails, then stops in order what it started, even if it failed while
 * starting: whatever runs until the signal aborts would otherwise never end. The process exits with code 1 soon after
 * a step has not stopped in time.
 * @throws the error of starting, or the reason given to `fail`; an AggregateError when only stopping failed.
 */
export async function runService(
  asked: AbortSignal, start: (service: RunningService) => Promise<void>,
  { timeoutMs = gracefulShutdownMs, exit = (code) => process.exit(code) }: ServiceEnd = {},
): Promise<void> {
  const ending = new AbortController();
  if (asked.aborted) ending.abort(asked.reason);
  else asked.addEventListener('abort', () => ending.abort(asked.reason), { once: true });
  const shutdown = new Shutdown(timeoutMs);
  const failures: unknown[] = [];
  const fail = (error: unknown) => {
    if (!ending.signal.aborted) failures.push(error);
    ending.abort(error);
  };
  const starting = start({ signal: ending.signal, shutdown, fail }).catch(fail);
  await aborted(ending.signal);
  shutdown.add({ name: 'start', stop: () => starting }); // what it has begun adds its steps until then
  await shutdown.run().catch((error: unknown) => failures.push(error));
  if (shutdown.isLate) setTimeout(() => exit(1), LAST_WORDS_MS).unref();
  if (failures.length > 0) throw failures[0];
}

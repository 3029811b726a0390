// How the process ends: signals become one AbortSignal, and what was started is stopped in the reverse order.
// The only file with signal handlers and with process.exit.
import { messageOf } from './errors.ts';

/** The part of `process` that is needed here; tests pass another one. */
export interface SignalSource {
  on(event: NodeJS.Signals | 'exit', listener: () => void): unknown;
  off(event: NodeJS.Signals | 'exit', listener: () => void): unknown;
  exit(code: number): unknown;
}

const stopSignals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** The exit code of a shell's Ctrl-C (128 + SIGINT). */
export const interruptedExitCode = 130;

/**
 * Signals within so many ms of the first one count as the same wish: on one Ctrl-C, npm and `timeout` send the signal on
 * to a process that already has it from the terminal.
 */
export const repeatedSignalMs = 1_000;

/**
 * One AbortSignal for SIGINT, SIGTERM and SIGHUP: the first aborts it, with the signal's name as reason; one more, at
 * least a second later, ends the process at once with exit code 130. Call it once, in a command's composition.
 * `clock` gives ms.
 */
export function untilStopped(source: SignalSource = process, clock: () => number = () => performance.now()): AbortSignal {
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
  return controller.signal;
}

/**
 * Runs `last` when the process exits in any way that lets code run, also after a second signal; synchronous work only.
 * Returns a function that takes the request back.
 */
export function beforeExit(last: () => void, source: SignalSource = process): () => void {
  source.on('exit', last);
  return () => void source.off('exit', last);
}

/** Sets the exit code without cutting off output that is still being written. */
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

/** One thing to be stopped. */
export interface ShutdownStep {
  readonly name: string;
  stop(): Promise<void>;
}

/** What was started, to be stopped in the reverse order; one step that fails does not keep the others from being stopped. */
export class Shutdown {
  readonly #steps: ShutdownStep[] = [];
  #run: Promise<void> | undefined;

  /** Adds a step; it will be stopped before all that were added earlier. */
  add(step: ShutdownStep): void {
    this.#steps.push(step);
  }

  /** Stops everything once; later calls wait for the first one. Throws an AggregateError that names each step that failed. */
  run(): Promise<void> {
    this.#run ??= this.#stopAll();
    return this.#run;
  }

  async #stopAll(): Promise<void> {
    const failures: Error[] = [];
    for (const step of this.#steps.toReversed()) {
      await step.stop().catch((error: unknown) => {
        failures.push(new Error(`${step.name}: ${messageOf(error)}`, { cause: error }));
      });
    }
    if (failures.length > 0) {
      throw new AggregateError(failures, `Stopping failed: ${failures.map((failure) => failure.message).join('; ')}`);
    }
  }
}

/** What a service starts, and what tells it to end: its signal aborts when it was asked to end, when `fail` is called, and when starting fails. */
export interface RunningService {
  readonly signal: AbortSignal;
  /** What is stopped at the end. */
  readonly shutdown: Shutdown;
  /** The service cannot go on for this reason. */
  readonly fail: (error: unknown) => void;
}

/**
 * Runs a service until `asked` aborts or it fails, then stops in order what it had started, also where starting it failed half-way: what follows
 * something until the signal aborts would otherwise be waited for without end.
 * @throws what starting it failed with, or the reason that `fail` was given; an AggregateError when only stopping failed.
 */
export async function runService(asked: AbortSignal, start: (service: RunningService) => Promise<void>): Promise<void> {
  const ending = new AbortController();
  if (asked.aborted) ending.abort(asked.reason);
  else asked.addEventListener('abort', () => ending.abort(asked.reason), { once: true });
  const shutdown = new Shutdown();
  const failures: unknown[] = [];
  const fail = (error: unknown) => {
    if (!ending.signal.aborted) failures.push(error);
    ending.abort(error);
  };
  await start({ signal: ending.signal, shutdown, fail }).then(() => aborted(ending.signal), fail);
  await shutdown.run().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

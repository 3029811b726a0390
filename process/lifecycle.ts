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
 * at least a second later exits at once with code 130. It also aborts, with reason `SIGPIPE`, when nobody can read the
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
  const told = lostReaders.get(output);
  if (told !== undefined) return void told.add(tell);
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

/** Steps to run in reverse order; a failing step does not prevent the others. */
export class Shutdown {
  readonly #steps: ShutdownStep[] = [];
  #run: Promise<void> | undefined;

  /** Adds a step; it runs before all that were added earlier. */
  add(step: ShutdownStep): void {
    this.#steps.push(step);
  }

  /** Runs all steps once; later calls wait for the first one. Throws an AggregateError that names each failed step. */
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

/**
 * Runs a service until `asked` aborts or it fails, then stops in order what it started, even if it failed while
 * starting: whatever runs until the signal aborts would otherwise never end.
 * @throws the error of starting, or the reason given to `fail`; an AggregateError when only stopping failed.
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

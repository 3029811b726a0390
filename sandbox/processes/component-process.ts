// One running program of a cluster, in its own process group, so that the terminal's Ctrl-C does not reach it and we
// control the shutdown order; its output goes to its log file.
import { spawn, type ChildProcess } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { environment } from '../../process/config.ts';
import { AppError } from '../../process/errors.ts';
import { beforeExit } from '../../process/lifecycle.ts';
import { identify, signalGroup, type ProcessIdentity } from '../../process/programs/process-identity.ts';

/** How to start a program. */
export interface ComponentSpec {
  /** `<cluster>/<component>`, for messages. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly logPath: string;
  /** Variables that it gets in addition to those of {@link componentEnvironment}. */
  readonly env?: Readonly<Record<string, string>>;
}

/** How a program ended: a code, or the signal that ended it. */
export interface ComponentExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** After a polite request to stop, a program has so long, in ms, before it is killed. */
const stopTimeoutMs = 10_000;

const living = new Set<number>();
let watchingExit = false;

/** Should this process be cut short, nothing of the sandbox outlives it. */
function endWithThisProcess(): void {
  if (watchingExit) return;
  watchingExit = true;
  beforeExit(() => {
    for (const pid of living) signalGroup(pid, 'SIGKILL');
  });
}

/** Only what a program needs: proxies, kubeconfigs and etcd settings of the user's shell must not reach it. */
function componentEnvironment(): Record<string, string> {
  const { inherited } = environment();
  const kept = ['PATH', 'HOME', 'TMPDIR', 'SystemRoot'];
  return Object.fromEntries(kept.flatMap((name) => (inherited[name] === undefined ? [] : [[name, inherited[name]]])));
}

/** The last lines of a text, those of a log that say why a program ended. */
export function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}

/** A program that was started; make one with {@link startComponent}. */
export class ComponentProcess {
  readonly spec: ComponentSpec;
  readonly identity: ProcessIdentity;
  /** Resolves when the program has ended, for whatever reason. */
  readonly exited: Promise<ComponentExit>;
  #exit: ComponentExit | undefined;
  #expected = false;

  /** @internal */
  constructor(spec: ComponentSpec, identity: ProcessIdentity, exited: Promise<ComponentExit>) {
    this.spec = spec;
    this.identity = identity;
    this.exited = exited.then((exit) => {
      living.delete(identity.pid);
      this.#exit = exit;
      return exit;
    });
  }

  /** Whether the program still runs, or is only paused. */
  get isRunning(): boolean {
    return this.#exit === undefined;
  }

  /** Whether its end was asked for. */
  get endIsExpected(): boolean {
    return this.#expected;
  }

  /** Pauses the program: it keeps its ports and answers nothing. */
  pause(): void {
    if (this.isRunning) signalGroup(this.identity.pid, 'SIGSTOP');
  }

  /** Resumes a paused program. */
  resume(): void {
    if (this.isRunning) signalGroup(this.identity.pid, 'SIGCONT');
  }

  /** Ends the program at once, as a crash would, and waits for its end. */
  async kill(): Promise<void> {
    this.#expected = true;
    if (this.isRunning) signalGroup(this.identity.pid, 'SIGKILL');
    await this.exited;
  }

  /** Asks the program to end and waits for it; kills it when it takes more than ten seconds. */
  async stop(): Promise<void> {
    this.#expected = true;
    if (!this.isRunning) return;
    signalGroup(this.identity.pid, 'SIGTERM');
    this.resume();
    const timer = setTimeout(() => signalGroup(this.identity.pid, 'SIGKILL'), stopTimeoutMs);
    await this.exited;
    clearTimeout(timer);
  }

  /** An error that says how the program ended and quotes the last lines of its log. */
  async failure(): Promise<AppError> {
    const how =
      this.#exit?.signal ? `was ended by ${this.#exit.signal}` : `ended with code ${this.#exit?.code ?? 'unknown'}`;
    const log = await readFile(this.spec.logPath, 'utf8').catch(() => '');
    const quoted = lastLines(log, 12);
    return new AppError(
      'StartFailed', `${this.spec.name} ${how}. The end of its log (${this.spec.logPath}):\n${quoted}`,
    );
  }
}

function exitOf(child: ChildProcess): Promise<ComponentExit> {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
}

/** Resolves once the program runs; the promise of its exit is made before, so that no quick end is missed. */
async function spawned(child: ChildProcess, spec: ComponentSpec): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => reject(
      new AppError('StartFailed', `${spec.name} does not start: ${cause.message}`, { cause }),
    ));
  });
  if (child.pid === undefined) throw new AppError('StartFailed', `${spec.name} has no process id`);
  return child.pid;
}

/** Starts a program; its log file is appended to. Throws AppError `StartFailed` when it cannot be run at all. */
export async function startComponent(spec: ComponentSpec): Promise<ComponentProcess> {
  endWithThisProcess();
  const log = await open(spec.logPath, 'a', 0o600);
  try {
    const [program, ...args] = spec.command;
    const stdio = ['ignore', log.fd, log.fd] as const;
    const child = spawn(program, args, {
      cwd: spec.cwd, stdio: [...stdio], detached: true, env: { ...componentEnvironment(), ...spec.env },
    });
    const exited = exitOf(child);
    const pid = await spawned(child, spec);
    living.add(pid);
    const identity = (await identify(pid)) ?? { pid, startTime: 'ended' };
    return new ComponentProcess(spec, identity, exited);
  } finally {
    await log.close();
  }
}

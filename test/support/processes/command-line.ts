// The command line as users have it: each call is a process of its own, and is counted.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { killAt } from '../faults/kill-at-call.ts';

const MAIN = fileURLToPath(new URL('../../../cli/main.js', import.meta.url));

/** What a command printed, and its exit code. */
export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/**
 * Runs `isthmus` with these words, and ends it as kill -9 does right after its n-th call to an API server. Rejects when
 * it ends before.
 */
export async function killedAtCall(nth: number, args: readonly string[]): Promise<void> {
  const hook = killAt({ pod: '', nth, when: 'after' }); // every call has the empty name in it
  const child = spawn(process.execPath, ['--import', hook, MAIN, ...args], { stdio: 'ignore' });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (signal !== 'SIGKILL') throw new Error(`"${args.join(' ')}" ended with ${code} before its call ${nth}`);
}

/** Runs `isthmus` with these words; never throws for its exit code. */
export function isthmus(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...args], { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve({ stdout, stderr, code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1 });
    });
  });
}

/** A command that goes on, as `isthmus run` does. */
export class RunningCommand {
  /** All lines of its standard output and standard error so far. */
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #waiting = new Set<() => void>();
  #hasEnded = false;

  constructor(...args: readonly string[]) {
    this.#child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream !== null) createInterface(stream).on('line', (line) => this.#take(line));
    }
    this.#child.once('exit', () => {
      this.#hasEnded = true;
      for (const wake of this.#waiting) wake();
    });
  }

  /**
   * The first line that matches, printed before or yet to come; rejects with all lines when the command ends without
   * it.
   */
  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = this.lines.find((line) => pattern.test(line));
      if (found !== undefined) return found;
      if (this.#hasEnded) throw new Error(`it ended without ${pattern}:\n${this.lines.join('\n')}`);
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  /** Resolves when so many lines were printed, or it has ended. */
  async untilLines(count: number): Promise<void> {
    while (this.lines.length < count && !this.#hasEnded) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  /** Whether the process is gone. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Ends it, and waits until it has gone. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#hasEnded) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill(signal);
    await gone;
  }

  #take(line: string): void {
    this.lines.push(line);
    for (const wake of this.#waiting) wake();
  }
}

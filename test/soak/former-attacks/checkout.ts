// A checkout of Isthmus that is built: its command line, each call a process of its own, and its commit. Nothing of it
// is loaded here, so any version will do.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { describeCommit } from '../../../benchmarks/readings/machine.ts';
import type { Ended } from '../../support/processes/command-line.ts';

/** A command of a checkout that goes on. */
export interface Running {
  readonly pid: number;
  /** The first line of its standard output. Rejects with its standard error when it ends before. */
  firstLine(): Promise<string>;
  /** Ends it with SIGTERM, and waits until it has gone. */
  stop(): Promise<void>;
}

/** The command line of the checkout in a folder. */
export class Checkout {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The commit, with `-dirty` when files differ from it. */
  commit(): Promise<string> {
    return describeCommit(
      async (...args) => (await promisify(execFile)('git', [...args], { cwd: this.#folder })).stdout,
    );
  }

  /** Runs a command to its end, two minutes at most; never throws for its exit code. */
  run(...args: readonly string[]): Promise<Ended> {
    return new Promise((resolve) => {
      execFile(process.execPath, [this.#main, ...args], { timeout: 120_000 }, (error, stdout, stderr) => {
        resolve({ stdout, stderr, code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1 });
      });
    });
  }

  /** Starts a command that goes on. */
  start(...args: readonly string[]): Running {
    const child = spawn(process.execPath, [this.#main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    return { pid: child.pid ?? 0, firstLine: () => firstLineOf(child), stop: () => stop(child) };
  }

  /** The folder of its Kustomize files. */
  get kustomize(): string {
    return `${this.#folder}/manifests/kustomize`;
  }

  get #main(): string {
    return `${this.#folder}/build/cli/main.js`;
  }
}

async function firstLineOf({ stdout, stderr }: ChildProcess): Promise<string> {
  let said = '';
  stderr?.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-4_000)));
  if (stdout !== null) for await (const line of createInterface(stdout)) return line;
  throw new Error(said);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

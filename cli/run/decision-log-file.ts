// The decision log as a ring of two files, or on standard output: recent decisions with their inputs, for `isthmus
// replay`.
import { closeSync, lstatSync, openSync, renameSync, writeSync } from 'node:fs';
import type { Logger } from 'pino';
import { messageOf } from '../../process/errors.ts';
import { DecisionLog, type DecisionToLog } from '../../scheduler/explain/decision-log.ts';

/** Size in bytes at which a file is rotated to FILE.1. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Writes decisions. Write failures are logged and block nothing. */
export class DecisionLogFile {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #mostBytes: number;
  readonly #log = new DecisionLog();
  #file: number | undefined;
  #bytes = 0;

  /** `-` is standard output. */
  constructor(path: string, logger: Logger, mostBytes = MOST_BYTES) {
    this.#path = path;
    this.#logger = logger;
    this.#mostBytes = mostBytes;
  }

  /** Writes a decision; call before any of its inputs changes. */
  write(decision: DecisionToLog): void {
    if (this.#path === '-') return void process.stdout.write(toText(this.#log.linesOf(decision, false)));
    try {
      if (this.#bytes > this.#mostBytes) this.close();
      const anew = this.#file === undefined;
      this.#file ??= this.#open();
      this.#bytes += writeSync(this.#file, toText(this.#log.linesOf(decision, anew)));
    } catch (error) {
      this.#logger.error({ file: this.#path, error: messageOf(error) }, 'the decision log cannot be written');
    }
  }

  /** Closes the file; a later decision reopens it. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#bytes = 0;
  }

  /** A file that is full, or that an earlier process has written, becomes FILE.1; a device stays. */
  #open(): number {
    const before = lstatSync(this.#path, { throwIfNoEntry: false });
    if (before?.isFile() === true && before.size > 0) renameSync(this.#path, `${this.#path}.1`);
    return openSync(this.#path, 'w', 0o600);
  }
}

function toText(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

// The decision log as a ring of two files, or on standard output: what was decided lately and what it was made on, for `isthmus replay`.
import { closeSync, openSync, renameSync, writeSync } from 'node:fs';
import type { Logger } from 'pino';
import { messageOf } from '../../process/errors.ts';
import { DecisionLog, type DecisionToLog } from '../../scheduler/explain/decision-log.ts';

/** Size of a file at which it becomes FILE.1 and a new one begins, in bytes. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Writes decisions. What cannot be written is told to the logger and stops nothing. */
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

  /** Writes a decision; call before anything that it was made on changes. */
  write(decision: DecisionToLog): void {
    if (this.#path === '-') return void process.stdout.write(toText(this.#log.linesOf(decision, false)));
    try {
      if (this.#bytes > this.#mostBytes) this.#turn();
      const anew = this.#file === undefined;
      this.#file ??= openSync(this.#path, 'w', 0o600);
      this.#bytes += writeSync(this.#file, toText(this.#log.linesOf(decision, anew)));
    } catch (error) {
      this.#logger.error({ file: this.#path, error: messageOf(error) }, 'the decision log cannot be written');
    }
  }

  /** Closes the file; a later decision begins it anew. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#bytes = 0;
  }

  #turn(): void {
    this.close();
    renameSync(this.#path, `${this.#path}.1`);
  }
}

function toText(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

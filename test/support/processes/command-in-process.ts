// A command line that runs within the test's process: hundreds of them cost less than as many processes.
import type { Command } from 'commander';
import { program } from '../../../cli/program.ts';
import { runCommandLine } from '../../../cli/command-line.ts';
import type { Ended } from './command-line.ts';

process.setMaxListeners(0); // each command listens for signals

/** What commands print when a second has passed: on a busy machine more often than elsewhere. */
const PROGRESS_NOTICE = /^looking at .* …$/;

/** Runs `isthmus` with these words; one at a time. */
export async function isthmusHere(...words: readonly string[]): Promise<Ended> {
  return runHere(await program({}, words), ...words);
}

/** Runs a tree of commands with these words; one at a time. Progress notices are left out of what they print. */
export async function runHere(tree: Command, ...words: readonly string[]): Promise<Ended> {
  const printed = { stdout: '', stderr: '' };
  const { log, error } = console;
  const before = process.exitCode;
  process.exitCode = 0;
  Object.assign(console, {
    log: (text: unknown = '') => void (printed.stdout += `${String(text)}\n`),
    error: (text: unknown = '') => {
      if (!PROGRESS_NOTICE.test(String(text))) printed.stderr += `${String(text)}\n`;
    },
  });
  try {
    await runCommandLine(tree, ['node', 'isthmus', ...words]);
    return { ...printed, code: process.exitCode };
  } finally {
    Object.assign(console, { log, error });
    process.exitCode = before;
  }
}

#!/usr/bin/env node
// The command `isthmus`: turns errors of its subcommands into a message and an exit code.
import { ApiError, UnreachableError } from '../kubernetes/flow/api-error.ts';
import { AppError, messageOf } from '../process/errors.ts';
import { exitWith, interruptedExitCode } from '../process/lifecycle.ts';
import { startIsthmus } from '../sandbox/isthmus-in-sandbox.ts';
import { sandboxCommand } from '../sandbox/sandbox-command.ts';
import { completionText, wordsToComplete } from './completion.ts';
import { program } from './program.ts';

/** Whether this is the reason of `untilStopped`'s signal: a call was interrupted by the user. */
function isStopSignal(thrown: unknown): thrown is string {
  return typeof thrown === 'string' && thrown.startsWith('SIG');
}

/** Prints errors meant for people as they are; any other is reported as a bug. */
function report(error: unknown, debug: boolean): void {
  if (isStopSignal(error)) {
    console.error(`isthmus: stopped by ${error}`);
    return exitWith(interruptedExitCode);
  }
  const isMeant = error instanceof AppError || error instanceof ApiError || error instanceof UnreachableError;
  console.error(`isthmus: ${isMeant ? '' : 'unexpected error: '}${messageOf(error)}`);
  if (debug && error instanceof Error) console.error(error.stack);
  exitWith(1);
}

const isthmus = program([sandboxCommand({ startIsthmus })]);
const words = wordsToComplete(process.argv);
try {
  if (words === undefined) await isthmus.parseAsync();
  else console.log(completionText(isthmus, words));
} catch (error) {
  report(error, isthmus.opts<{ readonly debug?: true }>().debug === true);
}

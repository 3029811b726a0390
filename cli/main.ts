#!/usr/bin/env node
// The command `isthmus`: turns what its subcommands throw into a message and an exit code.
import { ApiError, UnreachableError } from '../kubernetes/flow/api-error.ts';
import { AppError, messageOf } from '../process/errors.ts';
import { exitWith, interruptedExitCode } from '../process/lifecycle.ts';
import { startIsthmus } from '../sandbox/isthmus-in-sandbox.ts';
import { sandboxCommand } from '../sandbox/sandbox-command.ts';
import { completionText, wordsToComplete } from './completion.ts';
import { program } from './program.ts';

/** Whether this is the reason of the signal that `untilStopped` gives: a call was cut short because the user asked for the end. */
function isStopSignal(thrown: unknown): thrown is string {
  return typeof thrown === 'string' && thrown.startsWith('SIG');
}

/** Errors meant for people are shown as they are; anything else is a fault of this program, and says so. */
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

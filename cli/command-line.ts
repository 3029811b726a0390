// Runs one command line: errors become a sentence on standard error and an exit code, and output that cannot be written
// is an error.
import { Console } from 'node:console';
import { CommanderError, type Command } from 'commander';
import { exitWith, interruptedExitCode } from '../process/lifecycle.ts';
import { completionText, questionOf, wordsToComplete } from './completion.ts';
import { errorText } from './output/error-text.ts';

/** The exit code of a program whose reader went away (128 + SIGPIPE), as of `isthmus get pods | head -1`. */
const BROKEN_PIPE_EXIT_CODE = 141;

/** Runs what `argv`, as of the process, asks for. Never rejects. */
export async function runCommandLine(isthmus: Command, argv: readonly string[]): Promise<void> {
  speakAsOne(isthmus);
  const words = wordsToComplete(argv);
  try {
    if (words === undefined) await isthmus.parseAsync(argv);
    else console.log(completionText(isthmus, words, await liveChoices(isthmus, words)));
  } catch (error) {
    report(error, isthmus.opts<{ readonly debug?: true }>().debug === true);
  }
}

async function liveChoices(isthmus: Command, words: readonly string[]): Promise<readonly string[]> {
  const question = questionOf(isthmus, words);
  return question === undefined ? [] : (await import('./completion-choices.ts')).choicesOf(question);
}

/** Errors of the parser look like all others, and leave the output time to be written. */
function speakAsOne(command: Command, parents: readonly string[] = []): void {
  const names = [...parents, command.name()];
  command.exitOverride().configureOutput({
    writeOut: (text) => console.log(text.replace(/\n$/, '')),
    writeErr: (text) => console.error(text.replace(/\n$/, '')),
    outputError: (text, write) => write(parserError(text, names.join(' '))),
  });
  for (const nested of command.commands) speakAsOne(nested, names);
}

/** The parser says "error: unknown option '--nope'", sometimes with a suggestion on a line of its own. */
function parserError(text: string, command: string): string {
  const [first = '', ...rest] = text.trim().split('\n');
  const sentence = [
    `${first.replace(/^error: /, '').replace(/\.$/, '')}.`, ...rest.map((line) => line.replace(/^\(|\)$/g, '')),
  ].join(' ');
  return `isthmus: error (BadInput): ${sentence} See "${command} --help".`;
}

/** Prints errors meant for people as they are; any other is reported as a bug. */
function report(error: unknown, debug: boolean): void {
  if (error instanceof CommanderError) return error.exitCode === 0 ? undefined : exitWith(error.exitCode);
  if (isBrokenPipe(error)) return exitWith(BROKEN_PIPE_EXIT_CODE);
  if (typeof error === 'string' && error.startsWith('SIG')) return exitWith(interruptedExitCode);
  console.error(`isthmus: ${errorText(error)}`);
  if (debug && error instanceof Error) console.error(error.stack);
  exitWith(1);
}

/** `console` ignores what it cannot write; a command must not end well when its result was lost. */
export function failOnLostOutput(): void {
  const { stdout, stderr } = process;
  stdout.on('error', (error: unknown) => report(error, false));
  stderr.on('error', () => undefined); // what nobody can be told must not break off work, as of `isthmus move`
  globalThis.console = new Console({ stdout, stderr, ignoreErrors: false });
}

/**
 * Texts from clusters must not steer the terminal that shows them: where `console` prints a control character, it
 * prints its escape sequence in JSON instead.
 */
export function escapeControlCharacters(): void {
  const { log, error } = console;
  const plainly = (print: (text: string) => void) => (text: unknown = '') => print(plain(String(text)));
  Object.assign(console, { log: plainly(log), error: plainly(error) });
}

/** Tabs and ends of lines stay. */
function plain(text: string): string {
  return text.replaceAll(
    /(?![\t\n]|\r\n)\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function isBrokenPipe(error: unknown): boolean {
  return error === 'SIGPIPE' || (error instanceof Error && 'code' in error && error.code === 'EPIPE');
}

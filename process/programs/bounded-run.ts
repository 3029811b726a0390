// One run of a foreign program, without a shell: how long it may take, what it may print and what it sees of this
// process are limited.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';

/** What to run. */
export interface BoundedRun {
  /** A name on the PATH of `env`, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** When it is killed, in ms. */
  readonly timeoutMs: number;
  /** How much it may print on its standard output. */
  readonly maxBytes: number;
  /** Whether a person at the terminal sees its error output and answers its questions; otherwise it gets neither. */
  readonly atTerminal: boolean;
}

/** How it ended. */
export type RunOutcome =
  | { readonly kind: 'ended'; readonly code: number; readonly output: string }
  /** There is no such program, or it may not be run; `why` is Node's code. */
  | { readonly kind: 'not-started'; readonly why: string }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'printed-too-much' }
  /** The caller has lost interest. */
  | { readonly kind: 'aborted' };

/** Runs a program to its end. It is killed with all that it has started when it takes too long or prints too much. */
export function runBounded(run: BoundedRun, signal: AbortSignal): Promise<RunOutcome> {
  const { command, args, env, timeoutMs, maxBytes, atTerminal } = run;
  return new Promise((resolve) => {
    const stdio: StdioOptions = atTerminal ? ['inherit', 'pipe', 'inherit'] : ['ignore', 'pipe', 'ignore'];
    // A group of its own can be killed as a whole; at a terminal it would lose the keyboard.
    const place = atTerminal ? {} : { cwd: '/', detached: true };
    const child = spawn(command, [...args], { env: { ...env }, stdio, ...place });
    const printed: Buffer[] = [];
    let bytes = 0;
    const end = (outcome: RunOutcome) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      resolve(outcome);
    };
    const kill = (outcome: RunOutcome) => {
      killGroup(child, !atTerminal);
      child.stdout?.destroy();
      end(outcome);
    };
    const abort = () => kill({ kind: 'aborted' });
    const timer = setTimeout(() => kill({ kind: 'timed-out' }), timeoutMs);
    signal.addEventListener('abort', abort);
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) kill({ kind: 'printed-too-much' });
      else printed.push(chunk);
    });
    child.once('error', ({ code = 'unknown' }: NodeJS.ErrnoException) => end({ kind: 'not-started', why: code }));
    child.once('close', (code, killedBy) => {
      if (code === null) end({ kind: 'signalled', signal: killedBy ?? 'unknown' });
      else end({ kind: 'ended', code, output: Buffer.concat(printed).toString('utf8') });
    });
    if (signal.aborted) abort();
  });
}

function killGroup(child: ChildProcess, isGroup: boolean): void {
  if (child.pid === undefined) return;
  try {
    process.kill(isGroup ? -child.pid : child.pid, 'SIGKILL');
  } catch {
    // it has ended by itself
  }
}

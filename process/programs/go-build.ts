// Builds programs of this checkout's Go modules: the control planes, WireGuard, packaging tools. Reports a missing or
// unsuitable Go. The compiler runs in its own process group, so that an abort leaves nothing running.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '../config.ts';
import { AppError } from '../errors.ts';
import { goVersionProblem, parseGoVersion } from './go-toolchain.ts';
import { signalGroup } from './process-identity.ts';

const run = promisify(execFile);

/** Progress output: one line per call; a line that ends in `… N s` replaces the one before it. */
export type OnProgress = (text: string) => void;

/**
 * Folder of a Go module of this checkout, `sandbox/binaries`; the compiled form of this file is one folder deeper than
 * its source.
 * @throws AppError `NotFound` when the sources are missing.
 */
export async function moduleFolder(name: string): Promise<string> {
  const roots = [join(import.meta.dirname, '..', '..'), join(import.meta.dirname, '..', '..', '..')];
  const candidates = roots.map((root) => join(root, name));
  for (const candidate of candidates) {
    const found = await access(join(candidate, 'go.mod')).then(() => true, () => false);
    if (found) return candidate;
  }
  throw new AppError('NotFound', `The sources of a program are missing: ${candidates.join(' or ')}.`);
}

/** What is built, for messages, and the alternative without Go. */
export interface GoNeed {
  readonly source: string;
  readonly environment: Environment;
  readonly what: string;
  readonly remedy: string;
}

/** Runs Go outside the module, where it does not download another version of itself first. */
async function go(args: readonly string[], { environment, what, remedy }: GoNeed): Promise<string> {
  const output = await run('go', [...args], { cwd: tmpdir(), env: environment.inherited }).catch((cause: unknown) => {
    throw new AppError(
      'ToolMissing',
      `${what} must be built once, and Go cannot be run: install Go 1.21 or newer (https://go.dev/dl). ${remedy}`,
      { cause },
    );
  });
  return output.stdout.trim();
}

/** Throws AppError `ToolMissing` when there is no Go, or one that cannot build this module. */
export async function requireGo(need: GoNeed): Promise<void> {
  const text = await go(['version'], need);
  const wanted = parseGoVersion(await readFile(join(need.source, 'go.mod'), 'utf8'));
  const installed = parseGoVersion(text);
  if (wanted === undefined || installed === undefined) return; // a development version of Go has no number
  const objection = goVersionProblem(installed, wanted, await go(['env', 'GOTOOLCHAIN'], need));
  if (objection !== undefined) {
    throw new AppError('ToolMissing', `${need.what} must be built once. ${objection} ${need.remedy}`);
  }
}

/** Calls `onProgress` now and each second with the elapsed seconds, until the returned function is called. */
export function reportElapsed(what: string, onProgress: OnProgress): () => void {
  const begin = performance.now();
  const report = (): void => onProgress(`${what} … ${Math.floor((performance.now() - begin) / 1_000)} s`);
  report();
  const timer = setInterval(report, 1_000);
  return () => clearInterval(timer);
}

/** One compiler run. */
export interface Compilation {
  /** Package within the module, `./kwok`. */
  readonly package: string;
  /** The module's folder. */
  readonly source: string;
  readonly output: string;
  /** Linker flags. */
  readonly flags: string;
  /** Build tags. */
  readonly tags?: readonly string[];
  readonly environment: Environment;
}

/** Runs the compiler in its own process group, which an abort kills. Throws AppError `StartFailed` with its output. */
export async function compile(
  { package: name, source, output, flags, tags = [], environment }: Compilation, signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const tagged = tags.length === 0 ? [] : ['-tags', tags.join(',')];
  const args = ['build', '-trimpath', '-buildvcs=false', ...tagged, '-ldflags', flags, '-o', output, name];
  const child =
    spawn('go', args, { cwd: source, env: environment.inherited, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4_000);
    });
  }
  const end = (): void => void (child.pid !== undefined && signalGroup(child.pid, 'SIGTERM'));
  signal.addEventListener('abort', end, { once: true });
  const [code] = (await once(child, 'close')) as [number | null];
  signal.removeEventListener('abort', end);
  signal.throwIfAborted();
  if (code !== 0) throw new AppError('StartFailed', `Building ${name} failed:\n${log.trim()}`);
}

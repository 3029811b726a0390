// Finds the control planes' executables, or builds them once into the user's cache folder. Two runs at once build once:
// the second waits. A finished program appears under its name in one step, never half written.
import { execFile, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '../process/config.ts';
import { AppError } from '../process/errors.ts';
import {
  binariesKey,
  goObjection,
  goPlatform,
  linkerFlags,
  parseGoVersion,
  planBinaries,
  type BinaryPlan,
  type BuiltProgram,
  type ComponentCommands,
} from './binary-plan.ts';
import { componentNames, type ComponentName } from './cluster-plan.ts';
import { acquireLock } from './file-lock.ts';
import { signalGroup } from './process-identity.ts';

const run = promisify(execFile);
const programs: readonly BuiltProgram[] = ['kubernetes', 'kwok'];
const moduleFiles = ['go.mod', 'go.sum', 'kubernetes/main.go', 'kwok/main.go'];
const remedy =
  'Or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok.';

/** Where to tell what is going on: a text is one line; a line that ends in `… N s` replaces the one before it. */
export type OnProgress = (text: string) => void;

const isExecutable = (path: string): Promise<boolean> => access(path, constants.X_OK).then(() => true, () => false);

async function existing<Name extends string>(folder: string, names: readonly Name[]): Promise<readonly Name[]> {
  const found = await Promise.all(names.map((name) => isExecutable(join(folder, name))));
  return names.filter((_, index) => found[index]);
}

/** The folder of the Go module: beside this file in the source tree, two levels up when this is the compiled file. */
async function moduleFolder(): Promise<string> {
  const candidates = [join(import.meta.dirname, 'binaries'), join(import.meta.dirname, '..', '..', 'sandbox', 'binaries')];
  for (const candidate of candidates) {
    const found = await access(join(candidate, 'go.mod')).then(() => true, () => false);
    if (found) return candidate;
  }
  throw new AppError('NotFound', `The sources of the sandbox's programs are missing: ${candidates.join(' or ')}.`);
}

/** The cache folder of the programs built from the module's present files for this platform. */
async function builtFolder(source: string, cacheFolder: string): Promise<string> {
  const texts = await Promise.all(moduleFiles.map(async (name) => [name, await readFile(join(source, name), 'utf8')] as const));
  const files = Object.fromEntries(texts);
  const flags = linkerFlags(files['go.mod'] ?? '');
  return join(cacheFolder, 'binaries', binariesKey({ ...files, flags }, goPlatform(process.platform, process.arch)));
}

async function readyMade(folder: string | undefined): Promise<Readonly<Partial<Record<ComponentName, string>>>> {
  if (folder === undefined) return {};
  return Object.fromEntries((await existing(folder, componentNames)).map((name) => [name, join(folder, name)]));
}

async function plan(source: string, environment: Environment): Promise<BinaryPlan & { readonly folder: string }> {
  const folder = await builtFolder(source, environment.cacheFolder);
  const built = new Set(await existing(folder, programs));
  return { ...planBinaries(await readyMade(environment.kubebuilderAssets), folder, built), folder };
}

/** Asks Go outside of the module, where it does not fetch another version of itself first. */
async function go(args: readonly string[], environment: Environment): Promise<string> {
  const output = await run('go', [...args], { cwd: tmpdir(), env: environment.inherited }).catch((cause: unknown) => {
    throw new AppError('ToolMissing', `The sandbox's control planes must be built once, and Go does not run here: install Go 1.21 or newer (https://go.dev/dl). ${remedy}`, { cause });
  });
  return output.stdout.trim();
}

async function requireGo(source: string, environment: Environment): Promise<void> {
  const text = await go(['version'], environment);
  const wanted = parseGoVersion(await readFile(join(source, 'go.mod'), 'utf8'));
  const installed = parseGoVersion(text);
  if (wanted === undefined || installed === undefined) return; // a development version of Go names no number
  const objection = goObjection(installed, wanted, await go(['env', 'GOTOOLCHAIN'], environment));
  if (objection !== undefined) {
    throw new AppError('ToolMissing', `The sandbox's control planes must be built once. ${objection} ${remedy}`);
  }
}

/** Calls `onProgress` now and each second with the seconds that have passed, until the returned function is called. */
function tellTime(what: string, onProgress: OnProgress): () => void {
  const begin = performance.now();
  const tell = (): void => onProgress(`${what} … ${Math.floor((performance.now() - begin) / 1_000)} s`);
  tell();
  const timer = setInterval(tell, 1_000);
  return () => clearInterval(timer);
}

interface Compilation {
  readonly program: BuiltProgram;
  readonly source: string;
  readonly output: string;
  readonly environment: Environment;
}

/** Runs the compiler in a process group of its own, which an abort ends. */
async function compile({ program, source, output, environment }: Compilation, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const flags = linkerFlags(await readFile(join(source, 'go.mod'), 'utf8'));
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', flags, '-o', output, `./${program}`];
  const child = spawn('go', args, { cwd: source, env: environment.inherited, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4_000);
    });
  }
  const end = (): void => void (child.pid !== undefined && signalGroup(child.pid, 'SIGTERM'));
  signal.addEventListener('abort', end, { once: true });
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  signal.removeEventListener('abort', end);
  signal.throwIfAborted();
  if (code !== 0) throw new AppError('StartFailed', `Building ${program} for the sandbox failed:\n${said.trim()}`);
}

async function build(source: string, environment: Environment, onProgress: OnProgress, signal: AbortSignal): Promise<BinaryPlan> {
  const before = await plan(source, environment); // the process that was waited for may have built them
  if (before.toBuild.length === 0) return before;
  await requireGo(source, environment);
  await mkdir(before.folder, { recursive: true });
  const draft = await mkdtemp(join(dirname(before.folder), 'building-'));
  const stop = tellTime(`Building the sandbox's control planes (once, about 5 minutes)`, onProgress);
  try {
    for (const program of before.toBuild) {
      await compile({ program, source, output: join(draft, program), environment }, signal);
      await rename(join(draft, program), join(before.folder, program));
    }
  } finally {
    stop();
    await rm(draft, { recursive: true, force: true });
  }
  return plan(source, environment);
}

/**
 * How to start each component, after building what is missing. Executables in `KUBEBUILDER_ASSETS` come first.
 * Throws AppError `ToolMissing` when something must be built and there is no fit Go, `StartFailed` when building fails.
 */
export async function ensureBinaries(environment: Environment, onProgress: OnProgress, signal: AbortSignal): Promise<ComponentCommands> {
  const source = await moduleFolder();
  const present = await plan(source, environment);
  if (present.toBuild.length === 0) return present.commands;
  await mkdir(dirname(present.folder), { recursive: true });
  const onWait = (pid: number): void => onProgress(`Another run (process ${pid}) is building the sandbox's control planes; waiting for it.`);
  const lock = await acquireLock(`${present.folder}.lock`, { onWait }, signal);
  try {
    return (await build(source, environment, onProgress, signal)).commands;
  } finally {
    await lock.release();
  }
}

// One program of a Go module of this checkout, built once into the user's cache folder under a hash of its inputs.
// Concurrent runs build it once.
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../config.ts';
import { binariesKey, goPlatform } from './go-toolchain.ts';
import { acquireLock } from './file-lock.ts';
import { compile, moduleFolder, requireGo, reportElapsed, type OnProgress } from './go-build.ts';

const MODULE_FILES = ['go.mod', 'go.sum', 'main.go'];
const FLAGS = '-s -w';

/** A module with one `main`, and its texts for messages. */
export interface GoProgram {
  /** Folder of the module in the checkout, `sandbox/packaging`. */
  readonly module: string;
  /** Name of the executable. */
  readonly name: string;
  /** `helm and kubectl for tests`. */
  readonly what: string;
  /** How long a build takes, `about a minute`. */
  readonly takes: string;
  /** The alternative without Go. */
  readonly remedy: string;
}

const isThere = (path: string): Promise<boolean> => access(path).then(() => true, () => false);

async function programPath(source: string, name: string, cacheFolder: string): Promise<string> {
  const texts =
    await Promise.all(MODULE_FILES.map(async (file) => [file, await readFile(join(source, file), 'utf8')] as const));
  const key = binariesKey({ ...Object.fromEntries(texts), flags: FLAGS }, goPlatform(process.platform, process.arch));
  return join(cacheFolder, 'binaries', key, name);
}

interface Building {
  readonly source: string;
  readonly path: string;
  readonly environment: Environment;
  readonly onProgress: OnProgress;
}

async function build(
  { name, what, takes, remedy }: GoProgram, { source, path, environment, onProgress }: Building, signal: AbortSignal,
): Promise<void> {
  if (await isThere(path)) return; // the process that held the lock has built it
  await requireGo({ source, environment, what, remedy });
  await mkdir(dirname(path), { recursive: true });
  const draft = await mkdtemp(join(dirname(path), 'building-'));
  const stop = reportElapsed(`Building ${what} (once, ${takes})`, onProgress);
  try {
    await compile({ package: '.', source, output: join(draft, name), flags: FLAGS, environment }, signal);
    await rename(join(draft, name), path);
  } finally {
    stop();
    await rm(draft, { recursive: true, force: true });
  }
}

/**
 * Path of the program; builds it when it is missing.
 * @throws AppError `ToolMissing` when there is no suitable Go, `StartFailed` when the build fails.
 */
export async function ensureGoProgram(
  program: GoProgram, environment: Environment, onProgress: OnProgress, signal: AbortSignal,
): Promise<string> {
  const source = await moduleFolder(program.module);
  const path = await programPath(source, program.name, environment.cacheFolder);
  if (await isThere(path)) return path;
  await mkdir(dirname(dirname(path)), { recursive: true });
  const onWait = (pid: number): void =>
    onProgress(`Another run (process ${pid}) is building ${program.what}; waiting for it.`);
  const lock = await acquireLock(`${dirname(path)}.lock`, { onWait }, signal);
  try {
    await build(program, { source, path, environment, onProgress }, signal);
  } finally {
    await lock.release();
  }
  return path;
}

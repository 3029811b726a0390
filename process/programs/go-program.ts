// One program of a Go module of this checkout, built once into the user's cache folder under a hash of its inputs.
// Concurrent runs build it once.
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../config.ts';
import { binariesKey, goPlatform } from './go-toolchain.ts';
import { acquireLock } from './file-lock.ts';
import { compile, moduleFolder, requireGo, reportElapsed, type OnProgress } from './go-build.ts';

const FLAGS = '-s -w';

/** A program of a module, and its texts for messages. */
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
  /** The program's package where it is one that the module requires; else the module's own `main.go`. */
  readonly package?: string;
  /** Build tags. */
  readonly tags?: readonly string[];
  /** Linker flags, computed from the module's go.mod; default: without symbol tables. */
  readonly flags?: (goMod: string) => string;
}

const isThere = (path: string): Promise<boolean> => access(path).then(() => true, () => false);

/** Where a program is kept, and the linker's flags for it. */
async function programPath(
  source: string, { name, package: imported, tags = [], flags: flagsFor }: GoProgram, cacheFolder: string,
): Promise<{ readonly path: string; readonly flags: string }> {
  const moduleFiles = ['go.mod', 'go.sum', ...(imported === undefined ? ['main.go'] : [])];
  const texts =
    await Promise.all(moduleFiles.map(async (file) => [file, await readFile(join(source, file), 'utf8')] as const));
  const files = Object.fromEntries(texts);
  const flags = flagsFor?.(files['go.mod'] ?? '') ?? FLAGS;
  const inputs = { ...files, flags, ...(tags.length === 0 ? {} : { tags: tags.join(',') }) };
  const key = binariesKey(inputs, goPlatform(process.platform, process.arch));
  return { path: join(cacheFolder, 'binaries', key, name), flags };
}

interface Building {
  readonly source: string;
  readonly path: string;
  readonly flags: string;
  readonly environment: Environment;
  readonly onProgress: OnProgress;
}

async function build(
  { name, what, takes, remedy, package: imported = '.', tags = [] }: GoProgram,
  { source, path, flags, environment, onProgress }: Building, signal: AbortSignal,
): Promise<void> {
  if (await isThere(path)) return; // the process that held the lock has built it
  await requireGo({ source, environment, what, remedy });
  await mkdir(dirname(path), { recursive: true });
  const draft = await mkdtemp(join(dirname(path), 'building-'));
  const stop = reportElapsed(`Building ${what} (once, ${takes})`, onProgress);
  try {
    await compile({ package: imported, source, output: join(draft, name), flags, tags, environment }, signal);
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
  const { path, flags } = await programPath(source, program, environment.cacheFolder);
  if (await isThere(path)) return path;
  await mkdir(dirname(dirname(path)), { recursive: true });
  const onWait = (pid: number): void =>
    onProgress(`Another run (process ${pid}) is building ${program.what}; waiting for it.`);
  const lock = await acquireLock(`${dirname(path)}.lock`, { onWait }, signal);
  try {
    await build(program, { source, path, flags, environment, onProgress }, signal);
  } finally {
    await lock.release();
  }
  return path;
}

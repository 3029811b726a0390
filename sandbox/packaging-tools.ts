// helm and kubectl for the tests of the chart, the Kustomize files and the documentation: one program, built once from the Go module `packaging`
// into the user's cache folder, under a key of its inputs. Nothing that runs in production needs it.
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../process/config.ts';
import { binariesKey, goPlatform } from './binary-plan.ts';
import { acquireLock } from './file-lock.ts';
import { compile, moduleFolder, requireGo, tellTime, type OnProgress } from './go-build.ts';

const MODULE_FILES = ['go.mod', 'go.sum', 'main.go'];
const FLAGS = '-s -w';
const WHAT = 'helm and kubectl for tests';

/** How to start a tool: the executable and its first argument. */
export type ToolCommand = readonly [program: string, tool: string];

/** The tools. */
export interface PackagingTools {
  readonly helm: ToolCommand;
  readonly kubectl: ToolCommand;
}

const isThere = (path: string): Promise<boolean> => access(path).then(() => true, () => false);

async function programPath(source: string, cacheFolder: string): Promise<string> {
  const texts = await Promise.all(MODULE_FILES.map(async (name) => [name, await readFile(join(source, name), 'utf8')] as const));
  const key = binariesKey({ ...Object.fromEntries(texts), flags: FLAGS }, goPlatform(process.platform, process.arch));
  return join(cacheFolder, 'binaries', key, 'packaging');
}

async function build(source: string, program: string, { environment, onProgress }: Building, signal: AbortSignal): Promise<void> {
  if (await isThere(program)) return; // the process that was waited for has built it
  await requireGo({ source, environment, what: WHAT, remedy: 'Only tests need them.' });
  await mkdir(dirname(program), { recursive: true });
  const draft = await mkdtemp(join(dirname(program), 'building-'));
  const stop = tellTime('Building helm and kubectl for tests (once, about a minute)', onProgress);
  try {
    await compile({ package: '.', source, output: join(draft, 'packaging'), flags: FLAGS, environment }, signal);
    await rename(join(draft, 'packaging'), program);
  } finally {
    stop();
    await rm(draft, { recursive: true, force: true });
  }
}

interface Building {
  readonly environment: Environment;
  readonly onProgress: OnProgress;
}

/**
 * The tools, after building them when they are not there.
 * @throws AppError `ToolMissing` when there is no fit Go, `StartFailed` when building fails.
 */
export async function ensurePackagingTools(environment: Environment, onProgress: OnProgress, signal: AbortSignal): Promise<PackagingTools> {
  const source = await moduleFolder('packaging');
  const program = await programPath(source, environment.cacheFolder);
  const tools: PackagingTools = { helm: [program, 'helm'], kubectl: [program, 'kubectl'] };
  if (await isThere(program)) return tools;
  await mkdir(dirname(dirname(program)), { recursive: true });
  const onWait = (pid: number): void => onProgress(`Another run (process ${pid}) is building helm and kubectl; waiting for it.`);
  const lock = await acquireLock(`${dirname(program)}.lock`, { onWait }, signal);
  try {
    await build(source, program, { environment, onProgress }, signal);
  } finally {
    await lock.release();
  }
  return tools;
}

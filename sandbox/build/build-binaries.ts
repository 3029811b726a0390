// Finds the control planes' executables, or builds them once into the user's cache folder. Concurrent runs build once:
// the second waits. A finished program appears under its name atomically.
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../../process/config.ts';
import {
  forQuickBuilds,
  linkerFlags,
  planBinaries,
  type BinaryPlan,
  type BuiltProgram,
  type ComponentCommands,
} from '../plan/binary-plan.ts';
import { componentNames, type ComponentName } from '../plan/cluster-plan.ts';
import { acquireLock } from '../../process/programs/file-lock.ts';
import { binariesKey, goPlatform } from '../../process/programs/go-toolchain.ts';
import { compile, moduleFolder, requireGo, reportElapsed, type OnProgress } from '../../process/programs/go-build.ts';

const programs: readonly BuiltProgram[] = ['kubernetes', 'kwok'];
const moduleFiles = ['go.mod', 'go.sum', 'kubernetes/main.go', 'kwok/main.go'];
const REMEDY =
  'Or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok.';

const isExecutable = (path: string): Promise<boolean> => access(path, constants.X_OK).then(() => true, () => false);

async function existing<Name extends string>(folder: string, names: readonly Name[]): Promise<readonly Name[]> {
  const found = await Promise.all(names.map((name) => isExecutable(join(folder, name))));
  return names.filter((_, index) => found[index]);
}

/** The cache folder of the programs built from the module's present files for this platform. */
async function builtFolder(source: string, cacheFolder: string): Promise<string> {
  const texts =
    await Promise.all(moduleFiles.map(async (name) => [name, await readFile(join(source, name), 'utf8')] as const));
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

async function build(
  source: string, environment: Environment, onProgress: OnProgress, signal: AbortSignal,
): Promise<BinaryPlan> {
  const before = await plan(source, environment); // the process that was waited for may have built them
  if (before.toBuild.length === 0) return before;
  await requireGo({ source, environment, what: "The sandbox's control planes", remedy: REMEDY });
  await mkdir(before.folder, { recursive: true });
  const draft = await mkdtemp(join(dirname(before.folder), 'building-'));
  const flags = linkerFlags(await readFile(join(source, 'go.mod'), 'utf8'));
  const stop = reportElapsed(`Building the sandbox's control planes (once, about 5 minutes)`, onProgress);
  try {
    // both in one run: one is linked, which takes one core, while the other is compiled
    const name = before.toBuild.length === programs.length ? './...' : `./${before.toBuild.join()}`;
    await compile({ package: name, source, output: draft, flags, environment: forQuickBuilds(environment) }, signal);
    for (const program of before.toBuild) await rename(join(draft, program), join(before.folder, program));
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
export async function ensureBinaries(
  environment: Environment, onProgress: OnProgress, signal: AbortSignal,
): Promise<ComponentCommands> {
  const source = await moduleFolder('sandbox/binaries');
  const present = await plan(source, environment);
  if (present.toBuild.length === 0) return present.commands;
  await mkdir(dirname(present.folder), { recursive: true });
  const onWait = (pid: number): void =>
    onProgress(`Another run (process ${pid}) is building the sandbox's control planes; waiting for it.`);
  const lock = await acquireLock(`${present.folder}.lock`, { onWait }, signal);
  try {
    return (await build(source, environment, onProgress, signal)).commands;
  } finally {
    await lock.release();
  }
}

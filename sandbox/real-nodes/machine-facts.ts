// Finds out what this machine has of what real nodes need, by trying it.
import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environment } from '../../process/config.ts';
import { neededPlugins, neededPrograms, type CgroupLayout, type MachineFacts } from './node-requirements.ts';

const run = promisify(execFile);

/** Where distributions and the plugins' own release put them. */
const pluginFolders = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];

const isThere = (path: string): Promise<boolean> => access(path, constants.X_OK).then(() => true, () => false);

/** The absolute path of a program on the PATH; undefined when there is none. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of (environment().inherited['PATH'] ?? '').split(':')) {
    if (folder !== '' && await isThere(join(folder, name))) return join(folder, name);
  }
  return undefined;
}

async function missingPrograms(): Promise<readonly string[]> {
  const found = await Promise.all(neededPrograms.map(findProgram));
  return neededPrograms.filter((_, index) => found[index] === undefined);
}

async function cniPlugins(): Promise<string | undefined> {
  for (const folder of pluginFolders) {
    const found = await Promise.all(neededPlugins.map((name) => isThere(join(folder, name))));
    if (found.every(Boolean)) return folder;
  }
  return undefined;
}

/** The last line that a failed program said. */
function lastWord(error: unknown): string {
  const errors = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  return errors.split('\n').at(-1) || (error instanceof Error ? error.message : String(error));
}

async function unshareError(...args: readonly string[]): Promise<string | undefined> {
  return run('unshare', [...args], { timeout: 10_000 }).then(() => undefined, lastWord);
}

function namespaceError(): Promise<string | undefined> {
  const kinds = ['--net', '--mount', '--pid', '--uts', '--ipc', '--cgroup'];
  return unshareError(...kinds, '--fork', '--mount-proc', 'true');
}

/** Mounts an overlay in a mount namespace of its own, which takes it along. */
async function overlayError(directory: string): Promise<string | undefined> {
  await mkdir(directory, { recursive: true });
  const folder = await mkdtemp(join(directory, 'overlay-'));
  try {
    const [lower, upper, work] = ['lower', 'upper', 'work'].map((name) => join(folder, name));
    for (const path of [lower, upper, work]) await mkdir(path ?? folder);
    const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    return await unshareError('--mount', 'mount', '-t', 'overlay', 'overlay', '-o', options, lower ?? folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Version 1 where its memory controller is mounted, also if version 2 is beside it without controllers. */
async function cgroups(): Promise<CgroupLayout | undefined> {
  const names: readonly string[] = await readdir('/sys/fs/cgroup').catch(() => []);
  if (names.includes('cgroup.controllers')) return { version: 2 };
  if (!names.includes('memory')) return undefined;
  const table = await readFile('/proc/cgroups', 'utf8');
  const known = new Set(table.split('\n').map((line) => line.split('\t')[0] ?? ''));
  const controllers = names.filter((name) => known.has(name)).toSorted();
  return { version: 1, controllers, hasSystemd: names.includes('systemd') };
}

/** Gathers the facts. `directory` is where the sandbox will be, or a folder on the same disk. */
export async function machineFacts(directory: string): Promise<MachineFacts> {
  const { platform } = process;
  const isRoot = process.getuid?.() === 0;
  const nothing = { cniPlugins: undefined, namespaceError: undefined, overlayError: undefined, cgroups: undefined };
  if (platform !== 'linux' || !isRoot) return { platform, isRoot, missingPrograms: [], ...nothing };
  return {
    platform,
    isRoot,
    missingPrograms: await missingPrograms(),
    cniPlugins: await cniPlugins(),
    namespaceError: await namespaceError(),
    overlayError: await overlayError(directory),
    cgroups: await cgroups(),
  };
}

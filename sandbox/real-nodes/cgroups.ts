// The cgroups of a node: made before its first process, removed after its last.
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { AppError } from '../../process/errors.ts';
import type { CgroupLayout } from './node-requirements.ts';

const ROOT = '/sys/fs/cgroup';

/** A process that was killed leaves its cgroup within moments; after so many tries, 50 ms apart, something holds it. */
const tries = 200;

/** The folders of the hierarchies that a node joins. */
function hierarchies(layout: CgroupLayout): readonly string[] {
  if (layout.version === 2) return [ROOT];
  return [...layout.controllers, ...(layout.hasSystemd ? ['systemd'] : [])].map((name) => join(ROOT, name));
}

/** The mount options of each hierarchy of version 1, for the node's own mounts. */
export function mountOptions(layout: CgroupLayout): readonly string[] {
  if (layout.version === 2) return [];
  return [...layout.controllers, ...(layout.hasSystemd ? ['none,name=systemd'] : [])];
}

/**
 * The files by which a process joins a node's cgroups. Under version 2 only a cgroup without children holds processes,
 * so the node's programs share that of its first process once it is there.
 */
export function joinFiles(layout: CgroupLayout, cgroup: string, isFirst: boolean): readonly string[] {
  const leaf = layout.version === 2 && !isFirst ? ['init'] : [];
  return hierarchies(layout).map((folder) => join(folder, cgroup, ...leaf, 'cgroup.procs'));
}

/** A cpuset has no processors until it is given some (cpuset(7)). */
async function giveProcessors(folder: string, cgroup: string): Promise<void> {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    await writeFile(join(folder, cgroup, file), await readFile(join(folder, file)));
  }
}

/** Makes the cgroups of a node; those that a killed node left are removed first. */
export async function makeCgroups(layout: CgroupLayout, cgroup: string, signal: AbortSignal): Promise<void> {
  await removeCgroups(cgroup, signal);
  for (const folder of hierarchies(layout)) {
    await mkdir(join(folder, cgroup));
    if (layout.version === 1 && folder.endsWith('/cpuset')) await giveProcessors(folder, cgroup);
  }
}

/** A cgroup is removed from its leaves on; its files are no obstacle. */
async function removeTree(folder: string): Promise<void> {
  const inner = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of inner) if (entry.isDirectory()) await removeTree(join(folder, entry.name));
  await rmdir(folder);
}

async function removeOne(folder: string, signal: AbortSignal): Promise<void> {
  for (let left = tries; ; left -= 1) {
    try {
      return await removeTree(folder);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'ENOENT') return;
      if (left === 0) {
        throw new AppError('BadInput', `${folder} cannot be removed: processes are in it.`, { cause: error });
      }
    }
    await delay(50, signal);
  }
}

/** Removes the cgroups of a node from every hierarchy that is there. Throws AppError `BadInput` while one is in use. */
export async function removeCgroups(cgroup: string, signal: AbortSignal): Promise<void> {
  const names = await readdir(ROOT).catch(() => []);
  const places = [ROOT, ...names.map((name) => join(ROOT, name))];
  for (const place of places) await removeOne(join(place, cgroup), signal);
}

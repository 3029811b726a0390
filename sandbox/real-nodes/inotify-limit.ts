// The one setting of the whole machine that real nodes change: how many inotify instances a user may have. With the
// usual 128 containerd comes up without its CRI. The first cluster raises it, and the last one puts it back.
import { networkInterfaces } from 'node:os';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createExclusively } from '../../process/programs/file-lock.ts';

const setting = '/proc/sys/fs/inotify/max_user_instances';
/** What it was; below /run, which a restart of the machine empties, as it resets the setting. */
const record = '/run/isthmus-inotify-instances';
const wanted = 4_096;

/** Raises the limit where it is lower than real nodes need. */
export async function raiseInotifyLimit(): Promise<void> {
  const before = await readFile(setting, 'utf8');
  if (Number(before) >= wanted) return;
  await createExclusively(record, before);
  await writeFile(setting, String(wanted));
}

/** Puts the limit back unless a cluster with real nodes is still connected to this machine. */
export async function restoreInotifyLimit(): Promise<void> {
  const inUse = Object.keys(networkInterfaces()).some((name) => /^isthmus\d+$/.test(name));
  if (inUse) return;
  const before = await readFile(record, 'utf8').catch(() => undefined);
  if (before === undefined) return;
  await writeFile(setting, before.trim());
  await rm(record, { force: true });
}

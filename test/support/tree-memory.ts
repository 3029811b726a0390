// Memory of a process with all its descendants, from Linux' /proc: proportional set size, in which a page that several
// processes share counts once. The processes of a sandbox's containers are descendants of its supervisor.
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const EVERY_MS = 2_000;

/** Parents of all processes. */
async function parents(): Promise<ReadonlyMap<number, number>> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')));
  return new Map(stats.flatMap((stat, index) => {
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    return stat === '' ? [] : [[Number(names[index]), parent] as const];
  }));
}

/** `Pss` of a process in MiB; 0 for one that has ended. */
async function pssMiB(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1_024;
}

/** Memory of a process and of its descendants now, in MiB. */
export async function treeMiB(root: number): Promise<number> {
  const parentOf = await parents();
  const isBelow = (pid: number): boolean => {
    for (let at = pid; at > 1; at = parentOf.get(at) ?? 0) if (at === root) return true;
    return false;
  };
  let sum = 0;
  for (const pid of parentOf.keys()) if (isBelow(pid)) sum += await pssMiB(pid); // one by one: not to be in the way
  return sum;
}

/** Looks every two seconds until `signal` is aborted; resolves with the most that was seen, in MiB. */
export async function peakTreeMiB(root: () => Promise<number>, signal: AbortSignal): Promise<number> {
  let peak = 0;
  while (!signal.aborted) {
    const pid = await root().catch(() => undefined);
    if (pid !== undefined) peak = Math.max(peak, await treeMiB(pid));
    await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return peak;
}

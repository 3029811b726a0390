// Memory and processor time of a process with all its descendants, from Linux' /proc. Memory is the proportional set
// size, in which a page that several processes share counts once. The processes of a sandbox's containers are
// descendants of its supervisor.
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const EVERY_MS = 2_000;
const TICKS_A_SECOND = 100;

interface Stat {
  readonly parent: number;
  /** In user and kernel mode, its own and that of children that it has waited for, in s. */
  readonly seconds: number;
}

/** A process and all below it. */
async function treeOf(root: number): Promise<ReadonlyMap<number, Stat>> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const texts = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')));
  const all = new Map(texts.flatMap((text, index) => {
    if (text === '') return [];
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ').map(Number); // from the third one on (proc(5))
    const ticks = fields.slice(11, 15).reduce((sum, one) => sum + one, 0);
    return [[Number(names[index]), { parent: fields[1] ?? 0, seconds: ticks / TICKS_A_SECOND }] as const];
  }));
  const isBelow = (pid: number): boolean => {
    for (let at = pid; at > 1; at = all.get(at)?.parent ?? 0) if (at === root) return true;
    return false;
  };
  return new Map([...all].filter(([pid]) => isBelow(pid)));
}

/** `Pss` of a process in MiB; 0 for one that has ended. */
async function pssMiB(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1_024;
}

/** Memory of a process and of its descendants now, in MiB. */
export async function treeMiB(root: number): Promise<number> {
  let sum = 0;
  for (const pid of (await treeOf(root)).keys()) sum += await pssMiB(pid); // one by one: not to be in the way
  return sum;
}

/** Processor time that a process and its descendants have taken so far, in s. */
export async function treeSeconds(root: number): Promise<number> {
  return [...(await treeOf(root)).values()].reduce((sum, { seconds }) => sum + seconds, 0);
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

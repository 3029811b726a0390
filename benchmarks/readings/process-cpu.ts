// Processor time of processes, from Linux' /proc; elsewhere there are no figures.
import { readFile } from 'node:fs/promises';

/** `proc_pid_stat(5)`: clock ticks a second, 100 on every Linux that Node.js supports. */
const TICKS_PER_SECOND = 100;

/** User and system time from the text of /proc/PID/stat, in ms; undefined when it is none. */
export function cpuMsOfStat(stat: string): number | undefined {
  // the name before may hold anything; `state` is field 3
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [fields[11], fields[12]].map(Number);
  if (user === undefined || system === undefined || Number.isNaN(user + system)) return undefined;
  return ((user + system) * 1_000) / TICKS_PER_SECOND;
}

/**
 * Processor time that processes have used since they began, in ms by the given names; those that cannot be read are
 * left out.
 */
export async function readCpuMs(pids: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
  const figures = await Promise.all(
    [...pids].map(
      async ([name, pid]) => [name, cpuMsOfStat(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))] as const,
    ),
  );
  return new Map(figures.filter((figure): figure is readonly [string, number] => figure[1] !== undefined));
}

/** What was used between two readings, per piece of work, rounded to 1/100 ms. */
export function cpuMsPer(
  work: number, before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>,
): Readonly<Record<string, number>> {
  const used =
    [...after].map(([name, ms]) => [name, Math.round(((ms - (before.get(name) ?? 0)) / work) * 100) / 100] as const);
  return Object.fromEntries(used);
}

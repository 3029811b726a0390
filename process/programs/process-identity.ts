// A process is named by its id and its start time, so that an id which the system gave to another process is never killed.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** The end of another's child is announced to nobody but its parent; so often, in ms, it is looked for. */
const pollMs = 20;

/** One process of this machine, for as long as it lives. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When the system says it started: clock ticks since boot on Linux, the date text of `ps` elsewhere. */
  readonly startTime: string;
}

/** The start time in the text of Linux's /proc/PID/stat: field 22; the name in field 2 may hold spaces and brackets. */
export function startTimeOfStat(stat: string): string | undefined {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/** The state letter in the text of /proc/PID/stat: `Z` is a process that ended and was not yet collected. */
export function stateOfStat(stat: string): string | undefined {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0];
}

async function startTime(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    return stat === '' || stateOfStat(stat) === 'Z' ? undefined : startTimeOfStat(stat);
  }
  const listed = await run('ps', ['-o', 'lstart=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return listed.stdout.trim() || undefined;
}

/** The identity of a living process, undefined when there is none with that id. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const started = await startTime(pid);
  return started === undefined ? undefined : { pid, startTime: started };
}

/** Whether the very process that was identified still lives. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await startTime(identity.pid)) === identity.startTime;
}

/** Waits until the identified process has ended; gives false when it still lives after `patienceMs`. Throws the signal's reason. */
export async function waitForEnd(identity: ProcessIdentity, patienceMs: number, signal: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  while (await isAlive(identity)) {
    if (performance.now() > deadline) return false;
    await delay(pollMs, undefined, { signal });
  }
  return true;
}

/** Sends a signal to a process's group, or to the process where it leads none; false when there is nothing to signal. */
export function signalGroup(pid: number, name: NodeJS.Signals): boolean {
  for (const receiver of [-pid, pid]) {
    try {
      return process.kill(receiver, name);
    } catch {
      // No such group or process; the next one may exist.
    }
  }
  return false;
}

// A process is identified by its id and its start time, so that a process that reuses the id is never killed.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Polling interval in ms: only the parent of a process is notified when it ends. */
const pollMs = 20;

/** One process of this machine. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Its start time as the system reports it: clock ticks since boot on Linux, the date text of `ps` elsewhere. */
  readonly startTime: string;
}

/**
 * The start time in the text of Linux's /proc/PID/stat: field 22; the name in field 2 may contain spaces and brackets.
 */
export function startTimeOfStat(stat: string): string | undefined {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/** The state letter in the text of /proc/PID/stat: `Z` is a zombie. */
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

/** The identity of a live process; undefined when there is none with that id. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const started = await startTime(pid);
  return started === undefined ? undefined : { pid, startTime: started };
}

/** Whether the identified process is still alive. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await startTime(identity.pid)) === identity.startTime;
}

/**
 * Waits until the identified process has ended; returns false when it is still alive after `timeoutMs`. Throws the
 * signal's reason.
 */
export async function waitForEnd(identity: ProcessIdentity, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (await isAlive(identity)) {
    if (performance.now() > deadline) return false;
    await delay(pollMs, undefined, { signal });
  }
  return true;
}

/** Sends a signal to a process's group, or to the process where it leads none; returns false when neither exists. */
export function signalGroup(pid: number, name: NodeJS.Signals): boolean {
  for (const receiver of [-pid, pid]) {
    try {
      return process.kill(receiver, name);
    } catch {
      // No such group or process: try the next one.
    }
  }
  return false;
}

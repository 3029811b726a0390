// Resident memory of a process, from Linux' /proc.
import { readFile } from 'node:fs/promises';
import { AppError } from '../../process/errors.ts';

/**
 * Resident memory (`VmRSS` of `proc_pid_status(5)`) from the text of /proc/PID/status, in MiB; undefined when it is
 * none.
 */
export function residentMiBOfStatus(status: string): number | undefined {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) / 1_024;
}

/** Resident memory of a process now, in MiB. Throws AppError `NotFound` where it cannot be read. */
export async function readResidentMiB(pid: number): Promise<number> {
  const resident = residentMiBOfStatus(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''));
  if (resident === undefined) throw new AppError('NotFound', `The memory of process ${pid} cannot be read.`);
  return resident;
}

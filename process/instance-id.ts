// An ID for this run of the process, from which a later run on the same machine knows that it has ended: a restarted
// process need not wait for the Lease of its predecessor to expire.
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Scope of process ids: one boot of one machine, one PID namespace. Missing where the system does not report it. */
function pidSpace(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return createHash('sha256').update(`${boot} ${readlinkSync('/proc/self/ns/pid')}`).digest('hex').slice(0, 12);
  } catch {
    return undefined;
  }
}

/**
 * When a process started, in clock ticks since boot (field 22 of /proc/PID/stat); undefined when it does not exist or
 * is a zombie.
 */
function startTime(pid: number | 'self'): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name before may contain spaces and brackets
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

/** `HOST_SPACE-PID-START`, or `HOST_RANDOM` where the system does not report these. Unique to each process. */
export function ownInstanceId(): string {
  const [space, start] = [pidSpace(), startTime('self')];
  if (space === undefined || start === undefined) return `${hostname()}_${randomBytes(8).toString('hex')}`;
  return `${hostname()}_${space}-${process.pid}-${start}`;
}

/**
 * Whether the process of that ID has certainly ended. One on another machine, or one that cannot be checked, counts
 * as running.
 */
export function isInstanceGone(instanceId: string): boolean {
  const match = /_([0-9a-f]{12})-(\d+)-(\d+)$/.exec(instanceId);
  if (match === null || match[1] !== pidSpace()) return false;
  return startTime(Number(match[2])) !== match[3];
}

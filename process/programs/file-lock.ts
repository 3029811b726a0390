// A lock file between processes of this machine. It holds its owner's process id and start time, so that the lock of a
// dead process is taken over.
import { link, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';
import { parsedRecord } from '../../model/objects/json-values.ts';

/** A held lock. */
export interface FileLock {
  /** Releases the lock. */
  release(): Promise<void>;
}

/** Options for waiting. */
export interface LockOptions {
  /** Called once with the owner's process id when another process holds the lock. */
  readonly onWait?: (ownerPid: number) => void;
  /** Polling interval in ms; 300 when omitted. */
  readonly pollMs?: number;
}

/** A takeover takes microseconds: an older guard file is left over from a process that died in it. */
const guardStaleMs = 10_000;

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

/** The owner in a lock file's text; undefined when the text is invalid. */
export function parseOwner(text: string): ProcessIdentity | undefined {
  const { pid, startTime } = parsedRecord(text);
  if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0) return undefined;
  return typeof startTime === 'string' ? { pid, startTime } : undefined;
}

let drafts = 0;

/** Creates a file with its whole text atomically, or reports that it exists: no reader ever sees half of it. */
export async function createExclusively(path: string, text: string): Promise<boolean> {
  drafts += 1;
  const draft = `${path}.${process.pid}.${drafts}.draft`;
  await writeFile(draft, text, { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  });
}

/**
 * Removes a dead owner's lock. Only one process at a time does so, and only while the text is still the dead owner's.
 */
async function removeStale(path: string, staleText: string): Promise<void> {
  const guard = `${path}.takeover`;
  if (!(await createExclusively(guard, String(process.pid)))) {
    const age = await stat(guard).then((found) => Date.now() - found.mtimeMs, () => 0);
    if (age > guardStaleMs) await rm(guard, { force: true });
    return;
  }
  try {
    if ((await readIfPresent(path)) === staleText) await unlink(path);
  } finally {
    await rm(guard, { force: true });
  }
}

/**
 * Acquires the lock at `path`, whose folder exists; waits while a live process holds it. An abort ends the wait with
 * the signal's reason.
 */
export async function acquireLock(path: string, options: LockOptions, signal: AbortSignal): Promise<FileLock> {
  const own = JSON.stringify(await identify(process.pid));
  let isReported = false;
  while (!(await createExclusively(path, own))) {
    signal.throwIfAborted();
    const text = await readIfPresent(path);
    if (text === undefined) continue;
    const owner = parseOwner(text);
    if (owner === undefined || !(await isAlive(owner))) {
      await removeStale(path, text);
      continue;
    }
    if (!isReported) options.onWait?.(owner.pid);
    isReported = true;
    await delay(options.pollMs ?? 300, undefined, { signal });
  }
  return { release: () => rm(path, { force: true }) };
}

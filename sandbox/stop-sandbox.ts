// Stops the sandbox of a folder from another process: asks its supervisor or, when that is dead, cleans up.
import { AppError } from '../process/errors.ts';
import { isAlive, waitForEnd, type ProcessIdentity } from '../process/programs/process-identity.ts';
import { killLeftovers, readRecord, removeFiles, removeFolders, type SandboxRecord } from './sandbox-record.ts';

/** What was found and done. */
export type StopOutcome = 'stopped' | 'cleared' | 'nothing-there';

/** A supervisor stops its programs within seconds; after so long, in ms, it hangs. */
const supervisorTimeoutMs = 60_000;

/** Signals the supervisor alone, not its group: a shell or npm may be in it. */
function signalSupervisor(supervisor: ProcessIdentity, name: NodeJS.Signals): void {
  try {
    process.kill(supervisor.pid, name);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ESRCH') return; // it has just ended
    throw new AppError('BadInput', `The sandbox's process ${supervisor.pid} belongs to another user.`, { cause });
  }
}

async function clear(directory: string, record: SandboxRecord, signal: AbortSignal): Promise<void> {
  await killLeftovers(record, signal);
  await removeFiles(directory, record);
  await removeFolders(record);
}

/**
 * Stops the sandbox in a folder and waits until its processes and files are gone. Throws AppError `BadInput` when the
 * folder's record is invalid or its process is another user's.
 */
export async function stopSandbox(directory: string, signal: AbortSignal): Promise<StopOutcome> {
  const record = await readRecord(directory);
  if (record === undefined) return 'nothing-there';
  const wasAlive = await isAlive(record.supervisor);
  if (wasAlive) {
    signalSupervisor(record.supervisor, 'SIGTERM');
    if (!(await waitForEnd(record.supervisor, supervisorTimeoutMs, signal))) {
      signalSupervisor(record.supervisor, 'SIGKILL');
    }
  }
  const left = await readRecord(directory); // a supervisor that ended well took its record along
  if (left !== undefined) await clear(directory, left, signal);
  return wasAlive ? 'stopped' : 'cleared';
}

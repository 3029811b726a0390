// `sandbox.json`: who runs the sandbox in a folder, and its processes. Written before the first process starts and
// removed after the last, so that a sandbox whose supervisor was killed can be found and cleaned up.
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../process/errors.ts';
import { clusterNames } from './plan/cluster-plan.ts';
import { clearTraces, type NodeTraces } from './real-nodes/real-nodes.ts';
import { shellWord } from './processes/shell-word.ts';
import { acquireLock, createExclusively } from '../process/programs/file-lock.ts';
import {
  identify, isAlive, signalGroup, waitForEnd, type ProcessIdentity,
} from '../process/programs/process-identity.ts';

/** One cluster, as scripts need to know it; all paths are absolute. */
export interface ClusterRecord {
  readonly name: string;
  readonly kubeconfig: string;
  readonly server: string;
  readonly auditLog?: string;
}

/** One process of a sandbox. */
export interface ProcessRecord extends ProcessIdentity {
  readonly cluster: string;
  readonly component: string;
}

/** The contents of `sandbox.json`. */
export interface SandboxRecord {
  readonly state: 'starting' | 'ready';
  readonly supervisor: ProcessIdentity;
  readonly clusters: readonly ClusterRecord[];
  readonly processes: readonly ProcessRecord[];
  /** What its real nodes have outside its folder. */
  readonly traces?: NodeTraces;
  /** Folders that the sandbox made for itself, deepest first. */
  readonly madeFolders: readonly string[];
  /** Names in the sandbox's folder that belong to the sandbox. */
  readonly ownNames: readonly string[];
}

/**
 * A killed process is gone when the kernel has given its memory back; after so long, in ms, something is wrong with the
 * machine.
 */
const killTimeoutMs = 30_000;
const recordName = 'sandbox.json';
const lockName = '.sandbox.lock';

/** The names that a sandbox with so many targets creates in its folder, next to its record. */
export function ownNames(targets: number): readonly string[] {
  return [...clusterNames(targets).flatMap((name) => [name, `${name}.kubeconfig`]), 'images'];
}

/** Every folder from `deepest` up to `first`, which is `deepest` itself or above it. */
export function foldersBetween(deepest: string, first: string): readonly string[] {
  const folders = [deepest];
  for (let folder = deepest; folder !== first && dirname(folder) !== folder; ) {
    folder = dirname(folder);
    folders.push(folder);
  }
  return folders;
}

const isIdentity = (value: unknown): value is ProcessIdentity =>
  typeof value === 'object' &&
  value !== null &&
  Number.isInteger((value as ProcessIdentity).pid) &&
  (value as ProcessIdentity).pid > 1 &&
  typeof (value as ProcessIdentity).startTime === 'string';

/** A record with other names would have something of the machine's own removed. */
const areTraces = ({ interfaces, cgroups }: NodeTraces): boolean =>
  interfaces.every((name) => /^isthmus\d+$/.test(name)) &&
  cgroups.every((name) => /^isthmus\d+-[a-z0-9-]+$/.test(name));

/** Reads the text of a record; undefined when it is none, so that nothing is killed or removed by a guess. */
export function parseRecord(text: string): SandboxRecord | undefined {
  try {
    const value = JSON.parse(text) as SandboxRecord;
    const lists = [value.clusters, value.processes, value.madeFolders, value.ownNames];
    const isRecord = isIdentity(value.supervisor) && lists.every(Array.isArray) && value.processes.every(isIdentity);
    return isRecord && (value.traces === undefined || areTraces(value.traces)) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The record in a folder; undefined when there is none. Throws AppError `BadInput` when the file is something else. */
export async function readRecord(directory: string): Promise<SandboxRecord | undefined> {
  const path = join(directory, recordName);
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const record = parseRecord(text);
  if (record === undefined) {
    throw new AppError('BadInput', `${path} is not the record of a sandbox; remove it or choose another --dir.`);
  }
  return record;
}

/** Replaces the record in one step. */
export async function writeRecord(directory: string, record: SandboxRecord): Promise<void> {
  const draft = join(directory, `${recordName}.draft`);
  await writeFile(draft, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  await rename(draft, join(directory, recordName));
}

/** Removes everything the sandbox made; what others put into its folders stays. */
export async function removeFiles(directory: string, record: SandboxRecord): Promise<void> {
  for (const name of record.ownNames) await rm(join(directory, name), { recursive: true, force: true, maxRetries: 3 });
  await rm(join(directory, `${recordName}.draft`), { force: true });
  await rm(join(directory, recordName), { force: true });
}

/** Removes the folders that the sandbox made, as far as they are empty. */
export async function removeFolders(record: SandboxRecord): Promise<void> {
  for (const folder of record.madeFolders) await rmdir(folder).catch(() => undefined);
}

/**
 * Kills what is left of a sandbox whose supervisor is dead, and waits until it has ended: a dying API server still
 * writes its files. A process id that now means another process is left alone. Throws AppError `BadInput` when one
 * cannot be ended.
 */
export async function killLeftovers(record: SandboxRecord, signal: AbortSignal): Promise<void> {
  for (const leftover of record.processes) {
    if (await isAlive(leftover)) signalGroup(leftover.pid, 'SIGKILL');
  }
  const ended = await Promise.all(record.processes.map((leftover) => waitForEnd(leftover, killTimeoutMs, signal)));
  const alive = record.processes.filter((_leftover, index) => !ended[index]);
  if (alive.length === 0) return record.traces === undefined ? undefined : clearTraces(record.traces, signal);
  const names = alive.map(({ cluster, component, pid }) => `${cluster}/${component} (process ${pid})`);
  throw new AppError(
    'BadInput',
    `These processes of the sandbox do not end: ${names.join(', ')}. End them by hand and run the command again.`,
  );
}

async function refuseForeignNames(directory: string, names: readonly string[]): Promise<void> {
  const present = new Set(await readdir(directory));
  const foreign = names.filter((name) => present.has(name));
  if (foreign.length > 0) {
    throw new AppError(
      'BadInput', `${directory} already holds ${foreign.join(', ')}, and no sandbox made them; choose another --dir.`,
    );
  }
}

async function clearDeadSandbox(directory: string, signal: AbortSignal): Promise<readonly string[]> {
  const previous = await readRecord(directory);
  if (previous === undefined) return [];
  if (await isAlive(previous.supervisor)) {
    throw new AppError(
      'BadInput',
      `A sandbox already runs in ${directory} (process ${previous.supervisor.pid}). Stop it with \`isthmus sandbox ` +
        `down --dir ${shellWord(directory)}\`, or choose another --dir.`,
    );
  }
  await killLeftovers(previous, signal);
  await removeFiles(directory, previous);
  return previous.madeFolders;
}

/**
 * Makes the folder this process's sandbox and returns its first record. What a dead sandbox left there is cleared away.
 * Throws AppError `BadInput` when a living sandbox, or something else of the same names, is in the folder.
 */
export async function claimDirectory(directory: string, targets: number, signal: AbortSignal): Promise<SandboxRecord> {
  const firstMade = await mkdir(directory, { recursive: true, mode: 0o700 });
  const lock = await acquireLock(join(directory, lockName), {}, signal);
  try {
    const inherited = await clearDeadSandbox(directory, signal);
    await refuseForeignNames(directory, ownNames(targets));
    const record: SandboxRecord = {
      state: 'starting',
      supervisor: (await identify(process.pid)) ?? { pid: process.pid, startTime: '' },
      clusters: [],
      processes: [],
      madeFolders: firstMade === undefined ? inherited : foldersBetween(directory, firstMade),
      ownNames: ownNames(targets),
    };
    await createExclusively(join(directory, recordName), JSON.stringify(record));
    return record;
  } finally {
    await lock.release();
  }
}

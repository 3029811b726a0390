// A process that is first in namespaces of its own, and commands run in them. When it ends, the kernel ends everything
// else in them, and their mounts, interfaces and rules go.
import { execFile } from 'node:child_process';
import { access, readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { AppError } from '../../process/errors.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { startComponent, type ComponentProcess, type ComponentSpec } from '../processes/component-process.ts';

const run = promisify(execFile);
const timeoutMs = 60_000;

/** A running first process. */
export interface NamespaceProcess {
  readonly component: ComponentProcess;
  /** Its id as this machine sees it; `component` is its parent, which ends with it. */
  readonly pid: number;
}

async function childOf(parent: number): Promise<number> {
  const text = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8');
  const pid = Number(text.trim().split(' ')[0]);
  if (!Number.isInteger(pid) || pid < 2) throw new AppError('StartFailed', `Process ${parent} has no child.`);
  return pid;
}

/**
 * Starts the process and waits until it has written the file `ready`.
 * @throws AppError `StartFailed` when it ends before.
 */
export async function startNamespaceProcess(
  spec: ComponentSpec, ready: string, signal: AbortSignal,
): Promise<NamespaceProcess> {
  await rm(ready, { force: true });
  const component = await startComponent(spec);
  const look = async (): Promise<boolean> => !component.isRunning || await access(ready).then(() => true, () => false);
  try {
    await waitUntil(spec.name, look, timeoutMs, signal);
    if (!component.isRunning) throw await component.failure();
    return { component, pid: await childOf(component.identity.pid) };
  } catch (error) {
    await component.kill();
    throw error;
  }
}

/** Runs a program here. Throws AppError `StartFailed` with what it said. */
export async function runTool(program: string, ...args: readonly string[]): Promise<void> {
  await run(program, [...args]).catch((cause: unknown) => {
    const errors = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
    throw new AppError('StartFailed', `${[program, ...args].join(' ')} failed: ${errors}`, { cause });
  });
}

/** Runs a program in the network namespace of a process. */
export function runInNetwork(pid: number, program: string, ...args: readonly string[]): Promise<void> {
  return runTool('nsenter', '-t', String(pid), '-n', '--', program, ...args);
}

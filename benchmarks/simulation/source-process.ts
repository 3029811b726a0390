// The real source process of a simulation: started, measured, and ended gently or not.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from '../../process/config.ts';
import { AppError } from '../../process/errors.ts';
import { heapOptions, type MemoryLimit } from '../../sandbox/plan/heap-options.ts';
import { inspectorUrl, liveHeapBytes } from '../../test/support/processes/inspected-process.ts';
import { readCpuMs } from '../readings/process-cpu.ts';
import { readResidentMiB } from '../readings/process-memory.ts';
import { imageAllocator, preloading } from './image-allocator.ts';

const COMMAND = fileURLToPath(new URL('../../cli/main.js', import.meta.url));
const COMPONENTS = 'scheduler,delegate-controller,virtual-node';

/** How it is started. */
export interface SourceProcessOptions {
  /** With its kubeconfig, and its log. */
  readonly folder: string;
  /** Unique among the processes of a simulation; of its log and its profile. */
  readonly name: string;
  /** A CPU profile is written there when it ends. */
  readonly profileFolder?: string | undefined;
  /** Its heap can be asked for. */
  readonly isInspected?: boolean;
  /** Of the container that it would run in; as installed when undefined. */
  readonly memoryLimit?: MemoryLimit;
}

/** A running source process. */
export class SourceProcess {
  readonly #child: ChildProcess;
  readonly #logPath: string;

  private constructor(child: ChildProcess, logPath: string) {
    this.#child = child;
    this.#logPath = logPath;
  }

  /** Starts one on the kubeconfig in `folder`. Replicas elect a leader. */
  static async start(
    { folder, name, profileFolder, isInspected = false, memoryLimit = '1Gi' }: SourceProcessOptions,
  ): Promise<SourceProcess> {
    const logPath = join(folder, `${name}.log`);
    const log = await open(logPath, 'w');
    const inspector = isInspected ? ['--inspect=127.0.0.1:0'] : [];
    const profile = profileFolder === undefined
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`, `--cpu-prof-name=simulation-${name}.cpuprofile`];
    const { PATH = '' } = environment().inherited;
    const child = spawn(process.execPath, [
      ...heapOptions(memoryLimit), ...inspector, ...profile, COMMAND, 'run', '--kubeconfig', join(folder, 'kubeconfig'),
      '--components', COMPONENTS, '--no-target', '--log-level', 'warn',
    ], { stdio: ['ignore', log.fd, log.fd], env: { PATH, ...preloading(await imageAllocator()) } });
    await once(child, 'spawn');
    await log.close();
    return new SourceProcess(child, logPath);
  }

  /** Processor time since its start, in ms. */
  async cpuMs(): Promise<number> {
    return (await readCpuMs(new Map([['source', this.#pid]]))).get('source') ?? 0;
  }

  /** Resident memory now, in MiB. */
  residentMiB(): Promise<number> {
    return readResidentMiB(this.#pid);
  }

  /** Bytes of live objects of one that is inspected: garbage is collected first. */
  async liveHeapBytes(): Promise<number> {
    return liveHeapBytes(await inspectorUrl(this.#logPath));
  }

  get #pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Throws AppError `StartFailed` when it has ended by itself. */
  expectRunning(): void {
    if (this.#child.exitCode !== null) throw new AppError('StartFailed', 'The source process has ended.');
  }

  /** Ends it as a rolling update would (SIGTERM), or as a lost machine does (SIGKILL). */
  async stop(by: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill(by);
    await once(this.#child, 'exit');
  }
}

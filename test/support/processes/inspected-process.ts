// Processes of ours started again under V8's inspector, so that a test can ask what of their memory is really in use.
// Nothing of it is loaded into the processes themselves, and nothing in them knows. Their metrics tell what still
// waits.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { request, WebSocket } from 'undici';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import type { IsthmusWorld } from '../worlds/isthmus-world.ts';

const TIMEOUT_MS = 60_000;

/** A process whose heap can be asked for. */
export interface InspectedProcess {
  readonly process: ComponentProcess;
  /** Bytes of live objects: garbage is collected first. */
  liveHeapBytes(): Promise<number>;
  /** Keys that wait or run in all of its work queues; keys that wait for their time to come do not count. */
  queuedKeys(): Promise<number>;
}

/** Stops the process and starts the same command with an inspector and metrics on free ports of 127.0.0.1. */
async function startInspected(before: ComponentProcess): Promise<InspectedProcess> {
  await before.stop();
  const [node, ...args] = before.spec.command;
  const [port = 0] = await freePorts(1);
  const logPath = before.spec.logPath.replace(/\.log$/, '-inspected.log');
  const command =
    [node, '--inspect=127.0.0.1:0', ...args, '--health-host', '127.0.0.1', '--health-port', String(port)] as const;
  const process = await startComponent({ ...before.spec, logPath, command: [...command] });
  const url = await inspectorUrl(logPath);
  return { process, liveHeapBytes: () => liveHeapBytes(url), queuedKeys: () => queuedKeys(port) };
}

/** All processes of a world, by the names of their clusters. */
export class InspectedProcesses {
  readonly #processes: ReadonlyMap<string, InspectedProcess>;

  private constructor(processes: ReadonlyMap<string, InspectedProcess>) {
    this.#processes = processes;
  }

  /** Starts all of them again. */
  static async start({ isthmus }: IsthmusWorld): Promise<InspectedProcesses> {
    return new InspectedProcesses(
      new Map(await Promise.all(
        [...isthmus.processes].map(async ([name, process]) => [name, await startInspected(process)] as const),
      )),
    );
  }

  /** Bytes of live objects of each. */
  async heaps(): Promise<Heaps> {
    return new Map(await Promise.all(
      [...this.#processes].map(async ([name, process]) => [name, await process.liveHeapBytes()] as const),
    ));
  }

  async queuedKeys(): Promise<number> {
    const each = await Promise.all([...this.#processes.values()].map((process) => process.queuedKeys()));
    return each.reduce((sum, one) => sum + one, 0);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#processes.values()].map(({ process }) => process.stop()));
  }
}

/** Bytes by the names of clusters. */
export type Heaps = ReadonlyMap<string, number>;

/** How much more each process has in use than before, in MiB and as a ratio. */
export function growthOf(before: Heaps, after: Heaps): readonly {
  readonly process: string; readonly beforeMiB: number; readonly afterMiB: number; readonly ratio: number
}[] {
  const rounded = (value: number, digits: number) => Number(value.toFixed(digits));
  return [...before].map(([process, bytes]) => {
    const now = after.get(process) ?? Number.NaN;
    return {
      process, beforeMiB: rounded(bytes / 2 ** 20, 2), afterMiB: rounded(now / 2 ** 20, 2),
      ratio: rounded(now / bytes, 3),
    };
  });
}

async function queuedKeys(port: number): Promise<number> {
  const { body } = await request(`http://127.0.0.1:${port}/metrics`);
  const depths =
    [...(await body.text()).matchAll(/^isthmus_workqueue_depth\{.*\} (\d+)$/gm)].map(([, depth]) => Number(depth));
  if (depths.length === 0) throw new Error(`no work queue in the metrics at port ${port}`);
  return depths.reduce((sum, depth) => sum + depth, 0);
}

/** Address of the inspector of a process that writes this log: Node.js prints it as it starts. */
export async function inspectorUrl(logPath: string): Promise<string> {
  for (const end = performance.now() + TIMEOUT_MS; performance.now() < end; await sleep(50)) {
    const url = /ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/.exec(await readFile(logPath, 'utf8').catch(() => ''))?.[0];
    if (url !== undefined) return url;
  }
  throw new Error(`no inspector in ${logPath}`);
}

/**
 * Bytes of live objects of the process with this inspector: garbage is collected first (Chrome DevTools Protocol,
 * domains HeapProfiler and Runtime).
 */
export async function liveHeapBytes(url: string): Promise<number> {
  const socket = new WebSocket(url);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', () => reject(new Error(`the inspector at ${url} does not answer`)));
  });
  const ask = (id: number, method: string) => new Promise<Record<string, number>>((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(String(data)) as { readonly id?: number; readonly result?: Record<string, number> };
      if (answer.id === id) resolve(answer.result ?? {});
    });
    socket.send(JSON.stringify({ id, method }));
  });
  try {
    // what is freed by finalizers goes with the second
    for (const id of [1, 2]) await ask(id, 'HeapProfiler.collectGarbage');
    return (await ask(3, 'Runtime.getHeapUsage'))['usedSize'] ?? Number.NaN;
  } finally {
    socket.close();
  }
}

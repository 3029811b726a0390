// A process of ours started again under V8's inspector, so that a test can ask what of its memory is really in use. Nothing of it is loaded
// into the process itself, and nothing in it knows.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'undici';
import { startComponent, type ComponentProcess } from '../../sandbox/component-process.ts';

const PATIENCE_MS = 60_000;

/** A process whose heap can be asked for. */
export interface InspectedProcess {
  readonly process: ComponentProcess;
  /** Bytes of live objects: garbage is collected first. */
  liveHeapBytes(): Promise<number>;
}

/** Stops the process and starts the same command with an inspector on a free port of 127.0.0.1. */
export async function startInspected(before: ComponentProcess): Promise<InspectedProcess> {
  await before.stop();
  const [node, ...args] = before.spec.command;
  const logPath = before.spec.logPath.replace(/\.log$/, '-inspected.log');
  const process = await startComponent({ ...before.spec, logPath, command: [node, '--inspect=127.0.0.1:0', ...args] });
  const url = await inspectorUrl(logPath);
  return { process, liveHeapBytes: () => liveHeap(url) };
}

/** Node.js prints it as it starts. */
async function inspectorUrl(logPath: string): Promise<string> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(50)) {
    const url = /ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/.exec(await readFile(logPath, 'utf8').catch(() => ''))?.[0];
    if (url !== undefined) return url;
  }
  throw new Error(`no inspector in ${logPath}`);
}

/** Chrome DevTools Protocol, domains HeapProfiler and Runtime. */
async function liveHeap(url: string): Promise<number> {
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
    for (const id of [1, 2]) await ask(id, 'HeapProfiler.collectGarbage'); // what is freed by finalizers goes with the second
    return (await ask(3, 'Runtime.getHeapUsage'))['usedSize'] ?? Number.NaN;
  } finally {
    socket.close();
  }
}

// P6 and P7: the cost of syncing 100,000 pods, and of each change, against an endpoint that serves synthetic pods. The
// reference of P7 reads the same bytes with the same pool and parses nothing.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { Pool } from 'undici';
import type { Pod } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import {
  TARGET_POD_FIELDS, toTargetPodRecord, type TargetPod,
} from '../../delegate-controller/target-cache/target-pod.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { parseEventUs } from '../readings/processor-speed.ts';
import { spreadOf } from '../results/statistics.ts';
import { syntheticPod } from '../load/synthetic-pods.ts';

const TOTAL = 100_000;
const EVENTS = 40_000;
const PAGE = 200;

/** P6 and P7, and the CPU of an event. */
export const COLD_SYNC: Benchmark = {
  id: 'P7',
  title:
    `cold sync of ${TOTAL} pods of ${Math.round(JSON.stringify(syntheticPod()).length / 100) / 10} kB, heap and CPU ` +
      'of knowing them (P6)',
  async run(context, signal) {
    const server = fork(fileURLToPath(new URL('../load/synthetic-pods.js', import.meta.url)), ['serve-synthetic-pods']);
    try {
      const [{ port }] = (await once(server, 'message', { signal })) as [{ readonly port: number }];
      return await measure(new URL(`http://127.0.0.1:${port}`), context, signal);
    } finally {
      endServer(server);
    }
  },
};

function endServer(server: ChildProcess): void {
  server.disconnect();
}

interface Sync {
  readonly ms: number;
  readonly longestStallMs: number;
  readonly heapPerPod: number;
}

async function measure(server: URL, context: BenchmarkContext, signal: AbortSignal): Promise<readonly Measurement[]> {
  const raw: number[] = [];
  const syncs: Record<'pages' | 'stream', Sync[]> = { pages: [], stream: [] };
  const ours: number[] = [];
  const parsing: number[] = [];
  for (let run = 1; run <= Math.min(context.runs, 5); run += 1) {
    raw.push(await readUnparsed(server, signal));
    syncs.pages.push(await coldSync(server, false, signal));
    syncs.stream.push(await coldSync(server, true, signal));
    parsing.push(parseEventUs(EVENTS));
    ours.push(await followEvents(server, signal));
    context.onProgress(
      `P7 run ${run}: pages ${Math.round(syncs.pages.at(-1)?.ms ?? 0)} ms, stream ` +
        `${Math.round(syncs.stream.at(-1)?.ms ?? 0)} ms, unparsed ${Math.round(raw.at(-1) ?? 0)} ms`,
    );
  }
  const json = JSON.stringify(syntheticPod()).length;
  return [
    ...(['stream', 'pages'] as const).flatMap((how): Measurement[] => [
      {
        variant: `sync-${how}`, title: `until ${TOTAL} pods are known, by ${how}`, unit: 'ms',
        ours: spreadOf(syncs[how].map(({ ms }) => ms)), reference: spreadOf(raw), goal: { figure: 'ratio', atMost: 3 },
      },
      {
        variant: `stall-${how}`, title: `longest stall of the event loop meanwhile, by ${how}`, unit: 'ms',
        ours: spreadOf(syncs[how].map(({ longestStallMs }) => longestStallMs)), goal: { figure: 'ours', atMost: 50 },
      },
    ]),
    {
      variant: 'heap', title: 'heap of a tracked pod (P6)', unit: 'bytes',
      ours: spreadOf([...syncs.stream, ...syncs.pages].map(({ heapPerPod }) => heapPerPod)),
      reference: spreadOf([json]), goal: { figure: 'ratio', atMost: 0.2 },
    },
    {
      variant: 'event-cpu', title: 'CPU of an event, against JSON.parse of its line alone', unit: 'µs',
      ours: spreadOf(ours), reference: spreadOf(parsing), goal: { figure: 'ratio', atMost: 1.5 },
    },
  ];
}

async function readUnparsed(server: URL, signal: AbortSignal): Promise<number> {
  const pool = new Pool(server.origin);
  const began = performance.now();
  for (let from = 0; from < TOTAL; from += PAGE) {
    const path = `/api/v1/pods?labelSelector=total%3D${TOTAL}&limit=${PAGE}${from === 0 ? '' : `&continue=${from}`}`;
    const { body } = await pool.request({ method: 'GET', path, signal });
    await body.arrayBuffer();
  }
  const ms = performance.now() - began;
  await pool.close();
  return ms;
}

interface Following {
  readonly informer: Informer<Pod, TargetPod>;
  readonly end: () => Promise<void>;
}

function follow(server: URL, selector: string, streaming: boolean): Following {
  const transport = new Transport({ server, insecure: false, credentials: { kind: 'none' } }, 'isthmus-bench');
  transport.offersStreamingLists = streaming;
  const informer = new Informer<Pod, TargetPod>({
    client: new ClusterClient(transport), logger: pino({ level: 'silent' }),
    type: PODS, selection: { labelSelector: selector }, project: toTargetPodRecord, fields: TARGET_POD_FIELDS,
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
    await transport.close();
  };
  return { informer, end };
}

async function coldSync(server: URL, streaming: boolean, signal: AbortSignal): Promise<Sync> {
  const before = heapInUse();
  const delays = monitorEventLoopDelay({ resolution: 2 });
  delays.enable();
  const began = performance.now();
  const { informer, end } = follow(server, `total=${TOTAL}`, streaming);
  await informer.synced;
  const ms = performance.now() - began;
  delays.disable();
  signal.throwIfAborted();
  if (informer.size !== TOTAL) throw new Error(`${informer.size} pods are known, not ${TOTAL}`);
  const heapPerPod = (heapInUse() - before) / TOTAL;
  await end();
  return { ms, longestStallMs: delays.max / 1e6, heapPerPod };
}

/** µs of CPU for each event of a watch on pods that are known. */
async function followEvents(server: URL, signal: AbortSignal): Promise<number> {
  const pods = 1_000;
  const { informer, end } = follow(server, `total=${pods},events=${EVENTS}`, true);
  await informer.synced;
  const began = process.cpuUsage();
  let told = 0;
  await new Promise<void>((resolve) => {
    informer.onChange((_key, before) => {
      if (before === undefined) return; // what was known before
      told += 1;
      if (told === EVENTS - 1_000) resolve();
    });
  });
  const { user, system } = process.cpuUsage(began);
  signal.throwIfAborted();
  await end();
  return (user + system) / told;
}

let collect: (() => void) | undefined;

function heapInUse(): number {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
  return process.memoryUsage().heapUsed;
}

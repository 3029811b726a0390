// The watches of P11: event latency, alone and beside a log of 10 MB/s in the same tunnel; and the same over two relays
// that only read and write, which is the cost of two processes on two cores by itself.
import type { Socket } from 'node:net';
import type { BenchmarkContext, Measurement } from '../benchmark.ts';
import { direct, through, type GatewayWorld } from './gateway-calls.ts';
import { median, percentile, spreadOf } from '../results/statistics.ts';

const SETTLE_MS = 300;
const WINDOW_MS = 1_500;
/** Of each side in a run, in turns, medians count: what else runs on the machine for a moment does not decide a run. */
const WINDOWS = 5;
const WATCHERS = 16;
/** Of the server's lines. */
const LINE = 512;

/** One route to the server. */
interface Route {
  readonly watch: () => Promise<Socket>;
  readonly log: () => Promise<Socket>;
}

/** p99 of each route, alone and beside a log, ms. */
type Window = Readonly<Record<'alone' | 'beside' | 'relaysAlone' | 'relaysBeside', number>>;

/** p99 in ms of what the events of all watches took. */
async function watchP99({ watch }: Route): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: WATCHERS }, watch));
  const delays: number[] = [];
  for (const socket of sockets) {
    let rest = '';
    socket.on('error', () => undefined).on('data', (chunk: Buffer) => {
      const now = performance.timeOrigin + performance.now();
      rest += chunk.toString('latin1');
      for (; rest.length >= LINE; rest = rest.slice(LINE)) delays.push(now - Number(rest.slice(0, LINE)));
    });
  }
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  delays.length = 0;
  await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
  for (const socket of sockets) socket.destroy();
  return percentile(delays, 0.99);
}

async function besideLog(route: Route): Promise<number> {
  const log = await route.log();
  log.on('error', () => undefined).resume();
  try {
    return await watchP99(route);
  } finally {
    log.destroy();
  }
}

function mediansOf(windows: readonly Window[]): Window {
  const of = (name: keyof Window) => median(windows.map((window) => window[name]));
  return { alone: of('alone'), beside: of('beside'), relaysAlone: of('relaysAlone'), relaysBeside: of('relaysBeside') };
}

/** Events of watches beside a log, against none beside them and against two relays. */
export async function watches(
  world: GatewayWorld, { runs, onProgress }: BenchmarkContext, signal: AbortSignal,
): Promise<readonly Measurement[]> {
  const gateway: Route = { watch: () => through(world, 'watch', 'calls'), log: () => through(world, 'log', 'bulk') };
  const relays: Route = { watch: () => direct(world.relays['watch']), log: () => direct(world.relays['log']) };
  const measured: Window[] = [];
  for (let run = -1; run < runs; run += 1) {
    const windows: Window[] = [];
    for (let index = 0; index < (run < 0 ? 1 : WINDOWS); index += 1) {
      signal.throwIfAborted();
      windows.push({
        alone: await watchP99(gateway), relaysAlone: await watchP99(relays), beside: await besideLog(gateway),
        relaysBeside: await besideLog(relays),
      });
    }
    const typical = mediansOf(windows);
    onProgress(
      `P11 watches, run ${run}: p99 ${typical.beside.toFixed(2)} ms beside a log of 10 MB/s, ` +
        `${typical.alone.toFixed(2)} alone; two relays ${typical.relaysBeside.toFixed(2)}, ` +
        `${typical.relaysAlone.toFixed(2)} alone`,
    );
    if (run >= 0) measured.push(typical);
  }
  const spread = (name: keyof Window) => spreadOf(measured.map((window) => window[name]));
  const of = `p99 of events of ${WATCHERS} watches`;
  return [
    {
      variant: 'watches', title: `${of} beside a log of 10 MB/s, against none beside them`, unit: 'ms',
      goal: { figure: 'ratio', atMost: 2 }, ours: spread('beside'), reference: spread('alone'),
    },
    {
      variant: 'watches-floor', title: 'the same over two relays that only read and write', unit: 'ms',
      ours: spread('relaysBeside'), reference: spread('relaysAlone'),
    },
    {
      variant: 'watches-relays', title: `${of} beside the log, against two relays`, unit: 'ms', ours: spread('beside'),
      reference: spread('relaysBeside'),
    },
  ];
}

// P3b: latency of valid reviews while others send the webhook garbage (hostile inputs 19 to 21). A flood costs CPU
// whatever it contains, so there are two references: valid reviews alone, and beside as many other valid ones.
import { Pool } from 'undici';
import { badBodies } from './bad-bodies.ts';
import type { Benchmark, Measurement } from '../benchmark.ts';
import { percentile, spreadOf } from '../results/statistics.ts';
import { reviewOfPod, withServers } from './webhook.ts';

const BODIES = 10_000;
/** Good reviews that are measured with nothing beside them. */
const ALONE = 2_000;
const SEED = 20_261_120;

/** A run's figure on each side, in ms. */
interface Sides {
  readonly ours: number;
  readonly reference: number;
}

/** P3b. */
export const BAD_BODIES: Benchmark = {
  id: 'P3B',
  title: `p99 of good reviews beside ${BODIES} bodies of random bytes and mutated reviews`,
  run(context, signal) {
    const good = JSON.stringify(reviewOfPod());
    const bad = badBodies(good, BODIES, SEED);
    const goods = Array.from({ length: BODIES }, () => good);
    return withServers(context, async ({ ours }) => {
      const alone: Sides[] = [];
      const alike: Sides[] = [];
      for (let run = -1; run < context.runs; run += 1) {
        signal.throwIfAborted();
        const quiet = await p99Beside(ours, good, { bodies: [], connections: 0 });
        const one = await p99Beside(ours, good, { bodies: bad, connections: 1 });
        const many = await p99Beside(ours, good, { bodies: bad, connections: 4 });
        const manyGood = await p99Beside(ours, good, { bodies: goods, connections: 4 });
        context.onProgress(
          `P3B, run ${run}: p99 ${quiet.toFixed(2)} ms alone, ${one.toFixed(2)} beside bad ones; ${many.toFixed(2)} ` +
            `beside 4 connections of bad, ${manyGood.toFixed(2)} of good ones`,
        );
        if (run < 0) continue; // it warms up
        alone.push({ ours: one, reference: quiet });
        alike.push({ ours: many, reference: manyGood });
      }
      return [
        row('alone', 'p99 of good reviews beside bad bodies on one connection, against none beside them', alone),
        row('alike', 'p99 of good reviews beside bad bodies on 4 connections, against good ones there', alike),
      ];
    }, signal);
  },
};

function row(variant: string, title: string, runs: readonly Sides[]): Measurement {
  return {
    variant, title, unit: 'ms',
    ours: spreadOf(runs.map(({ ours }) => ours)),
    reference: spreadOf(runs.map(({ reference }) => reference)),
    goal: { figure: 'ratio', atMost: 2 },
  };
}

interface Flood {
  readonly bodies: readonly (string | Uint8Array)[];
  readonly connections: number;
}

/** The p99 in ms of good reviews that are sent one after the other for as long as the flood lasts. */
async function p99Beside(port: number, good: string, { bodies, connections }: Flood): Promise<number> {
  const toPool = (size: number): Pool =>
    new Pool(`https://127.0.0.1:${port}`, { connections: size, connect: { rejectUnauthorized: false } });
  const [own, others] = [toPool(1), toPool(Math.max(connections, 1))];
  const queue = bodies.values();
  const sender = async (): Promise<void> => {
    for (const body of queue) await send(others, body);
  };
  let isOver = false;
  const flood = async (): Promise<void> => {
    await Promise.all(Array.from({ length: connections }, sender));
    isOver = bodies.length > 0;
  };
  const times: number[] = [];
  const measure = async (): Promise<void> => {
    while (bodies.length > 0 ? !isOver : times.length < ALONE) {
      const startedAt = performance.now();
      const status = await send(own, good);
      times.push(performance.now() - startedAt);
      if (status !== 200) throw new Error(`a good review was answered with ${status}`);
    }
  };
  await Promise.all([measure(), flood()]);
  await Promise.all([own.close(), others.close()]);
  return percentile(times, 0.99);
}

async function send(pool: Pool, body: string | Uint8Array): Promise<number> {
  const answer = await pool.request(
    { method: 'POST', path: '/mutate--v1-pod', headers: { 'content-type': 'application/json' }, body },
  );
  await answer.body.arrayBuffer();
  return answer.statusCode;
}

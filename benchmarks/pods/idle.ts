// P10: the request rate at an idle target's API server, from the source that watches it and from its own delegate
// controller.
import { readFile } from 'node:fs/promises';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { AppError } from '../../process/errors.ts';
import { OUR_USER_AGENTS } from '../readings/audit-log.ts';
import type { Benchmark, Measurement } from '../benchmark.ts';
import { withIsthmusUnderLoad } from '../load/isthmus-under-load.ts';
import { spreadOf } from '../results/statistics.ts';

const SETTLE_MS = 15_000;
const WATCH_MS = 120_000;

/** P10. */
export const IDLE: Benchmark = {
  id: 'P10',
  title: 'requests to an idle target',
  async run(context, signal): Promise<readonly Measurement[]> {
    return withIsthmusUnderLoad({ targets: 2, audit: true }, context, async ({ sandbox }, stop) => {
      await delay(SETTLE_MS, stop);
      const from = Date.now();
      await delay(WATCH_MS, stop);
      const rates = await Promise.all(sandbox.clusters.slice(1).map(({ auditLog }) => rateOf(auditLog, from)));
      return [
        {
          variant: 'idle', title: `our requests a second to each of 2 targets, in ${WATCH_MS / 1_000} s`,
          unit: 'requests/s', ours: spreadOf(rates), goal: { figure: 'ours', atMost: 0.2 },
        },
      ] satisfies Measurement[];
    }, signal);
  },
};

async function rateOf(auditLog: string | undefined, from: number): Promise<number> {
  if (auditLog === undefined) throw new AppError('NotFound', 'The target writes no audit log.');
  const lines = (await readFile(auditLog, 'utf8')).split('\n')
    .filter((line) => line.includes(`"userAgent":"${OUR_USER_AGENTS}`));
  const received = lines.map((line) => Date.parse(/"requestReceivedTimestamp":"([^"]+)"/.exec(line)?.[1] ?? ''));
  return received.filter((at) => at >= from && at <= from + WATCH_MS).length / (WATCH_MS / 1_000);
}

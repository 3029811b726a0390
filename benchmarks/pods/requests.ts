// P2: writes per elected pod at the API servers of all clusters, from their audit logs. Heartbeats (Leases, Nodes and
// their status) belong to no pod and are shown separately; ClusterSummaries and target status are counted.
import { readFile } from 'node:fs/promises';
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { AppError } from '../../process/errors.ts';
import { countWrites, isBackground, totalOf, type Period, type WriteCount } from '../readings/audit-log.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { withIsthmusUnderLoad, type IsthmusUnderLoad, type LoadShape } from '../load/isthmus-under-load.ts';
import { significant, spreadOf } from '../results/statistics.ts';

const PODS = 200;
/** The goal holds for every number of targets. */
const TARGET_COUNTS = [1, 3, 10];
/** Pod mode's writes: delegate, binding, status. */
const FLOOR = 3;
const MOST: Readonly<Record<DelegationMode, number>> = { PodChaperon: 4.1, Pod: 3.1 };
const MOST_RUNS = 3;
/** API servers write their audit logs in batches, every 100 ms. */
const AUDIT_DELAY_MS = 1_000;

/** Our writes at one API server. */
interface ServerWrites {
  readonly server: string;
  readonly counts: readonly WriteCount[];
}

/** P2. */
export const REQUESTS: Benchmark = {
  id: 'P2',
  title: 'our mutating requests per elected pod until its proxy is Running, both modes',
  async run(context, signal) {
    const measurements: Measurement[] = [];
    for (const mode of ['PodChaperon', 'Pod'] as const) {
      for (const targets of TARGET_COUNTS) {
        const shape = { targets, audit: true, clientQps: 2_000, mode };
        measurements.push(await withIsthmusUnderLoad(
          shape, context, (under, stop) => measureWrites(under, shape, context, stop), signal,
        ));
      }
    }
    return measurements;
  },
};

/** Counts our writes of bursts in the audit logs. */
export async function measureWrites(
  under: IsthmusUnderLoad, { targets, mode = 'PodChaperon' }: Pick<LoadShape, 'targets' | 'mode'>,
  context: BenchmarkContext, signal: AbortSignal,
): Promise<Measurement> {
  const runs: ServerWrites[][] = [];
  for (let run = 1; run <= Math.min(context.runs, MOST_RUNS); run += 1) {
    const burst = await under.elected.burst(PODS, signal);
    await delay(AUDIT_DELAY_MS, signal);
    runs.push(await writesIn(under, burst));
    await under.elected.clear(signal);
    await under.settle();
    context.onProgress(
      `P2, ${mode} mode, ${targets} targets, run ${run}: ${significant(writesPerPod(runs.at(-1) ?? []), 3)} requests ` +
        'per pod',
    );
  }
  return {
    variant: mode === 'Pod' ? `pod-mode-targets-${targets}` : `targets-${targets}`,
    title: `our mutating requests per pod to Running, ${mode} mode, ${targets} targets, without heartbeats`,
    unit: 'requests',
    ours: spreadOf(runs.map(writesPerPod)),
    reference: spreadOf([FLOOR]),
    goal: { figure: 'ours', atMost: MOST[mode] },
    details: { pods: PODS, runs: runs.map(perPodTable) },
  };
}

async function writesIn({ sandbox }: IsthmusUnderLoad, period: Period): Promise<ServerWrites[]> {
  return Promise.all(
    sandbox.clusters.map(async ({ name, auditLog }) => {
      if (auditLog === undefined) throw new AppError('NotFound', `Cluster ${name} writes no audit log.`);
      return { server: name, counts: countWrites(await readFile(auditLog, 'utf8'), period) };
    }),
  );
}

function writesPerPod(servers: readonly ServerWrites[]): number {
  return totalOf(servers.flatMap(({ counts }) => counts.filter((count) => !isBackground(count)))) / PODS;
}

/** Every kind of request, per pod, as `server userAgent verb resource`; heartbeats as plain numbers. */
function perPodTable(servers: readonly ServerWrites[]): object {
  const rows = servers.flatMap(({ server, counts }) => counts.map((count) => ({ server, ...count })));
  const nameOf = ({ server, userAgent, verb, resource }: (typeof rows)[number]): string =>
    `${server} ${userAgent} ${verb} ${resource}`;
  const perPod = rows.filter((row) => !isBackground(row)).map((row) => [nameOf(row), row.count / PODS] as const);
  const heartbeats = rows.filter(isBackground).map((row) => [nameOf(row), row.count] as const);
  return { perPod: Object.fromEntries(perPod), heartbeats: Object.fromEntries(heartbeats) };
}

// `npm run soak -- hostile-load [-- MINUTES] [--page FILE]`: the whole of Isthmus in one process, and for ten minutes
// clients from an address of the cluster that mean its webhook ill in every way at once. Each elected pod that is
// created meanwhile must be admitted within a second, and the leases of that same process renewed in time. Prints a
// page of results, or writes it.
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import type { Pod } from '../../../api/objects/core.ts';
import {
  DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../../api/objects/keys.ts';
import { LEASES, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { messageOf } from '../../../process/errors.ts';
import { untilStopped } from '../../../process/lifecycle.ts';
import { startIsthmus } from '../../../sandbox/isthmus-in-sandbox.ts';
import { ATTACKS, type HostileCounts } from '../../support/attackers/hostile-clients.ts';
import { startHostileProcess } from '../../support/attackers/hostile-process.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';
import { createPod } from '../../support/worlds/webhook-world.ts';

const NAMESPACE = 'hostile-load';
const CONNECTIONS = 12;
/** Creates each second, and how long none is hostile first, in s. */
const RATE = 10;
const QUIET_SECONDS = 30;
const GOAL_MS = 1_000;
const CHECKOUT = fileURLToPath(new URL('../../../../', import.meta.url));

const { values: { page }, positionals: [minutes = '10'] } =
  parseArgs({ allowPositionals: true, options: { page: { type: 'string' } } });
const signal = untilStopped();
const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** What a time of creates came to. */
interface Creates {
  readonly times: number[];
  readonly failures: string[];
}

/** Creates elected pods evenly, as dry runs: all but the write. A slow one keeps none after it waiting. */
async function createPods(client: ClusterClient, seconds: number): Promise<Creates> {
  const creates: Creates = { times: [], failures: [] };
  const under: Promise<void>[] = [];
  for (let count = 0; count < seconds * RATE; count += 1) {
    signal.throwIfAborted();
    under.push(measure(client, `honest-${count}`, creates));
    await sleep(1_000 / RATE);
  }
  await Promise.all(under);
  return creates;
}

async function measure(client: ClusterClient, name: string, { times, failures }: Creates): Promise<void> {
  const startedAt = performance.now();
  const failure = await createOne(client, name);
  times.push(performance.now() - startedAt);
  if (failure !== undefined) failures.push(failure);
}

/** What kept an elected pod from being admitted; undefined when nothing did. */
async function createOne(client: ClusterClient, name: string): Promise<string | undefined> {
  const pod: Pod = {
    metadata: { namespace: NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
  };
  try {
    const { pod: made, error } = await createPod(client, pod, { dryRun: 'All' });
    return made?.spec.schedulerName === 'admiralty-proxy' ? undefined : (error?.message ?? 'was not elected');
  } catch (error) {
    return messageOf(error);
  }
}

/** The longest time between two renewals of each Lease, as share of what it lasts, and how often one changed hands. */
interface Renewals {
  readonly gaps: Map<string, number>;
  readonly transitions: Map<string, number>;
}

async function followLeases(client: ClusterClient, until: AbortSignal): Promise<Renewals> {
  const renewals: Renewals = { gaps: new Map(), transitions: new Map() };
  const first = new Map<string, number>();
  while (!until.aborted) {
    for (
      const { metadata: { name = '' }, spec } of await client.list(LEASES, { namespace: DEFAULT_INSTALL_NAMESPACE })
    ) {
      const { renewTime, leaseDurationSeconds = 0, leaseTransitions = 0 } =
        spec as { renewTime?: string; leaseDurationSeconds?: number; leaseTransitions?: number };
      if (renewTime === undefined || leaseDurationSeconds === 0) continue;
      const share = (Date.now() - Date.parse(renewTime)) / (leaseDurationSeconds * 1_000);
      renewals.gaps.set(name, Math.max(share, renewals.gaps.get(name) ?? 0));
      if (!first.has(name)) first.set(name, leaseTransitions);
      renewals.transitions.set(name, leaseTransitions - (first.get(name) ?? 0));
    }
    await sleep(250);
  }
  return renewals;
}

/** CPU seconds of a process so far, and the memory that it has now in MiB. */
async function usageOf(pid: number): Promise<{ readonly cpu: number; readonly memory: number }> {
  const [stat, status] =
    await Promise.all([readFile(`/proc/${pid}/stat`, 'utf8'), readFile(`/proc/${pid}/status`, 'utf8')]);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    cpu: (Number(fields[11]) + Number(fields[12])) / 100,
    memory: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024,
  };
}

/** The port of the webhook, once API servers ask on a path that only they know, and on no other any more. */
async function untilGuarded(client: ClusterClient): Promise<number> {
  for (;;) {
    signal.throwIfAborted();
    const { webhooks = [] } = await client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
    const url = new URL(webhooks[0]?.clientConfig.url ?? 'https://x/');
    if (url.pathname !== '/mutate--v1-pod' && (await isShut(url.origin))) return Number(url.port);
    await sleep(2_000);
  }
}

/** Whether there is nothing on the plain path. */
async function isShut(origin: string): Promise<boolean> {
  const pool = new Pool(origin, { connect: { rejectUnauthorized: false } });
  const { statusCode, body } = await pool.request({ method: 'POST', path: '/mutate--v1-pod', body: '{}' });
  await body.dump();
  await pool.close();
  return statusCode === 404;
}

const percentile = (times: readonly number[], share: number): number => times.toSorted(
  (one, other) => one - other,
)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
const yes = (holds: boolean): string => (holds ? 'yes' : '**no**');

interface Outcome {
  readonly quiet: Creates;
  readonly loaded: Creates;
  readonly renewals: Renewals;
  readonly counts: HostileCounts;
  readonly cpu: { readonly quiet: number; readonly loaded: number };
  readonly memory: number;
}

function pageOf({ quiet, loaded, renewals, counts, cpu, memory }: Outcome): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: CHECKOUT, encoding: 'utf8' }).trim();
  const slowest = Math.max(...loaded.times);
  const gap = Math.max(...renewals.gaps.values());
  const changes = [...renewals.transitions.values()].reduce((sum, count) => sum + count, 0);
  const figures = (creates: Creates): string =>
    `${percentile(creates.times, 0.5).toFixed(0)} / ${percentile(creates.times, 0.99).toFixed(0)} / ` +
      Math.max(...creates.times).toFixed(0);
  return [
    '# Hostile load on the webhook', '',
    `${new Date().toISOString().slice(0, 10)}, code of commit ${commit}, ${cpus().length} vCPU, Node ` +
      `${process.version.slice(1)}, load average at the end ${loadavg().map((load) => load.toFixed(1)).join(' ')}: ` +
      `\`npm run soak -- hostile-load\`, ${minutes} minutes. `
      + 'All components of a source run in one process. From another address of the loopback network, as from one ' +
        `pod, ${CONNECTIONS} connections of each attack below come again and again, `
      + 'from a process with the lowest priority, for in a cluster it would have a processor of its own. Elected ' +
        'pods are created through the API server, ten a second, as dry runs: all but the write.', '',
    row('what', 'figure', 'goal', 'holds'), row('---', '---', '---', '---'),
    row('creates that failed', `${loaded.failures.length} of ${loaded.times.length}`, '0', yes(
      loaded.failures.length === 0,
    )),
    row('the slowest create', `${slowest.toFixed(0)} ms`, `< ${GOAL_MS} ms`, yes(slowest < GOAL_MS)),
    row('a create, p50 / p99 / slowest, before', `${figures(quiet)} ms`, '', ''),
    row('a create, p50 / p99 / slowest, under the load', `${figures(loaded)} ms`, '', ''),
    row(
      `the longest time between two renewals of a Lease, of ${renewals.gaps.size}, as share of what it lasts`,
      gap.toFixed(2), '< 1', yes(gap < 1),
    ),
    row('Leases that changed hands', changes, '0', yes(changes === 0)),
    row('CPU of the process, before', `${(cpu.quiet * 100).toFixed(0)} % of a core`, '', ''),
    row('CPU of the process, under the load', `${(cpu.loaded * 100).toFixed(0)} % of a core`, '', ''),
    row('memory of the process at the end', `${memory.toFixed(0)} MiB`, '', ''),
    row(
      'hostile reviews that were answered', Object.values(counts).reduce((sum, { reviewed }) => sum + reviewed, 0), '0',
      yes(Object.values(counts).every(({ reviewed }) => reviewed === 0)),
    ), '',
    row('attack', 'connections', 'that got an answer: 404, 408 or 431'), row('---', '---', '---'),
    ...Object.entries(counts).map(([attack, { begun, answered }]) => row(attack, begun, answered)), '',
    ...(loaded.failures.length === 0 ? [] : [
      'Failures:', ...[...new Set(loaded.failures)].slice(0, 5).map((failure) => `- ${failure}`), '',
    ]),
  ].join('\n');
}

const dir = await mkdtemp(join(tmpdir(), 'isthmus-hostile-load-'));
const sandbox =
  await startTestSandbox({ dir: join(dir, 'sandbox'), targets: 1, nodes: 1, gpus: 0, audit: false }, signal);
const [source] = sandbox.clusters;
if (source === undefined) throw new Error('the sandbox lacks a cluster');
const { client } = await openCluster({ kubeconfigPath: source.kubeconfigPath, userAgent: 'isthmus-soak' });
const isthmus = await startIsthmus(sandbox, signal);
try {
  const pid = isthmus.processes.get(source.name)?.identity.pid ?? 0;
  await client.create(
    NAMESPACES, { metadata: { name: NAMESPACE, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } } },
  );
  say('waiting for the path that only API servers know: two minutes');
  const port = await untilGuarded(client);
  const begin = await usageOf(pid);
  const quiet = await createPods(client, QUIET_SECONDS);
  const middle = await usageOf(pid);
  say(
    `quiet: slowest ${Math.max(...quiet.times).toFixed(0)} ms, ${quiet.failures.length} failures; hostile from now on`,
  );
  const ended = new AbortController();
  const following = followLeases(client, ended.signal);
  const hostile =
    startHostileProcess({ port, from: '127.0.0.66', attacks: ATTACKS, connections: CONNECTIONS, pauseMs: 5 }, 19);
  const loaded = await createPods(client, Number(minutes) * 60);
  const end = await usageOf(pid);
  ended.abort();
  const [renewals, counts] = await Promise.all([following, hostile.stop()]);
  const cpu =
    { quiet: (middle.cpu - begin.cpu) / QUIET_SECONDS, loaded: (end.cpu - middle.cpu) / (Number(minutes) * 60) };
  const text = pageOf({ quiet, loaded, renewals, counts, cpu, memory: end.memory });
  process.stdout.write(text);
  if (page !== undefined) await writeFile(page, text);
  if (text.includes('**no**')) process.exitCode = 1;
} finally {
  await client.transport.close();
  await isthmus.stop();
  await sandbox.stop();
  await rm(dir, { recursive: true, force: true });
}

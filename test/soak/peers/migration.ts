// `npm run soak -- migration -- PROGRAMS CHART [cycles] [pods]`: a real Admiralty, built elsewhere, is migrated and
// rolled back under a stream of creates, by the commands of docs/from-admiralty.md as they stand there. PROGRAMS is a
// folder with Admiralty's `agent` and
// `scheduler`, CHART that of its chart.
// Prints docs/results/migration.md; exits with 1 when a running delegate is another one than before, a create waits for
// more than 60 s, or something is left after deletion.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../../api/objects/keys.ts';
import { NAMESPACES, NODES } from '../../../api/resource-types.ts';
import { messageOf } from '../../../process/errors.ts';
import { openCluster, type OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { AdmiraltyRelease, connectAdmiralty } from '../../support/peers/admiralty-release.ts';
import { writesTo } from '../../support/history/audited-pod.ts';
import { CreateStream } from '../../support/history/create-stream.ts';
import { KeptDeployments } from '../../support/worlds/kept-deployments.ts';
import {
  deleteWorkloads, remainsIn, runningDelegates, STREAMS, workloads,
} from '../../support/peers/migrated-workloads.ts';
import { Packaging } from '../../support/peers/packaging.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';
import { linesOf, typeLine, type PageStep } from '../../support/docs/typed-migration.ts';

const [programs, chart, cyclesText = '2', sizeText = '100'] = process.argv.slice(2);
if (programs === undefined || chart === undefined) {
  process.stderr.write(
    'This needs a real Admiralty, which is not in this repository: give a folder with its programs "agent" and ' +
      '"scheduler", and the folder of its chart.\n',
  );
  process.exit(1);
}
const cycles = Number(cyclesText);
const size = Number(sizeText);
const began = performance.now();
const print = (line: string): void =>
  void process.stdout.write(`${((performance.now() - began) / 1_000).toFixed(0).padStart(5)} s  ${line}\n`);
const MANAGER = 'isthmus-test';
const MAX_WAIT_SECONDS = 60;
/** How long both sides are left alone after a step before delegates are compared, in ms. */
const SETTLE_MS = 20_000;
/** A ClusterTarget has all namespaces, and no finalizer of Admiralty's; Targets have one namespace each. */
const WORKLOADS = ['apps', 'team'] as const;

const dir = await mkdtemp(join(tmpdir(), 'isthmus-migration-'));
const tools = await Packaging.open(new AbortController().signal);
const sandbox = await startTestSandbox(
  { dir: join(dir, 'sandbox'), targets: 2, nodes: 3, gpus: 0, audit: true }, new AbortController().signal,
);
const results: string[] = [];
const steps: string[] = [];
const problems: string[] = [];
const stops: (() => Promise<void>)[] = [];
try {
  const [source, ...targets] = sandbox.clusters as [Cluster, Cluster, Cluster];
  const opened = await Promise.all(
    sandbox.clusters.map(({ kubeconfigPath }) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })),
  );
  const [atSource, ...atTargets] = opened as [OpenCluster, ...OpenCluster[]];
  stops.push(async () => void (await Promise.all(opened.map(({ client }) => client.transport.close()))));

  const releases: AdmiraltyRelease[] = [];
  for (const cluster of sandbox.clusters) releases.push(
    await AdmiraltyRelease.install({ cluster, build: { programs, chart }, tools, isSource: cluster === source }),
  );
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  for (const name of [...WORKLOADS, ...STREAMS]) {
    await atSource.client.apply(NAMESPACES, { metadata: { name, labels } }, MANAGER);
    for (const { client } of atTargets) await client.apply(NAMESPACES, { metadata: { name } }, MANAGER);
  }
  await connectAdmiralty(source, targets[0], 'target-1');
  await connectAdmiralty(source, targets[1], 'own', 'team');
  await connectAdmiralty(source, targets[1], 'second', 'stream');
  for (const release of releases) {
    release.run();
    stops.push(() => release.stop());
  }
  print('Admiralty runs in three clusters');
  await until(
    'virtual nodes',
    async () =>
      (await atSource.client.list(NODES)).filter(({ metadata }) => metadata.name?.startsWith('admiralty-')).length >= 3,
  );

  for (const [namespace, count] of [['apps', size * 0.6], ['team', size * 0.4]] as const) {
    for (const [type, object] of workloads(namespace, count)) await retried(() => atSource.client.create(type, object));
  }
  await until(
    `${size} pods run`, async () => (await runningDelegates(atSource, atTargets)).size >= size * 0.95, 900_000,
  );
  const first = await runningDelegates(atSource, atTargets);
  print(`${first.size} delegates run`);

  const [webhook = 0] = await freePorts(1);
  for (const [index, cluster] of sandbox.clusters.entries()) {
    const kept = new KeptDeployments(cluster, opened[index]!, new Map([['9443', String(webhook)]]));
    stops.push(() => kept.stop());
  }
  const stream = new CreateStream(atSource, STREAMS);
  stops.push(() => stream.stop());
  const files = [
    `target-1=${targets[0].kubeconfigPath}`, `team/own=${targets[1].kubeconfigPath}`,
    `stream/second=${targets[1].kubeconfigPath}`,
  ];

  const type = async (step: PageStep, index: number): Promise<void> => {
    const cluster = sandbox.clusters[index]!;
    for (const line of linesOf(step)) {
      const start = performance.now();
      const { stdout, stderr, code } = await typeLine(
        line, { tools, kubeconfig: cluster.kubeconfigPath, targets: files, webhookUrl: `https://127.0.0.1:${webhook}` },
      );
      const took = ((performance.now() - start) / 1_000).toFixed(1);
      print(`${cluster.name}: ${line}: ${code === 0 ? 'done' : `FAILED with ${code}`} in ${took} s`);
      if (line.startsWith('isthmus migrate')) {
        steps.push(`| ${cluster.name} | \`${line.split(' --')[0]}\` | ${took} s |`);
      }
      if (!line.startsWith('helm upgrade')) {
        for (const told of `${stdout}${stderr}`.trimEnd().split('\n').slice(0, 60)) print(`    ${told}`);
      }
      const problem = `${cluster.name}: "${line}" ended with ${code}: ${stderr}`;
      if (code !== 0 && step !== 'look') throw new Error(problem);
      if (code !== 0) problems.push(problem);
    }
  };
  const takeOver = async (): Promise<void> => {
    for (const index of [1, 2]) await type('target', index);
    await type('source', 0);
    await type('look', 0);
    await type('upgrade-source', 0);
  };
  const compare = async (when: string): Promise<void> => {
    await sleep(SETTLE_MS);
    const now = await runningDelegates(atSource, atTargets);
    const lost = [...first].filter(([key, uid]) => now.get(key) !== uid);
    results.push(`| ${when} | ${first.size} | ${first.size - lost.length} | ${lost.length} |`);
    print(`${when}: ${lost.length} of ${first.size} delegates are others than before`);
    if (lost.length > 0) problems.push(
      `${when}: ${lost.slice(0, 5).map(([key, uid]) => `${key} was ${uid}, is ${now.get(key)}`).join('; ')}`,
    );
  };
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    await takeOver();
    await compare(`cycle ${cycle}, migrated`);
    await type('source-back', 0);
    for (const index of [2, 1]) await type('target-back', index);
    await compare(`cycle ${cycle}, rolled back`);
  }
  await takeOver();
  for (const index of [1, 2, 0]) await type('uninstall', index);
  await compare('at last migrated, and Admiralty uninstalled');
  await stream.stop();

  for (const namespace of WORKLOADS) await deleteWorkloads(atSource, namespace);
  const left = async (): Promise<readonly string[]> =>
    (await Promise.all(
      opened.flatMap((cluster, index) => [...WORKLOADS, ...STREAMS].map(
        (namespace) => remainsIn(cluster, sandbox.clusters[index]!.name, namespace),
      )),
    )).flat();
  await until('nothing is left', async () => (await left()).length === 0, 120_000).catch(() => undefined);
  const remains = await left();
  for (const one of remains) problems.push(`left after deletion: ${one}`);
  const waits = stream.waits.toSorted((a, b) => a.seconds - b.seconds);
  for (const { pod, createdAt, seconds } of waits.filter((wait) => wait.seconds > MAX_WAIT_SECONDS)) {
    problems.push(`${pod}, created at ${createdAt.toISOString()}, waited ${seconds.toFixed(1)} s`);
  }
  for (const pod of stream.vanished) {
    const logs = await Promise.all(sandbox.clusters.map(
      async ({ name, auditLog = '' }) => ({ name, log: await readFile(auditLog, 'utf8') }),
    ));
    problems.push(`${pod} vanished before it ran:\n${writesTo(pod.replace(/.*\//, ''), logs).join('\n')}`);
  }
  if (stream.refused.length > 0) {
    problems.push(`${stream.refused.length} creates were refused: ${stream.refused.slice(0, 3).join('; ')}`);
  }
  const at = (share: number): string =>
    (waits[Math.min(waits.length - 1, Math.floor(waits.length * share))]?.seconds ?? 0).toFixed(1);
  print(
    `\n| when | delegates before | the same | others |\n|---|---|---|---|\n${results.join('\n')}\n\n| where | ` +
      `command | took |\n|---|---|---|\n${steps.join('\n')}\n\nCreates in the stream: ${waits.length}, refused: ` +
      `${stream.refused.length}, vanished: ${stream.vanished.length}; waited until Running: median ${at(0.5)} s, ` +
      `p95 ${at(0.95)} s, longest ${at(1)} s. Left after deletion: ${remains.length}.`,
  );
} catch (error) {
  problems.push(messageOf(error));
} finally {
  for (const problem of problems) print(`PROBLEM ${problem}`);
  for (const stop of stops.toReversed()) await stop().catch((error: unknown) => print(messageOf(error)));
  if (process.env['KEEP'] === undefined) {
    await sandbox.stop();
    await rm(dir, { recursive: true, force: true });
  }
  process.exitCode = problems.length === 0 ? 0 : 1;
}

async function until(what: string, look: () => Promise<boolean>, forMs = 180_000): Promise<void> {
  const end = performance.now() + forMs;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`not seen: ${what}`);
    await sleep(1_000);
  }
}

/** Admiralty's webhook may not answer yet. */
async function retried<T>(create: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await create();
    } catch (error) {
      if (tries === 60) throw error;
      await sleep(1_000);
    }
  }
}

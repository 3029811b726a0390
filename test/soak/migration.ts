// `npm run soak -- migration -- PROGRAMS CHART [cycles]`: a real Admiralty, built elsewhere, is migrated and rolled back under a stream of creates. PROGRAMS is a
// folder with Admiralty's `agent` and `scheduler`, CHART that of its chart. Prints docs/results/migration.md; exits with 1 when a running delegate is another
// one than before, a create waits for more than 60 s, or something is left after deletion.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, PARENT_UID_LABEL, PROXY_SCHEDULER } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  CONFIG_MAPS, DEPLOYMENTS, INGRESSES, NAMESPACES, POD_CHAPERONS, PODS, SECRETS, SERVICES,
} from '../../api/resource-types.ts';
import { messageOf } from '../../process/errors.ts';
import { openCluster, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import type { Cluster } from '../../sandbox/control-plane/control-plane.ts';
import { freePorts } from '../../sandbox/processes/free-ports.ts';
import { accountKubeconfig, AdmiraltyRelease, connectAdmiralty } from '../support/admiralty-release.ts';
import { isthmus, RunningCommand } from '../support/command-line.ts';
import { Packaging } from '../support/packaging.ts';
import { startTestSandbox } from '../support/stopped-with-process.ts';

const [programs, chart, cyclesText = '2', sizeText = '100'] = process.argv.slice(2);
if (programs === undefined || chart === undefined) {
  process.stderr.write('This needs a real Admiralty, which is not in this repository: give a folder with its programs "agent" and "scheduler", and the folder of its chart.\n');
  process.exit(1);
}
const cycles = Number(cyclesText);
const size = Number(sizeText);
const began = performance.now();
const print = (line: string): void => void process.stdout.write(`${((performance.now() - began) / 1_000).toFixed(0).padStart(5)} s  ${line}\n`);
const signal = new AbortController().signal;
const MANAGER = 'isthmus-test';
const JOBS: ResourceType = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true };
const CRON_JOBS: ResourceType = { ...JOBS, plural: 'cronjobs', kind: 'CronJob' };
const STATEFUL_SETS: ResourceType = { ...DEPLOYMENTS, plural: 'statefulsets', kind: 'StatefulSet' };
const MAX_WAIT_SECONDS = 60;

/** Keeps a process of ours running, as a kubelet would. */
class KeptProcess {
  #running: RunningCommand | undefined;
  #isWanted = true;
  readonly #loop: Promise<void>;

  constructor(args: () => Promise<readonly string[]>) {
    this.#loop = this.#keep(args);
  }

  async #keep(args: () => Promise<readonly string[]>): Promise<void> {
    while (this.#isWanted) {
      try {
        this.#running = new RunningCommand(...(await args()));
        await this.#running.untilLines(Number.POSITIVE_INFINITY);
      } catch {
        // not installed yet
      }
      await sleep(1_000);
    }
  }

  async stop(): Promise<void> {
    this.#isWanted = false;
    await this.#running?.stop();
    await this.#loop;
  }
}

const annotations = { [ELECT_ANNOTATION]: '' };
const podSpec = { containers: [{ name: 'main', image: 'example/main:1', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'password', key: 'p' } } }], envFrom: [{ configMapRef: { name: 'settings' } }] }] };
const template = (app: string, more: object = {}) => ({ metadata: { labels: { app }, annotations }, spec: { ...podSpec, ...more } });

/** Workloads of all kinds: `count` pods in a namespace. */
function workloads(namespace: string, count: number): readonly (readonly [ResourceType, KubernetesObject])[] {
  const at = (name: string) => ({ namespace, name });
  const share = (part: number): number => Math.max(1, Math.round(count * part));
  const objects: [ResourceType, object][] = [
    [CONFIG_MAPS, { metadata: at('settings'), data: { a: '1' } }], [SECRETS, { metadata: at('password'), data: { p: 'cA==' } }],
    [SERVICES, { metadata: at('web'), spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } }],
    [INGRESSES, { metadata: at('web'), spec: { rules: [{ http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }] } }] } }],
    ...Array.from({ length: share(0.2) }, (_, index): [ResourceType, object] => [PODS, { metadata: { ...at(`bare-${index}`), annotations }, spec: podSpec }]),
    [DEPLOYMENTS, { metadata: at('web'), spec: { replicas: share(0.4), selector: { matchLabels: { app: 'web' } }, template: template('web') } }],
    [STATEFUL_SETS, { metadata: at('db'), spec: { replicas: share(0.2), podManagementPolicy: 'Parallel', serviceName: 'db', selector: { matchLabels: { app: 'db' } }, template: template('db') } }],
    ...Array.from({ length: share(0.15) }, (_, index): [ResourceType, object] => [JOBS, { metadata: at(`job-${index}`), spec: { template: template('job', { restartPolicy: 'Never' }) } }]),
    [CRON_JOBS, { metadata: at('cron'), spec: { schedule: '* * * * *', concurrencyPolicy: 'Forbid', jobTemplate: { spec: { parallelism: share(0.05), completions: share(0.05), template: template('cron', { restartPolicy: 'OnFailure' }) } } } }],
  ];
  return objects as [ResourceType, KubernetesObject][];
}

/** Delegates that run, by the key of their proxy. */
async function runningDelegates(source: OpenCluster, targets: readonly OpenCluster[]): Promise<ReadonlyMap<string, string>> {
  const proxies = await source.client.list(PODS, { fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` });
  const delegates = (await Promise.all(targets.map(({ client }) => client.list(PODS, { labelSelector: PARENT_UID_LABEL })))).flat();
  return new Map(proxies.flatMap(({ metadata }) => {
    const own = delegates.filter((delegate) => delegate.metadata.labels?.[PARENT_UID_LABEL] === metadata.uid && delegate.status?.phase === 'Running');
    return metadata.namespace === 'stream' || own.length === 0 ? [] : [[`${metadata.namespace}/${metadata.name} ${metadata.uid}`, own.map((delegate) => delegate.metadata.uid).join('+')] as const];
  }));
}

/** A pod every other second, deleted once it has run; how long each waited. */
class Stream {
  readonly waits: number[] = [];
  readonly refused: string[] = [];
  #isOver = false;
  readonly #loop: Promise<void>;

  constructor(source: OpenCluster) {
    this.#loop = this.#create(source);
  }

  async #create({ client }: OpenCluster): Promise<void> {
    const each: Promise<void>[] = [];
    for (let index = 0; !this.#isOver; index += 1) {
      each.push(this.#one(client, `s-${index}`));
      await sleep(2_000);
    }
    await Promise.all(each);
  }

  async #one(client: OpenCluster['client'], name: string): Promise<void> {
    const at = { namespace: 'stream', name };
    const start = performance.now();
    try {
      await client.create(PODS, { metadata: { ...at, annotations }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } } as KubernetesObject);
    } catch (error) {
      this.refused.push(`${name} after ${((performance.now() - began) / 1_000).toFixed(0)} s: ${messageOf(error)}`);
      return;
    }
    for (;;) {
      const pod = await client.get<Pod>(PODS, at).catch(() => undefined);
      if (pod?.status?.phase === 'Running') break;
      if (performance.now() - start > 180_000) break;
      await sleep(250);
    }
    this.waits.push((performance.now() - start) / 1_000);
    await sleep(3_000);
    await client.delete(PODS, at).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#loop;
  }
}

const dir = await mkdtemp(join(tmpdir(), 'isthmus-migration-'));
const tools = await Packaging.open(signal);
const sandbox = await startTestSandbox({ dir: join(dir, 'sandbox'), targets: 2, nodes: 3, gpus: 0, audit: false }, signal);
const results: string[] = [];
const problems: string[] = [];
const stops: (() => Promise<void>)[] = [];
try {
  const [source, ...targets] = sandbox.clusters as [Cluster, ...Cluster[]];
  const opened = await Promise.all(sandbox.clusters.map(({ kubeconfigPath }) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })));
  const [atSource, ...atTargets] = opened as [OpenCluster, ...OpenCluster[]];
  stops.push(async () => void (await Promise.all(opened.map(({ client }) => client.transport.close()))));

  const releases: AdmiraltyRelease[] = [];
  for (const cluster of sandbox.clusters) releases.push(await AdmiraltyRelease.install({ cluster, build: { programs, chart }, tools, isSource: cluster === source }));
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  for (const name of ['apps', 'team', 'stream']) {
    await atSource.client.apply(NAMESPACES, { metadata: { name, labels } }, MANAGER);
    for (const { client } of atTargets) await client.apply(NAMESPACES, { metadata: { name } }, MANAGER);
  }
  for (const [index, target] of targets.entries()) await connectAdmiralty(source, target, `target-${index + 1}`);
  await connectAdmiralty(source, targets[0]!, 'own', 'team');
  for (const release of releases) {
    release.run();
    stops.push(() => release.stop());
  }
  print('Admiralty runs in three clusters');
  await until('virtual nodes', async () => (await atSource.client.list({ ...PODS, plural: 'nodes', kind: 'Node', namespaced: false })).length >= 3);

  for (const [namespace, count] of [['apps', size * 0.8], ['team', size * 0.2]] as const) {
    for (const [type, object] of workloads(namespace, count)) await retried(() => atSource.client.create(type, object));
  }
  await until(`${size} pods run`, async () => (await runningDelegates(atSource, atTargets)).size >= size * 0.95, 600_000);
  const first = await runningDelegates(atSource, atTargets);
  print(`${first.size} delegates run`);

  const [webhook = 0, kubelet = 0] = await freePorts(2);
  const kubeconfigOf = async (index: number): Promise<string> => {
    const path = join(sandbox.clusters[index]!.directory, 'isthmus.kubeconfig');
    await writeFile(path, await accountKubeconfig(opened[index]!, sandbox.clusters[index]!, { namespace: 'isthmus-system', name: 'isthmus' }), { mode: 0o600 });
    return path;
  };
  const runs = (index: number, components: string, ...more: readonly string[]) => new KeptProcess(async () => ['run', '--kubeconfig', await kubeconfigOf(index), '--components', components, ...more]);
  const ours = [
    runs(0, 'webhook', '--webhook-host', '127.0.0.1', '--webhook-port', String(webhook)),
    runs(0, 'scheduler,delegate-controller,virtual-node,kubelet-api,peering', '--no-target', '--kubelet-host', '127.0.0.1', '--kubelet-address', '127.0.0.1', '--kubelet-port', String(kubelet)),
    ...targets.map((_target, index) => runs(index + 1, 'delegate-controller,peering', '--no-source')),
  ];
  for (const process of ours) stops.push(() => process.stop());

  const stream = new Stream(atSource);
  stops.push(() => stream.stop());
  const own = ['--target', `target-1=${targets[0]!.kubeconfigPath}`, `target-2=${targets[1]!.kubeconfigPath}`, `team/own=${targets[0]!.kubeconfigPath}`];
  const takeover = [['target-1', 1, []], ['target-2', 2, []], ['source', 0, [...own, '--webhook-url', `https://127.0.0.1:${webhook}`]]] as const;
  const compare = async (when: string): Promise<void> => {
    const now = await runningDelegates(atSource, atTargets);
    const lost = [...first].filter(([key, uid]) => now.get(key) !== uid);
    results.push(`| ${when} | ${first.size} | ${first.size - lost.length} | ${lost.length} |`);
    print(`${when}: ${lost.length} of ${first.size} delegates are others than before`);
    if (lost.length > 0) problems.push(`${when}: ${lost.slice(0, 5).map(([key, uid]) => `${key} was ${uid}, is ${now.get(key)}`).join('; ')}`);
  };
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    for (const [name, index, more] of takeover) await migrate('admiralty', name, index, more);
    await sleep(20_000);
    await compare(`cycle ${cycle}, migrated`);
    for (const [name, index, more] of takeover.toReversed()) await migrate('rollback', name, index, index === 0 ? own : more.slice(0, 0));
    await sleep(20_000);
    await compare(`cycle ${cycle}, rolled back`);
  }
  for (const [name, index, more] of takeover) await migrate('admiralty', name, index, more);
  for (const release of releases) await release.uninstall();
  print('Admiralty is uninstalled');
  await sleep(20_000);
  await compare('at last migrated, and Admiralty uninstalled');
  await stream.stop();

  for (const namespace of ['apps', 'team']) {
    for (const type of [CRON_JOBS, JOBS, DEPLOYMENTS, STATEFUL_SETS, INGRESSES, SERVICES, PODS, CONFIG_MAPS, SECRETS]) {
      for (const { metadata: { name = '' } } of await atSource.client.list(type, { namespace })) {
        if (name !== 'kube-root-ca.crt') await atSource.client.delete(type, { namespace, name }, { propagation: 'Background' }).catch(() => undefined);
      }
    }
  }
  const left = async (): Promise<string[]> => {
    const all = await Promise.all(opened.flatMap(({ client }, index) => [POD_CHAPERONS, PODS, CONFIG_MAPS, SECRETS, SERVICES, INGRESSES].flatMap((type) => ['apps', 'team', 'stream'].map(async (namespace) =>
      (await client.list(type, { namespace })).filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt').map(({ metadata }) => `${sandbox.clusters[index]!.name} ${type.kind} ${namespace}/${metadata.name}`)))));
    return all.flat();
  };
  await until('nothing is left', async () => (await left()).length === 0, 120_000).catch(() => undefined);
  const remains = await left();
  if (remains.length > 0) problems.push(`left after deletion: ${remains.join(', ')}`);
  const waits = stream.waits.toSorted((a, b) => a - b);
  const longest = waits.at(-1) ?? 0;
  if (longest > MAX_WAIT_SECONDS) problems.push(`a create waited ${longest.toFixed(1)} s`);
  if (stream.refused.length > 0) problems.push(`${stream.refused.length} creates were refused: ${stream.refused.slice(0, 3).join('; ')}`);
  print(`\n| when | delegates before | the same | others |\n|---|---|---|---|\n${results.join('\n')}\n\nCreates in the stream: ${waits.length}, refused: ${stream.refused.length}; waited until Running: median ${(waits[Math.floor(waits.length / 2)] ?? 0).toFixed(1)} s, longest ${longest.toFixed(1)} s. Left after deletion: ${remains.length}.`);

  async function migrate(command: string, name: string, index: number, more: readonly string[]): Promise<void> {
    const start = performance.now();
    const { stdout, stderr, code } = await isthmus('migrate', command, '--kubeconfig', sandbox.clusters[index]!.kubeconfigPath, ...more);
    print(`isthmus migrate ${command} in ${name}: ${code === 0 ? 'done' : 'FAILED'} in ${((performance.now() - start) / 1_000).toFixed(1)} s`);
    for (const line of `${stdout}${stderr}`.trimEnd().split('\n')) print(`    ${line}`);
    assert.equal(code, 0);
  }
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

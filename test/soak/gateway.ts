// `npm run test:gateway [minutes]`: elected pods through the gateway alone, on real control planes. The kubeconfig of the target names a server
// that does not exist, so nothing but the tunnel leads there; what goes between the gateways is captured; the active gateway is killed in
// turn, the broker is away, bits are flipped. Prints its figures as JSON; fails when anything was lost or seen in plain text.
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import type { Pod } from '../../api/core.ts';
import { DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../api/keys.ts';
import { CLUSTER_TARGETS, GATEWAYS, NAMESPACES, PODS, SECRETS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/cluster-client.ts';
import { dialThroughGateway } from '../../kubernetes/gateway-dialer.ts';
import { openCluster } from '../../kubernetes/open-cluster.ts';
import { messageOf } from '../../process/errors.ts';
import { untilStopped } from '../../process/lifecycle.ts';
import { freePorts } from '../../sandbox/free-ports.ts';
import { startIsthmus } from '../../sandbox/isthmus-in-sandbox.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';

const minutes = Number(process.argv[2] ?? 1);
const signal = untilStopped();
const COMMAND = fileURLToPath(new URL('../../cli/main.js', import.meta.url));
const MARKER = 'plaintext-marker';
const POD_NAMESPACE = 'gateway-soak';
/** Longest run of one command. */
const COMMAND_MS = 30_000;
/** From kill -9 of the active gateway to a stream through the other (issue of the gateway: 8 s). */
const MAX_TAKEOVER_MS = 8_000;
/** A server of this address does not exist; only the gateway leads to the one that has it in its certificate. */
const NO_SERVER = 'https://127.0.0.1:1';
const children = new Set<ChildProcess>();
const dir = await mkdtemp(join(tmpdir(), 'isthmus-gateway-'));
const figures: Record<string, unknown> = {};

function isthmus(...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [COMMAND, ...args], { encoding: 'utf8', timeout: COMMAND_MS });
  assert.equal(status, 0, `isthmus ${args[0]} ${args[1]}: ${error?.message ?? stderr}`);
  return stdout.trim();
}

function start(name: string, ...args: readonly string[]): ChildProcess {
  const log = openSync(join(dir, `${name}.log`), 'a');
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', log, log] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Waits until something holds; gives how long that took in ms. Throws when it takes too long, with what failed last. */
async function until(what: string, holds: () => Promise<boolean>, seconds = 60): Promise<number> {
  const since = performance.now();
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)]);
  const late = new Promise<never>((_resolve, reject) => deadline.addEventListener('abort', () => reject(new Error('out of time')), { once: true }));
  late.catch(() => undefined);
  let last = 'it does not hold';
  for (;;) {
    const held = await Promise.race([holds(), late]).catch((error: unknown) => {
      if (!deadline.aborted) last = messageOf(error);
      return false;
    });
    if (held) return performance.now() - since;
    signal.throwIfAborted();
    if (deadline.aborted) throw new Error(`waited ${seconds} s in vain for ${what}: ${last}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** What goes between the gateways: kept, looked through, and changed when asked to. */
class Capture {
  bytes = 0;
  markersSeen = 0;
  flips = 0;
  flipNext = false;
  readonly #servers: Server[] = [];

  relay(from: number, to: number): void {
    const server = createServer((client) => {
      const far = connect({ host: '127.0.0.1', port: to });
      client.on('error', () => undefined).on('close', () => far.destroy()).on('data', (chunk: Buffer) => void far.write(this.#pass(chunk)));
      far.on('error', () => undefined).on('close', () => client.destroy()).on('data', (chunk: Buffer) => void client.write(this.#pass(chunk)));
    });
    server.listen(from, '127.0.0.1');
    this.#servers.push(server);
  }

  #pass(chunk: Buffer): Buffer {
    this.bytes += chunk.length;
    for (const marker of [MARKER, 'kube-apiserver', 'Bearer', '/api/v1', 'CONNECT', '"kind"']) if (chunk.includes(marker)) this.markersSeen += 1;
    if (this.flipNext && chunk.length > 100) {
      this.flipNext = false;
      this.flips += 1;
      chunk.writeUInt8(chunk.readUInt8(60) ^ 1, 60);
    }
    return chunk;
  }

  close(): void {
    for (const server of this.#servers) server.close();
  }
}

function electedPod(name: string): Pod {
  const annotations = { [ELECT_ANNOTATION]: '', note: MARKER };
  return { metadata: { name, namespace: POD_NAMESPACE, annotations }, spec: { containers: [{ name: 'main', image: MARKER }] } };
}

async function isConnected(client: ClusterClient): Promise<boolean> {
  const gateways = await client.list(GATEWAYS, { namespace: DEFAULT_INSTALL_NAMESPACE });
  return gateways.some(({ status }) => status?.haStatus === 'active' && status.connections.some((connection) => connection.status === 'connected'));
}

/** On failure: what the target's conditions, the pods and the ends of the logs say, so that nobody has to run it again for that. */
async function explain(failure: unknown): Promise<void> {
  process.stderr.write(`${failure instanceof Error ? (failure.stack ?? failure.message) : String(failure)}\n`);
  for (const cluster of sandbox.clusters) {
    const { client } = await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-soak' });
    const targets = await client.list(CLUSTER_TARGETS, {}).catch(() => []);
    const pods = await client.list(PODS, { namespace: POD_NAMESPACE }).catch(() => []);
    process.stderr.write(`${cluster.name}: ${JSON.stringify({ targets: targets.map(({ spec, status }) => ({ spec, status })), pods: pods.slice(0, 3).map(({ spec, status }) => ({ spec, status })) }, undefined, 1)}\n`);
    await client.transport.close();
  }
  for (const name of (await readdir(dir)).filter((file) => file.endsWith('.log'))) {
    const lines = (await readFile(join(dir, name), 'utf8')).trimEnd().split('\n');
    process.stderr.write(`--- ${name}\n${lines.slice(-15).map((line) => line.slice(0, 600)).join('\n')}\n`);
  }
}

/** Whether a stream to the target's API server can be had from the gateway at a port now: a dead one's Gateway object may go on calling it active. */
async function carries(port: number): Promise<boolean> {
  const route = { clusterId: 'target', endpoints: [new URL(`http://127.0.0.1:${port}`)] };
  return dialThroughGateway(route, 500).then((socket) => (socket.destroy(), true), () => false);
}

const sandbox = await startSandbox({ dir: join(dir, 'sandbox'), targets: 1, nodes: 2, gpus: 0, audit: false }, signal);
const capture = new Capture();
const isthmusProcesses = await startIsthmus(sandbox, signal);
try {
  const [source, target] = sandbox.clusters;
  if (source === undefined || target === undefined) throw new Error('the sandbox lacks a cluster');
  const { client } = await openCluster({ kubeconfigPath: source.kubeconfigPath, userAgent: 'isthmus-soak' });
  const { client: targetClient } = await openCluster({ kubeconfigPath: target.kubeconfigPath, userAgent: 'isthmus-soak' });
  const [brokerPort = 0, relay1 = 0, relay2 = 0, tunnel1 = 0, tunnel2 = 0, connect1 = 0, connect2 = 0, connect3 = 0, webhookPort = 0] = await freePorts(9);
  const at = (cluster: { readonly kubeconfigPath: string }) => ['--kubeconfig', cluster.kubeconfigPath];

  // --- a clusterset of two: the source is dialled, the target listens nowhere
  const url = `https://127.0.0.1:${brokerPort}`;
  isthmus('broker', 'deploy', '--url', url, '--no-workload', ...at(source));
  const startBroker = () => start('broker', 'broker', 'run', '--listen', `127.0.0.1:${brokerPort}`, '--certificate-hours', String(Math.max(minutes, 1) / 60), ...at(source));
  let broker = startBroker();
  const joinAs = async (cluster: { readonly kubeconfigPath: string }, id: string, ...more: readonly string[]) => {
    const token = isthmus('broker', 'token', '--cluster-id', id, ...at(source));
    await until('the broker', async () => spawnSync(process.execPath, [COMMAND, 'gateway', 'join', token, '--cluster-id', id, ...more, ...at(cluster)], { timeout: COMMAND_MS }).status === 0, 30);
  };
  await joinAs(source, 'source', '--address', `127.0.0.1:${relay1}`, '--address', `127.0.0.1:${relay2}`);
  await joinAs(target, 'target');
  capture.relay(relay1, tunnel1);
  capture.relay(relay2, tunnel2);
  const gateway = (index: 1 | 2) => start(`gateway-${index}`, 'gateway', 'run', '--name', `gw-${index}`, '--listen', `127.0.0.1:${index === 1 ? tunnel1 : tunnel2}`, '--connect', `127.0.0.1:${index === 1 ? connect1 : connect2}`, ...at(source));
  const gateways = { 1: gateway(1), 2: gateway(2) };
  start('gateway-target', 'gateway', 'run', '--name', 'gw-target', '--listen', 'none', '--connect', `127.0.0.1:${connect3}`, ...at(target));
  figures['connectedAfterMs'] = Math.round(await until('a cable', () => isConnected(client), 60));

  // --- the target is reached through it alone
  const endpoints = [connect1, connect2].map((port) => new URL(`http://127.0.0.1:${port}`));
  await isthmusProcesses.processes.get(source.name)?.stop();
  const { spec } = await client.get(CLUSTER_TARGETS, { name: target.name });
  const secretAt = { namespace: DEFAULT_INSTALL_NAMESPACE, name: spec.kubeconfigSecret?.name ?? '' };
  const secret = await client.get(SECRETS, secretAt);
  const kubeconfig = parse(Buffer.from(secret.data?.['config'] ?? '', 'base64').toString()) as { clusters: { cluster: Record<string, unknown> }[] };
  for (const { cluster } of kubeconfig.clusters) cluster['server'] = NO_SERVER;
  await client.patch(SECRETS, secretAt, { patchType: 'merge', patch: { data: { config: Buffer.from(stringify(kubeconfig)).toString('base64') } } });
  await client.patch(CLUSTER_TARGETS, { name: target.name }, { patchType: 'merge', patch: { spec: { gateway: { cluster: 'target' } } } });
  const webhook = `https://127.0.0.1:${webhookPort}`;
  isthmus('install', '--webhook-url', webhook, ...at(source));
  start('isthmus', 'run', '--kubeconfig', join(source.directory, 'isthmus.kubeconfig'), '--components', 'webhook,scheduler,delegate-controller,virtual-node', '--no-target', '--webhook-host', '127.0.0.1', '--webhook-port', String(webhookPort), '--gateway', endpoints.map(({ origin }) => origin).join(','));
  await client.apply(NAMESPACES, { metadata: { name: POD_NAMESPACE, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } } }, 'isthmus-soak');
  await targetClient.apply(NAMESPACES, { metadata: { name: POD_NAMESPACE } }, 'isthmus-soak');
  let count = 0;
  const create = async () => {
    const name = `pod-${count}`;
    await until(`creating ${name}`, async () => client.create(PODS, electedPod(name)).then(() => true), 60);
    count += 1;
  };
  const isReady = async () => (await client.get(CLUSTER_TARGETS, { name: target.name })).status?.conditions?.some(({ type, status, observedGeneration }) => type === 'Ready' && status === 'True' && (observedGeneration ?? 0) > 1) === true;
  figures['targetReadyAfterMs'] = Math.round(await until('the target to be Ready through the gateway', isReady));
  const running = async () => (await client.list(PODS, { namespace: POD_NAMESPACE })).filter(({ status }) => status?.phase === 'Running').length;
  await create();
  figures['firstPodRunningAfterMs'] = Math.round(await until('the first pod', async () => (await running()) === count));
  for (let index = 0; index < 20; index += 1) await create();
  figures['twentyPodsRunningAfterMs'] = Math.round(await until('twenty pods', async () => (await running()) === count));

  // --- the active gateway is killed in turn, bits are flipped, the broker is away for half of the time
  const takeovers: number[] = [];
  const end = performance.now() + minutes * 60_000;
  for (let round = 0; performance.now() < end; round += 1) {
    if (round === 1) broker.kill('SIGKILL');
    if (round === 3) broker = startBroker();
    capture.flipNext = true;
    await create();
    const index = (await carries(connect1)) ? 1 : 2;
    gateways[index].kill('SIGKILL');
    const since = performance.now();
    await until('a call through the other gateway', async () => (await carries(connect1)) || carries(connect2));
    takeovers.push(Math.round(performance.now() - since));
    gateways[index] = gateway(index);
    for (let pod = 0; pod < 3; pod += 1) await create();
    await until('all pods', async () => (await running()) === count);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  }
  const delegates = await targetClient.list(PODS, { namespace: POD_NAMESPACE });
  Object.assign(figures, { minutes, kills: takeovers.length, takeoverMs: takeovers, pods: count, delegates: delegates.length, capturedBytes: capture.bytes, markersSeen: capture.markersSeen, bitsFlipped: capture.flips });
  assert.equal(await running(), count, 'pods were lost');
  assert.equal(delegates.length, count, 'delegates were doubled or lost');
  if (minutes > 0) assert.ok(capture.flips > 0, 'no bit was flipped');
  assert.ok(takeovers.every((ms) => ms <= MAX_TAKEOVER_MS), `a takeover took longer than ${MAX_TAKEOVER_MS} ms`);
  assert.equal(capture.markersSeen, 0, 'plain text between the gateways');
  await Promise.all([client.transport.close(), targetClient.transport.close()]);
} catch (error) {
  await explain(error);
  process.exitCode = 1;
} finally {
  process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
  capture.close();
  for (const child of children) child.kill('SIGKILL');
  await isthmusProcesses.stop();
  await sandbox.stop();
  if (process.argv.includes('--keep-logs')) process.stdout.write(`logs are in ${dir}\n`);
  else await rm(dir, { recursive: true, force: true });
}
process.exit(process.exitCode ?? 0);

// The world of `npm run soak -- gateway`: a source with two gateways that is dialled, a target with one that listens
// nowhere, a broker, and a relay between them that sees and may spoil every byte. The kubeconfig of the target names a
// server that does not exist: nothing but the tunnel leads there.
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import type { Lease } from '../../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import { CLUSTER_TARGETS, CLUSTERSET_GATEWAYS, LEASES, SECRETS } from '../../../api/resource-types.ts';
import { GATEWAY_LEASE } from '../../../gateway/main.ts';
import { dialThroughGateway } from '../../../kubernetes/connect/gateway-dialer.ts';
import { messageOf } from '../../../process/errors.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { startIsthmus, type IsthmusInSandbox } from '../../../sandbox/isthmus-in-sandbox.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { openWorldCluster, type WorldCluster } from '../worlds/isthmus-world.ts';
import { SpoilingRelay } from './spoiling-relay.ts';
import { startTestSandbox } from '../processes/stopped-with-process.ts';

const COMMAND = fileURLToPath(new URL('../../../cli/main.js', import.meta.url));
/** A server of this address does not exist; only the gateway leads to the one that has it in its certificate. */
const NO_SERVER = 'https://127.0.0.1:1';
/** Longest run of one command. */
const COMMAND_MS = 60_000;
/** Plain text that must not be seen between the gateways; {@link MARKER} is in every pod. */
export const MARKER = 'plaintext-marker';
const PLAIN_TEXT = [MARKER, 'kube-apiserver', 'Bearer', '/api/v1', 'CONNECT', '"kind"'];
/**
 * Own namespaces for process ids and host names: a killed gateway then looks to the other like one on another machine,
 * whose lease must run out.
 */
const CAN_UNSHARE = spawnSync('unshare', ['--uts', '--pid', '--fork', 'hostname', 'x']).status === 0;

/**
 * Waits until something holds; gives how long that took in ms. Throws when it takes too long, with what failed last.
 */
export async function until(what: string, holds: () => Promise<boolean> | boolean, seconds = 60): Promise<number> {
  const since = performance.now();
  let last = 'it does not hold';
  while (performance.now() - since < seconds * 1_000) {
    const held = await Promise.resolve().then(holds).catch((error: unknown) => {
      last = messageOf(error);
      return false;
    });
    if (held) return performance.now() - since;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`waited ${seconds} s in vain for ${what}: ${last}`);
}

/**
 * Runs one command of ours to its end, while the relay goes on; gives what it printed. Throws when it ends with another
 * code than 0.
 */
export async function isthmus(...args: readonly string[]): Promise<string> {
  const { stdout } =
    await promisify(execFile)(process.execPath, [COMMAND, ...args], { encoding: 'utf8', timeout: COMMAND_MS });
  return stdout.trim();
}

type Index = 0 | 1;

/** The world. Make it with {@link startGatewaySoak}. */
export class GatewaySoak {
  readonly dir: string;
  readonly sandbox: Sandbox;
  readonly source: WorldCluster;
  readonly target: WorldCluster;
  readonly relay = new SpoilingRelay(PLAIN_TEXT);
  /** CONNECT endpoints of the gateways of the source, and of the target's. */
  readonly endpoints: readonly [URL, URL];
  readonly targetEndpoint: URL;
  /** Whether a killed gateway looks as on another machine. */
  readonly leasesRunOut = CAN_UNSHARE;
  readonly #ports: readonly number[];
  readonly #children = new Set<ChildProcess>();
  readonly #gateways: (ChildProcess | undefined)[] = [];
  readonly #isthmus: IsthmusInSandbox;
  readonly #stopped: AbortController;
  #broker: ChildProcess | undefined;

  constructor(parts: {
    dir: string; sandbox: Sandbox; isthmusProcesses: IsthmusInSandbox; source: WorldCluster; target: WorldCluster;
    ports: readonly number[]; stopped: AbortController
  }) {
    this.dir = parts.dir;
    this.sandbox = parts.sandbox;
    this.source = parts.source;
    this.target = parts.target;
    this.#isthmus = parts.isthmusProcesses;
    this.#stopped = parts.stopped;
    this.#ports = parts.ports;
    const [, , , , , connect1 = 0, connect2 = 0, connect3 = 0] = parts.ports;
    const url = (port: number) => new URL(`http://127.0.0.1:${port}`);
    this.endpoints = [url(connect1), url(connect2)];
    this.targetEndpoint = url(connect3);
  }

  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /**
   * Makes the clusterset of two: the source announces both of its gateways behind the relay, the target announces
   * nothing.
   */
  async join(certificateHours: number): Promise<void> {
    const [broker = 0, relay1 = 0, relay2 = 0, tunnel1 = 0, tunnel2 = 0] = this.#ports;
    await isthmus('broker', 'deploy', '--url', `https://127.0.0.1:${broker}`, '--no-workload', ...at(this.source));
    this.startBroker(certificateHours);
    await this.#joinAs(this.source, 'source', '--address', `127.0.0.1:${relay1}`, '--address', `127.0.0.1:${relay2}`);
    await this.#joinAs(this.target, 'target');
    await this.relay.listen(relay1, tunnel1);
    await this.relay.listen(relay2, tunnel2);
  }

  async #joinAs(cluster: WorldCluster, id: string, ...more: readonly string[]): Promise<void> {
    const token = await isthmus('broker', 'token', '--cluster-id', id, ...at(this.source));
    await until(
      'the broker',
      () => isthmus('gateway', 'join', token, '--cluster-id', id, ...more, ...at(cluster)).then(() => true), 60,
    );
  }

  startBroker(certificateHours: number): void {
    this.#broker = this.#start('broker', [
      process.execPath, COMMAND, 'broker', 'run', '--listen', `127.0.0.1:${this.#ports[0]}`, '--certificate-hours',
      String(certificateHours), ...at(this.source),
    ]);
  }

  async killBroker(): Promise<void> {
    await killed(this.#broker, 'SIGKILL');
  }

  /** Starts a gateway of the source. */
  startGateway(index: Index): void {
    const [tunnel, connect] = [this.#ports[3 + index], this.#ports[5 + index]];
    this.#gateways[index] = this.#start(
      `gateway-${index}`,
      alone(`gw-${index}`, [
        'gateway', 'run', '--name', `gw-${index}`, '--listen', `127.0.0.1:${tunnel}`, '--connect',
        `127.0.0.1:${connect}`, ...at(this.source),
      ]),
    );
  }

  startTargetGateway(): void {
    this.#start('gateway-target', alone(
      'gw-target',
      ['gateway', 'run', '--name', 'gw-target', '--listen', 'none', '--connect', this.targetEndpoint.host, ...at(
        this.target,
      )],
    ));
  }

  /** Which gateway of the source holds the lease. */
  async holder(): Promise<Index> {
    const lease: Lease =
      await this.source.client.get(LEASES, { namespace: DEFAULT_INSTALL_NAMESPACE, name: GATEWAY_LEASE });
    const identity = lease.spec?.holderIdentity ?? '';
    const isOf = (index: number) =>
      (CAN_UNSHARE ? identity.startsWith(`gw-${index}_`) : identity.includes(`-${this.#gateways[index]?.pid}-`));
    const index = ([0, 1] as const).find(isOf);
    if (index === undefined) throw new Error(`the lease is held by "${identity}", which is none of the gateways`);
    return index;
  }

  /** Ends a gateway of the source and waits for its end. */
  async stopGateway(index: Index, how: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#gateways[index];
    if (how === 'SIGKILL' || !CAN_UNSHARE) return killed(child, how);
    // What unshare has started is process 1 of its namespace; unshare itself passes no signals on.
    const inside = (await readFile(`/proc/${child?.pid}/task/${child?.pid}/children`, 'utf8')).trim();
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    process.kill(Number(inside), how);
    await ended;
  }

  /** The target is to be reached by its gateway alone; the source's process starts anew with the gateways to ask. */
  async moveBehindGateway(): Promise<void> {
    const { client, cluster } = this.source;
    const name = this.target.cluster.name;
    await this.#isthmus.processes.get(cluster.name)?.stop();
    const { spec } = await client.get(CLUSTER_TARGETS, { name });
    const secretAt = { namespace: DEFAULT_INSTALL_NAMESPACE, name: spec.kubeconfigSecret?.name ?? '' };
    const secret = await client.get(SECRETS, secretAt);
    const kubeconfig = parse(Buffer.from(secret.data?.['config'] ?? '', 'base64').toString()) as {
      clusters: { cluster: Record<string, unknown> }[]
    };
    for (const entry of kubeconfig.clusters) entry.cluster['server'] = NO_SERVER;
    await client.patch(SECRETS, secretAt, {
      patchType: 'merge', patch: { data: { config: Buffer.from(stringify(kubeconfig)).toString('base64') } },
    });
    await client.patch(
      CLUSTER_TARGETS, { name }, { patchType: 'merge', patch: { spec: { gateway: { cluster: 'target' } } } },
    );
    const webhookPort = String(this.#ports[8]);
    await isthmus('install', '--webhook-url', `https://127.0.0.1:${webhookPort}`, ...at(this.source));
    const gateways = this.endpoints.map(({ origin }) => origin).join(',');
    const own = join(cluster.directory, 'isthmus.kubeconfig');
    const components = 'webhook,scheduler,delegate-controller,virtual-node,peering';
    this.#start('isthmus', [
      process.execPath, COMMAND, 'run', '--kubeconfig', own, '--components', components, '--no-target',
      '--webhook-host', '127.0.0.1', '--webhook-port', webhookPort, '--gateway', gateways,
    ]);
  }

  /** Whether a gateway of the source runs and is passive. */
  standsBy(index: Index): Promise<boolean> {
    const route = { clusterId: 'target', endpoints: [this.endpoints[index]] };
    return dialThroughGateway(route, 100).then(
      (socket) => (socket.destroy(), false), (error: unknown) => /is passive/.test(messageOf(error)),
    );
  }

  /** Whether the active gateway of the source says that it is connected. */
  async isConnected(): Promise<boolean> {
    const gateways = await this.source.client.list(CLUSTERSET_GATEWAYS, { namespace: DEFAULT_INSTALL_NAMESPACE });
    const index = await this.holder();
    return gateways.some(
      ({ metadata, status }) =>
        metadata.name === `gw-${index}` && status?.haStatus === 'active'
          && status.connections.some((connection) => connection.status === 'connected'),
    );
  }

  /** What the ClusterTarget says: status and words of a condition, and the round trip. */
  async told(
    type: string,
  ): Promise<{ readonly status: string | undefined; readonly message: string; readonly rtt: string | undefined }> {
    const { status } = await this.source.client.get(CLUSTER_TARGETS, { name: this.target.cluster.name });
    const condition = status?.conditions?.find((one) => one.type === type);
    return { status: condition?.status, message: condition?.message ?? '', rtt: status?.rtt };
  }

  /** Whether the target is Ready since it was moved. */
  async isReadyBehindGateway(): Promise<boolean> {
    const { metadata, status } = await this.source.client.get(CLUSTER_TARGETS, { name: this.target.cluster.name });
    return status?.conditions?.some(
      ({ type, status: is, observedGeneration }) =>
        type === 'Ready' && is === 'True' && observedGeneration === metadata.generation,
    ) === true;
  }

  #start(name: string, [command = '', ...args]: readonly string[]): ChildProcess {
    const log = openSync(join(this.dir, `${name}.log`), 'a');
    const child = spawn(command, args, { stdio: ['ignore', log, log] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  /** Ends of all logs, so that nobody has to run it again for that. */
  async logEnds(): Promise<string> {
    const names = (await readdir(this.dir)).filter((file) => file.endsWith('.log'));
    const ends = names.map(
      async (name) =>
        `--- ${name}\n${(await readFile(join(this.dir, name), 'utf8')).trimEnd().split('\n').slice(-20).map((line) => line.slice(0, 500)).join('\n')}`,
    );
    return (await Promise.all(ends)).join('\n');
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.relay.close();
    for (const child of this.#children) child.kill('SIGKILL');
    await Promise.all([this.source, this.target].map(({ client }) => client.transport.close()));
    await this.#isthmus.stop();
    await this.sandbox.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** Real control planes with Isthmus in them, no gateway yet. */
export async function startGatewaySoak(): Promise<GatewaySoak> {
  const stopped = new AbortController();
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-gateway-'));
  const sandbox =
    await startTestSandbox({ dir: join(dir, 'sandbox'), targets: 1, nodes: 3, gpus: 0, audit: false }, stopped.signal);
  const isthmusProcesses = await startIsthmus(sandbox, stopped.signal);
  const [source, target] =
    await Promise.all(sandbox.clusters.map((cluster) => openWorldCluster(cluster, stopped.signal)));
  if (source === undefined || target === undefined) throw new Error('the sandbox lacks a cluster');
  return new GatewaySoak({ dir, sandbox, isthmusProcesses, source, target, ports: await freePorts(9), stopped });
}

function at({ cluster }: WorldCluster): readonly string[] {
  return ['--kubeconfig', cluster.kubeconfigPath];
}

/** A command of ours in namespaces of its own, where the system lets us. */
function alone(hostname: string, args: readonly string[]): readonly string[] {
  const command = [process.execPath, COMMAND, ...args];
  return CAN_UNSHARE ? [
    'unshare', '--uts', '--pid', '--fork', '--kill-child', 'sh', '-c', 'hostname "$0" && exec "$@"', hostname,
    ...command,
  ] : command;
}

async function killed(child: ChildProcess | undefined, how: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(how);
  await ended;
}

/**
 * One call to the API server of a member through one of the gateways: dial, TLS, GET. Gives its HTTP status; throws
 * when it does not succeed in time.
 */
export async function callThrough(endpoints: readonly URL[], clusterId: string, timeoutMs: number): Promise<number> {
  const raw = await dialThroughGateway({ clusterId, endpoints }, timeoutMs);
  const socket = connectTls({ socket: raw, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => undefined);
  try {
    return await new Promise<number>((resolve, reject) => {
      const asked = request({
        createConnection: () => socket, path: '/version', headers: { host: clusterId }, timeout: timeoutMs,
      }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0)).once('error', reject);
      });
      asked.once('timeout', () => asked.destroy(new Error('no answer in time'))).once('error', reject).end();
    });
  } finally {
    socket.destroy();
  }
}

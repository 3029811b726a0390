// The calls of P11: GETs of 2 kB direct and through the gateway, to a bare HTTPS server and to a real kube-apiserver
// with watches. The bare one is also reached over two no-op relays: the best that any gateway on this runtime can do
// (ADR 0019).
import { request } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildConnector, Client } from 'undici';
import { CONFIG_MAPS, NAMESPACES } from '../../api/resource-types.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { resolveCredentials } from '../../kubernetes/credentials/kubeconfig-user.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import { gatewayName } from '../../model/network/gateway-names.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import type { BenchmarkContext, Measurement } from '../benchmark.ts';
import type { Ready } from './gateway-process.ts';
import { percentile, spreadOf } from '../results/statistics.ts';
import type { TlsIdentity } from '../../gateway/tunnel/tls-identity.ts';

/** The processes of P11. */
export interface GatewayWorld {
  readonly server: Ready;
  /** The ports of the server again, each over two relays that only read and write. */
  readonly relays: Ready;
  readonly connectPort: number;
  readonly identity: TlsIdentity;
}

const BARE_CLIENTS = 16;
const API_CLIENTS = 64;
const API_WATCHES = 16;
const GETS_MS = 3_000;

/** A connection to a service through both gateways. */
export function through(
  { connectPort }: Pick<GatewayWorld, 'connectPort'>, service: string, lane: 'calls' | 'bulk',
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const asked = request({
      host: '127.0.0.1', port: connectPort, method: 'CONNECT', path: `${service}.target:443`, agent: false,
      headers: { 'isthmus-lane': lane },
    });
    asked.once('connect', (response, socket: Socket) => {
      if (response.statusCode === 200) return resolve(socket.setNoDelay(true));
      reject(new Error(`CONNECT ${service}: ${response.statusCode} ${String(response.headers['isthmus-reason'])}`));
    });
    asked.once('error', reject).end();
  });
}

/** A connection to a port of this machine. */
export function direct(port: number | undefined): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host: '127.0.0.1', port: port ?? 0, noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Who is called, and how it is reached. */
interface Callee {
  readonly dial: () => Promise<Socket>;
  readonly tls: buildConnector.BuildOptions;
  readonly path: string;
}

interface Calls {
  readonly perSecond: number;
  readonly p50: number;
}

function clientOf({ dial, tls }: Callee): Client {
  const secure = buildConnector(tls);
  const open = async (options: buildConnector.Options, callback: buildConnector.Callback) =>
    secure({ ...options, httpSocket: await dial() }, callback);
  return new Client('https://server', { bodyTimeout: 0, connect: (options, callback) => void open(options, callback) });
}

async function get(client: Client, path: string): Promise<void> {
  const { statusCode, body } = await client.request({ method: 'GET', path });
  await body.dump();
  if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode}`);
}

/** Each client has one connection and calls again as soon as it was answered. */
async function callFor(ms: number, clients: number, callee: Callee): Promise<Calls> {
  const all = Array.from({ length: clients }, () => clientOf(callee));
  const times: number[] = [];
  await Promise.all(all.map((client) => get(client, callee.path)));
  const end = performance.now() + ms;
  await Promise.all(all.map(async (client) => {
    while (performance.now() < end) {
      const since = performance.now();
      await get(client, callee.path);
      times.push(performance.now() - since);
    }
  }));
  await Promise.all(all.map((client) => client.destroy()));
  return { perSecond: (times.length / ms) * 1_000, p50: percentile(times, 0.5) };
}

/** What is called in turns, by name. */
type Turns = Readonly<Record<string, Callee>>;

interface Load {
  readonly turns: Turns;
  readonly clients: number;
  /** For those who watch the progress. */
  readonly what: string;
}

/** Calls each in turn, the first time to warm up. Gives calls a second by name. */
async function inTurns(
  { turns, clients, what }: Load, context: BenchmarkContext, signal: AbortSignal,
): Promise<ReadonlyMap<string, number[]>> {
  const rates = new Map(Object.keys(turns).map((name) => [name, [] as number[]]));
  for (let run = -1; run < context.runs; run += 1) {
    for (const [name, callee] of Object.entries(turns)) {
      signal.throwIfAborted();
      const { perSecond } = await callFor(GETS_MS, clients, callee);
      if (run >= 0) rates.get(name)?.push(perSecond);
      context.onProgress(`P11 ${what}, run ${run}: ${perSecond.toFixed(0)}/s ${name}`);
    }
  }
  return rates;
}

/** GETs of the bare server: against direct, against two relays that do nothing, and what one client waits longer. */
export async function bareCalls(
  world: GatewayWorld, context: BenchmarkContext, signal: AbortSignal,
): Promise<readonly Measurement[]> {
  const tls = { ca: world.identity.authority, servername: gatewayName('server') };
  const path = '/api/v1/namespaces/default/pods/p';
  const gateway: Callee = { tls, path, dial: () => through(world, 'bare', 'calls') };
  const straight: Callee = { tls, path, dial: () => direct(world.server['api']) };
  const relays: Callee = { tls, path, dial: () => direct(world.relays['api']) };
  const rates = await inTurns(
    { turns: { direct: straight, relays, gateway }, clients: BARE_CLIENTS, what: 'bare calls' }, context, signal,
  );
  const added: number[] = [];
  for (let run = 0; run < context.runs; run += 1) {
    const reference = await callFor(GETS_MS / 3, 1, straight);
    added.push((await callFor(GETS_MS / 3, 1, gateway)).p50 - reference.p50);
  }
  const [straightly, relayed, tunnelled] =
    ['direct', 'relays', 'gateway'].map((name) => spreadOf(rates.get(name) ?? []));
  if (straightly === undefined || relayed === undefined || tunnelled === undefined) {
    throw new Error('nothing was measured');
  }
  const unit = '1/s';
  return [
    {
      variant: 'bare', title: `2 kB GETs of a bare HTTPS server by ${BARE_CLIENTS} clients, against direct`, unit,
      ours: tunnelled, reference: straightly, goal: { figure: 'ratio', atLeast: 0.6 },
    },
    {
      variant: 'floor', title: 'two relays that only read and write, against direct', unit, ours: relayed,
      reference: straightly,
    },
    {
      variant: 'relays', title: 'the gateway against two relays that only read and write', unit, ours: tunnelled,
      reference: relayed, goal: { figure: 'ratio', atLeast: 0.5 },
    },
    {
      variant: 'added', title: 'p50 that the gateway adds to a GET of one client', unit: 'ms',
      goal: { figure: 'ours', atMost: 1 }, ours: spreadOf(added),
    },
  ];
}

// --- a real API server

/** A control plane of its own, with an object of 2 kB. */
export interface ApiServer {
  readonly port: number;
  readonly tls: buildConnector.BuildOptions;
  stop(): Promise<void>;
}

const NAMESPACE = 'gateway-bench';
const AT = { namespace: NAMESPACE, name: 'called' };

/** Starts it. */
export async function startApiServer(signal: AbortSignal): Promise<ApiServer> {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-bench-'));
  const sandbox = await startSandbox(
    { dir: join(dir, 'sandbox'), targets: 1, nodes: 0, gpus: 0, audit: false, controllerQps: 1_000 }, signal,
  );
  const stop = async () => {
    await sandbox.stop();
    await rm(dir, { recursive: true, force: true });
  };
  const kubeconfigPath = sandbox.clusters[1]?.kubeconfigPath ?? '';
  const { client, connection } = await openCluster({ kubeconfigPath, userAgent: 'isthmus-bench' });
  await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
  await client.create(CONFIG_MAPS, { metadata: AT, data: { text: 'x'.repeat(1_600) } } as KubernetesObject);
  await client.transport.close();
  const { certificate, key } = await resolveCredentials(connection.credentials);
  const { certificateAuthority: ca, server } = connection;
  return {
    port: Number(server.port), stop,
    tls: {
      ...(ca !== undefined && { ca }), ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }), servername: '127.0.0.1',
    },
  };
}

/** GETs of the API server while watches are open beside them, against direct. */
export async function apiCalls(
  world: GatewayWorld, { port, tls }: ApiServer, context: BenchmarkContext, signal: AbortSignal,
): Promise<Measurement> {
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps/${AT.name}`;
  const gateway: Callee = { tls, path, dial: () => through(world, 'kube-apiserver', 'calls') };
  const straight: Callee = { tls, path, dial: () => direct(port) };
  const watches = Array.from({ length: API_WATCHES }, () => clientOf(gateway));
  for (const watch of watches) {
    const { body } = await watch.request(
      { method: 'GET', path: `/api/v1/namespaces/${NAMESPACE}/configmaps?watch=1&allowWatchBookmarks=1` },
    );
    body.on('error', () => undefined).resume();
  }
  const rates =
    await inTurns({ turns: { direct: straight, gateway }, clients: API_CLIENTS, what: 'calls' }, context, signal);
  await Promise.all(watches.map((watch) => watch.destroy()));
  return {
    variant: 'calls', title:
      `2 kB GETs of a real API server by ${API_CLIENTS} clients beside ${API_WATCHES} watches in the same tunnel, ` +
        'against direct', unit: '1/s', goal: { figure: 'ratio', atLeast: 0.6 },
    ours: spreadOf(rates.get('gateway') ?? []), reference: spreadOf(rates.get('direct') ?? []),
  };
}

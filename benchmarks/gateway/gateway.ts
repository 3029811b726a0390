// P11: the cost of the gateway. Server, the two gateways and the client are four processes, as in clusters; here they
// share the cores.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { gatewayName } from '../../model/network/gateway-names.ts';
import { createAuthority } from '../../process/crypto/certificate-authority.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { apiCalls, bareCalls, startApiServer, through, type GatewayWorld } from './gateway-calls.ts';
import type { Ready, Role } from './gateway-process.ts';
import { watches } from './gateway-watches.ts';
import { spreadOf } from '../results/statistics.ts';

const BULK_MS = 3_000;

/** P11. */
export const GATEWAY: Benchmark = {
  id: 'P11',
  title: 'calls, a bulk stream and watches through the gateway',
  async run(context, signal) {
    const children: ChildProcess[] = [];
    const apiServer = await startApiServer(signal);
    try {
      const world = await startWorld(children, apiServer.port);
      const calls = await apiCalls(world, apiServer, context, signal);
      await apiServer.stop(); // what follows is measured without it
      return [calls, ...(await bareCalls(world, context, signal)), await bulk(world, context, signal), ...(
        await watches(world, context, signal)
      )];
    } finally {
      for (const child of children) child.disconnect();
      await apiServer.stop();
    }
  },
};

async function startWorld(children: ChildProcess[], apiServerPort: number): Promise<GatewayWorld> {
  const authority = await createAuthority('benchmark', 1, new Date());
  const issue = async (name: string) => ({
    ...(await authority.issue({ commonName: name, dnsNames: [gatewayName(name)], days: 1 }, new Date())),
    authority: authority.keyPair.certificate,
  });
  const become = async (role: Role): Promise<Ready> => {
    const child = fork(new URL('gateway-process.js', import.meta.url).pathname);
    children.push(child);
    child.send(role);
    const [ready] = (await once(child, 'message')) as [Ready];
    return ready;
  };
  const identity = await issue('server');
  const server = await become({ kind: 'server', identity });
  const source = await become({ kind: 'source', identity: await issue('source') });
  const relays = await become({ kind: 'relay', ports: await become({ kind: 'relay', ports: server }) });
  const services = [['kube-apiserver', apiServerPort], ['bare', server['api'] ?? 0], ...['flood', 'log', 'watch'].map(
    (name) => [name, server[name] ?? 0] as const,
  )] as readonly (readonly [string, number])[];
  await become({ kind: 'target', identity: await issue('target'), sourcePort: source['tunnel'] ?? 0, services });
  return { server, relays, connectPort: source['connect'] ?? 0, identity };
}

// --- bulk

async function bytesPerSecond(open: () => Promise<Socket>, ms: number): Promise<number> {
  const socket = await open();
  socket.on('error', () => undefined);
  let bytes = 0;
  let since = 0;
  socket.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await new Promise((resolve) => setTimeout(resolve, 500)); // windows open
  [bytes, since] = [0, performance.now()];
  await new Promise((resolve) => setTimeout(resolve, ms));
  const rate = (bytes / (performance.now() - since)) * 1_000;
  socket.destroy();
  return rate;
}

async function bulk(
  world: GatewayWorld, { runs, onProgress }: BenchmarkContext, signal: AbortSignal,
): Promise<Measurement> {
  const { certificate: cert, key, authority: ca } = world.identity;
  const plain = () =>
    new Promise<Socket>((resolve, reject) => {
      const socket = connectTls(
        { host: '127.0.0.1', port: world.server['plain'] ?? 0, cert, key, ca, servername: gatewayName('server') },
        () => resolve(socket),
      );
      socket.once('error', reject);
    });
  const sides: { ours: number; reference: number }[] = [];
  for (let run = -1; run < runs; run += 1) {
    signal.throwIfAborted();
    const reference = await bytesPerSecond(plain, BULK_MS);
    const ours = await bytesPerSecond(() => through(world, 'flood', 'bulk'), BULK_MS);
    onProgress(
      `P11 bulk, run ${run}: ${((ours * 8) / 1e9).toFixed(2)} Gbit/s through the gateway, ` +
        `${((reference * 8) / 1e9).toFixed(2)} over plain mutual TLS`,
    );
    if (run >= 0) sides.push({ ours: (ours * 8) / 1e9, reference: (reference * 8) / 1e9 });
  }
  return {
    variant: 'bulk', title: 'one bulk stream, against a plain stream over mutual TLS',
    unit: 'Gbit/s', goal: { figure: 'ratio', atLeast: 0.4 },
    ours: spreadOf(sides.map(({ ours }) => ours)), reference: spreadOf(sides.map(({ reference }) => reference)),
  };
}

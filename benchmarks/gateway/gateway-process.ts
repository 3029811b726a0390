// A process of benchmark P11: the API-like server, the source's gateway or the target's. Gets its role by message and
// reports its ports.
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { startConnectEndpoint } from '../../gateway/local-end/connect-endpoint.ts';
import { startMtlsDriver } from '../../gateway/tunnel/mtls-cable.ts';
import type { TlsIdentity } from '../../gateway/tunnel/tls-identity.ts';

/** What a process is to be. */
export type Role =
  | { readonly kind: 'server'; readonly identity: TlsIdentity }
  /** Joins each connection with one to the port of that name, and does nothing else. */
  | { readonly kind: 'relay'; readonly ports: Ready }
  | { readonly kind: 'source'; readonly identity: TlsIdentity }
  | {
    readonly kind: 'target'; readonly identity: TlsIdentity; readonly sourcePort: number;
    readonly services: readonly (readonly [name: string, port: number])[]
  };

/** What it tells when it is ready: ports by name. */
export type Ready = Readonly<Record<string, number>>;

const BODY = Buffer.alloc(2_048, 'x');
const CHUNK = Buffer.alloc(64 << 10, 'y');
const LOG_CHUNK = Buffer.alloc(100_000, 'l');

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));
}

/** Sends as fast as the reader takes it. */
function flood(socket: Socket): void {
  const write = () => {
    while (!socket.destroyed && socket.write(CHUNK));
  };
  socket.on('drain', write).on('error', () => undefined);
  write();
}

/** A log of 10 MB/s: 100 kB each 10 ms. */
function log(socket: Socket): void {
  const timer = setInterval(() => socket.writableLength < 1 << 20 && socket.write(LOG_CHUNK), 10);
  socket.on('error', () => undefined).once('close', () => clearInterval(timer));
}

/**
 * A watch: a line with the time each 10 to 30 ms, drawn anew each time, so that no phase between watches and log
 * decides a whole run.
 */
function watch(socket: Socket): void {
  let timer: NodeJS.Timeout;
  const next = () => {
    timer = setTimeout(() => {
      socket.write(`${performance.timeOrigin + performance.now()}\n`.padEnd(512, ' '));
      next();
    }, 10 + Math.random() * 20);
  };
  next();
  socket.on('error', () => undefined).once('close', () => clearTimeout(timer));
}

function relay(socket: Socket, port: number): void {
  const far = connect({ host: '127.0.0.1', port, noDelay: true });
  for (const [from, to] of [[socket, far], [far, socket]] as const) {
    from.on('data', (chunk: Buffer) => to.write(chunk) || from.pause()).on('error', () => undefined).on(
      'close', () => to.destroy(),
    );
    to.on('drain', () => from.resume());
  }
}

async function relayAll(ports: Ready): Promise<Ready> {
  return Object.fromEntries(
    await Promise.all(Object.entries(ports).map(
      async ([name, port]) =>
        [name, await listen(createTcpServer({ noDelay: true }, (socket) => relay(socket, port)))] as const,
    )),
  );
}

async function serve({ certificate: cert, key, authority: ca }: TlsIdentity): Promise<Ready> {
  const api = createHttpsServer(
    { cert, key, keepAliveTimeout: 60_000 },
    (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': BODY.length }).end(BODY),
  );
  const plain = createTlsServer({ cert, key, ca, requestCert: true, minVersion: 'TLSv1.3' }, flood);
  const services = { flood, log, watch };
  const ports = await Promise.all(Object.entries(services).map(
    async ([name, handle]) => [name, await listen(createTcpServer({ noDelay: true }, handle))] as const,
  ));
  return { api: await listen(api), plain: await listen(plain), ...Object.fromEntries(ports) };
}

async function start(role: Role): Promise<Ready> {
  if (role.kind === 'server') return serve(role.identity);
  if (role.kind === 'relay') return relayAll(role.ports);
  const isSource = role.kind === 'source';
  const services = new Map(isSource ? [] : role.services.map(([name, port]) => [name, { host: '127.0.0.1', port }]));
  const driver = await startMtlsDriver({
    clusterId: role.kind, identity: role.identity, isAnnounced: isSource, services, audit: () => undefined,
    ...(isSource && { listen: { host: '127.0.0.1', port: 0 } }),
  });
  driver.connect(isSource ? { clusterId: 'target', addresses: [] } : {
    clusterId: 'source', addresses: [`127.0.0.1:${role.sourcePort}`],
  });
  if (!isSource) return {};
  const endpoint = await startConnectEndpoint({
    host: '127.0.0.1', port: 0, driver: () => driver, connections: 1_000, halfClosedMs: 5_000, audit: () => undefined,
  });
  return { tunnel: driver.port ?? 0, connect: endpoint.port };
}

process.on('message', (role: Role) => void start(role).then((ready) => process.send?.(ready)));
process.on('disconnect', () => process.exit(0));

// The DNS server for `clusterset.local`, over UDP and TCP. It answers from informer caches, makes no queries, and
// serves no other zone: cluster DNS forwards the zone to it.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { listenHost } from '../../process/listen-host.ts';
import { OpenConnections } from '../../process/servers/open-connections.ts';
import { answerMessage, MAX_MESSAGE_BYTES, type Resolve } from './dns-message.ts';

/** Listen address and resolver. */
export interface DnsServerOptions {
  readonly host: string;
  /** The same over UDP and TCP; 0 picks a free one. */
  readonly port: number;
  readonly resolve: Resolve;
}

/** A running server. */
export interface DnsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Idle timeout of a TCP client in ms (RFC 7766, 6.2.3: a few seconds). */
const IDLE_MS = 10_000;
const MAX_CONNECTIONS = 256;
/** Of one address: a pod must not take the places of all others. Cluster DNS, which asks for them, needs few. */
const MAX_OF_CLIENT = 64;
/** Unread bytes after which a TCP client is disconnected. */
const MAX_UNREAD_BYTES = 1 << 20;

/** Starts it. Throws what listening throws. */
export async function startDnsServer(given: DnsServerOptions): Promise<DnsServer> {
  const options = { ...given, host: listenHost(given.host) };
  const { tcp, connections } = await listenTcp(options);
  const { port } = tcp.address() as AddressInfo;
  const udp = await listenUdp({ ...options, port }).catch((error: unknown) => {
    tcp.close();
    throw error;
  });
  const close = async () => {
    const ended = Promise.all([once(udp, 'close'), new Promise((resolve) => tcp.close(resolve))]);
    udp.close();
    connections.end();
    await ended;
  };
  return { port, close };
}

async function listenUdp({ host, port, resolve }: DnsServerOptions): Promise<UdpSocket> {
  const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4' });
  socket.on('message', (message, from) => {
    if (from.port === 0) return; // nobody can be answered there: it is forged, and sending throws
    const answer = answerMessage(message, 'udp', resolve);
    if (answer !== undefined) socket.send(answer, from.port, from.address, () => undefined); // the client is gone
  });
  socket.bind(port, host);
  await once(socket, 'listening');
  socket.on('error', () => undefined);
  return socket;
}

async function listenTcp(
  { host, port, resolve }: DnsServerOptions,
): Promise<{ readonly tcp: Server; readonly connections: OpenConnections }> {
  const sockets = new Set<Socket>();
  const tcp = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    const own = [...sockets].filter(({ remoteAddress }) => remoteAddress === socket.remoteAddress);
    if (own.length >= MAX_OF_CLIENT) return void socket.destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    readMessages(socket, resolve);
  });
  const connections = new OpenConnections(tcp);
  tcp.maxConnections = MAX_CONNECTIONS;
  tcp.listen(port, host);
  await once(tcp, 'listening');
  return { tcp, connections };
}

/** Messages over TCP are prefixed with their length in two bytes (RFC 1035, 4.2.2). */
function readMessages(socket: Socket, resolve: Resolve): void {
  let unread = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    while (unread.length >= 2 && unread.length >= 2 + unread.readUInt16BE(0)) {
      const end = 2 + unread.readUInt16BE(0);
      const answer = answerMessage(unread.subarray(2, end), 'tcp', resolve);
      unread = unread.subarray(end);
      if (answer === undefined || answer.length > MAX_MESSAGE_BYTES || socket.writableLength > MAX_UNREAD_BYTES) {
        return void socket.destroy();
      }
      const length = Buffer.alloc(2);
      length.writeUInt16BE(answer.length);
      socket.write(Buffer.concat([length, answer]));
    }
  });
}

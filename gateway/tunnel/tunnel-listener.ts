// Accepts connections from peers. Handshakes are limited in time and number, in total and per address, so that
// strangers cannot keep peers out; a rejected peer gets the reason, and nothing is read from it.
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Failure } from '../protocol/failure-cause.ts';
import { readPeer, tlsOptionsOf, type KnownPeer, type TlsIdentity } from './tls-identity.ts';
import {
  alpnOf, purposeOf, PURPOSES, refusalBytes, type Purpose, type TunnelLimits,
} from '../protocol/tunnel-protocol.ts';
import { unmapped } from '../../model/network/socket-address.ts';
import { listenHost } from '../../process/listen-host.ts';

/** What a listener needs. */
export interface ListenerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly identity: TlsIdentity;
  readonly limits: TunnelLimits;
  /** Accepts the connection, or returns why not. */
  readonly accept: (socket: TLSSocket, peer: KnownPeer, purpose: Purpose) => Failure | undefined;
  /** Called for everything that was rejected. */
  readonly refused: (failure: Failure, from: string) => void;
}

const CONNECTIONS_LIMIT: Failure = { cause: 'limit', message: 'too many concurrent handshakes' };

/** A listener that is listening. */
export class TunnelListener {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  constructor(server: Server, sockets: Set<Socket>) {
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
    this.#sockets = sockets;
  }

  /** New handshakes use this identity. */
  use(identity: TlsIdentity): void {
    this.#server.setSecureContext(tlsOptionsOf(identity));
  }

  /** Stops listening. Accepted connections continue; pending handshakes end. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      setImmediate(resolve); // what was accepted ends by its own rules
    });
  }
}

/** Listens. Throws what listening throws. */
export async function startTunnelListener(options: ListenerOptions): Promise<TunnelListener> {
  const { limits } = options;
  const server = createServer({
    ...tlsOptionsOf(options.identity), requestCert: true,
    rejectUnauthorized: false, handshakeTimeout: limits.handshakeMs, ALPNProtocols: PURPOSES.map(alpnOf),
    allowHalfOpen: false, noDelay: true,
  });
  server.maxConnections = limits.connections;
  const handshakes = boundHandshakes(server, options);
  server.on('secureConnection', (socket) => receive(socket, options));
  await once(server.listen({ host: listenHost(options.host), port: options.port }), 'listening');
  server.on('error', () => undefined); // fails one connection only: keep accepting
  return new TunnelListener(server, handshakes);
}

/** Sockets in handshake; beyond the limits new ones are closed. */
function boundHandshakes(server: Server, { limits, refused }: ListenerOptions): Set<Socket> {
  const sockets = new Set<Socket>();
  const perAddress = new Map<string, number>();
  const ends = new Map<string, () => void>();
  server.prependListener('connection', (socket: Socket) => {
    const from = addressOf(socket);
    const endpoint = endpointOf(socket); // a closed socket no longer knows it
    const count = perAddress.get(from) ?? 0;
    if (sockets.size >= limits.handshakes || count >= limits.handshakesPerAddress) {
      refused(CONNECTIONS_LIMIT, from);
      return void socket.destroy();
    }
    sockets.add(socket);
    perAddress.set(from, count + 1);
    const forget = () => {
      if (!sockets.delete(socket)) return;
      const left = (perAddress.get(from) ?? 1) - 1;
      if (left === 0) perAddress.delete(from);
      else perAddress.set(from, left);
    };
    socket.once('close', () => {
      forget();
      ends.delete(endpoint);
    });
    ends.set(endpoint, forget);
  });
  server.on('secureConnection', (socket) => ends.get(endpointOf(socket))?.());
  server.on('tlsClientError', (error: Error & { readonly code?: string }, socket) => {
    refused({ cause: 'protocol', message: error.code ?? 'no handshake' }, addressOf(socket));
    socket.destroy();
  });
  return sockets;
}

function addressOf({ remoteAddress = '' }: Socket): string {
  return unmapped(remoteAddress);
}

/** Same for a TCP socket and for the TLS socket on top of it. */
function endpointOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function receive(socket: TLSSocket, { accept, refused }: ListenerOptions): void {
  socket.on('error', () => undefined);
  const purpose = purposeOf(socket.alpnProtocol);
  if (purpose === undefined) return void socket.destroy();
  const peer = readPeer(socket);
  const failure = 'cause' in peer ? peer : accept(socket, peer, purpose);
  if (failure === undefined) return;
  refused(failure, addressOf(socket));
  socket.resume(); // discard what it sends
  socket.end(refusalBytes(`${failure.cause}: ${failure.message}`, purpose));
  setTimeout(() => socket.destroy(), REFUSAL_MS).unref();
}

/** How long a rejected peer has to read the reason, in ms. */
const REFUSAL_MS = 1_000;

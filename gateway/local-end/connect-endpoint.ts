// The local HTTP CONNECT proxy for this cluster's controllers and for kubectl. It reads only the destination; TLS
// between the client and the remote API server passes through, so it sees no path or verb of the requests within: what
// they may do is decided by that server. Requests other than CONNECT are refused.
import { once } from 'node:events';
import { createServer, STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { parseRoute } from '../../model/network/gateway-names.ts';
import { messageOf } from '../../process/errors.ts';
import type { ServiceAddress } from '../protocol/allowed-services.ts';
import type { TrafficClass, StreamDriver, StreamRecord } from '../protocol/cable-driver.ts';
import { printable } from '../protocol/failure-cause.ts';
import { openForClient } from './local-stream.ts';
import { destroyOutsideFrames } from '../tunnel/session-end.ts';
import { joinStreams } from '../tunnel/stream-junction.ts';
import { StreamRefusedError } from '../tunnel/tunnel-session.ts';
import { listenHost } from '../../process/listen-host.ts';
import { OpenConnections } from '../../process/servers/open-connections.ts';

/** Options of the endpoint. */
export interface ConnectEndpointOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** The driver of an active gateway; undefined on a standby. */
  readonly driver: () => StreamDriver | undefined;
  /** Where a standby passes requests on: to the active gateway; undefined while none is known. */
  readonly elsewhere?: () => ServiceAddress | undefined;
  /** Most concurrent connections; more are closed. */
  readonly connections: number;
  readonly halfClosedMs: number;
  /** Timeout for the request header in ms; {@link HEADER_MS} when missing. */
  readonly headerMs?: number;
  readonly audit: (record: StreamRecord) => void;
}

/** Header by which our transport selects the traffic class (lane) `calls`; without it (kubectl) a stream is bulk. */
const TRAFFIC_CLASS_HEADER = 'isthmus-lane';
const HEADER_MS = 5_000;
const MAX_HEADER_BYTES = 8_192;
/** Header of a request that a standby has passed on: it is not passed on again. */
const PASSED_ON_HEADER = 'isthmus-passed-on';
/** How long the active gateway may take to accept a connection, in ms. */
const PASS_ON_MS = 2_000;
/** How long a refused client has to read the reason, in ms. */
const REFUSAL_MS = 1_000;

/** A running endpoint. */
export class ConnectEndpoint {
  readonly port: number;
  readonly #server: Server;
  readonly #connections: OpenConnections;

  constructor(server: Server, connections: OpenConnections) {
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
    this.#connections = connections;
  }

  /** Open connections. */
  get open(): number {
    return this.#connections.size;
  }

  /** Stops accepting; open connections may continue for this long. */
  async close(drainMs = 0): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const timer = setTimeout(() => this.#connections.end(), drainMs);
    await closed;
    clearTimeout(timer);
  }
}

/** Listens. Throws what listening throws. */
export async function startConnectEndpoint(options: ConnectEndpointOptions): Promise<ConnectEndpoint> {
  const { headerMs = HEADER_MS } = options;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: headerMs, requestTimeout: headerMs,
    connectionsCheckingInterval: headerMs / 5, noDelay: true,
  });
  server.maxConnections = options.connections;
  const connections = new OpenConnections(server);
  server.on(
    'request',
    (_request, response) => response.writeHead(405, { 'content-type': 'text/plain', connection: 'close' })
      .end('this is a CONNECT proxy to the clusters of the clusterset\n'),
  );
  server.on('clientError', (_error, socket) => void socket.destroy());
  server.on('connect', (request, socket: Socket, head: Buffer) => {
    socket.on('error', () => undefined);
    void open(options, { request, socket, head });
  });
  await once(server.listen({ host: listenHost(options.host), port: options.port }), 'listening');
  server.on('error', () => undefined); // fails one connection only: keep accepting
  return new ConnectEndpoint(server, connections);
}

interface ConnectRequest {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
}

async function open(options: ConnectEndpointOptions, asked: ConnectRequest): Promise<void> {
  const { driver, audit, halfClosedMs } = options;
  const { request, socket, head } = asked;
  const route = parseRoute(request.url ?? '');
  const lane: TrafficClass = request.headers[TRAFFIC_CLASS_HEADER] === 'calls' ? 'calls' : 'bulk';
  const active = driver();
  if (route.kind === 'invalid') return refuse(socket, 400, route.message);
  if (active === undefined) return passOn(options, asked);
  try {
    const stream =
      await openForClient(active, { clusterId: route.clusterId, service: route.service, lane }, socket, audit);
    if (socket.destroyed) return destroyOutsideFrames(stream);
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) stream.write(head);
    joinStreams(socket, stream, halfClosedMs);
  } catch (error) {
    refuse(socket, error instanceof StreamRefusedError ? error.status : 502, messageOf(error));
  }
}

/** A Service leads to all gateways, and kubectl does not try again. */
function passOn({ elsewhere, halfClosedMs }: ConnectEndpointOptions, { request, socket, head }: ConnectRequest): void {
  const { url = '', headers } = request;
  const address = headers[PASSED_ON_HEADER] === undefined ? elsewhere?.() : undefined;
  if (address === undefined) return refuse(socket, 503, 'this gateway is passive; ask the active one');
  const onward = connect({ ...address, allowHalfOpen: true, noDelay: true, timeout: PASS_ON_MS });
  const fail = () => {
    onward.destroy();
    refuse(socket, 503, 'this gateway is passive, and the active one does not answer');
  };
  const leave = () => onward.destroy();
  socket.once('close', leave);
  onward.on('error', fail).on('timeout', fail);
  onward.once('connect', () => {
    socket.removeListener('close', leave);
    onward.setTimeout(0).removeListener('error', fail);
    const lane = headers[TRAFFIC_CLASS_HEADER] === 'calls' ? `${TRAFFIC_CLASS_HEADER}: calls\r\n` : '';
    onward.write(`CONNECT ${url} HTTP/1.1\r\nhost: ${url}\r\n${lane}${PASSED_ON_HEADER}: true\r\n\r\n`);
    onward.write(head);
    joinStreams(socket, onward, halfClosedMs);
  });
}

function refuse(socket: Socket, status: number, message: string): void {
  const body = `${message}\n`;
  const reason = printable(message).slice(0, 500);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`, `isthmus-reason: ${reason}`,
    'content-type: text/plain; charset=utf-8', `content-length: ${Buffer.byteLength(body)}`, 'connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
  socket.resume(); // its end comes after what it has sent
  setTimeout(() => socket.destroy(), REFUSAL_MS).unref();
}

// The kubelet port of a cluster's nodes. kwok answers any client on its port, even in plain text, and its exec runs
// commands on this machine, so a web page in a browser could use it. This proxy authenticates like a kubelet:
// only the API server's client certificate is accepted, and exec works only under a container name that the proxy alone
// knows.
import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { toLogView } from './container-log.ts';
import { FollowedLog } from './followed-log.ts';
import type { KeyPair } from '../../process/crypto/certificate-authority.ts';
import { OpenConnections } from '../../process/servers/open-connections.ts';
import { IDLE_LIMITS, spliceConnections } from '../../virtual-node/streams/stream-relay.ts';

/** What a proxy needs. */
export interface KubeletProxyOptions {
  /** Port on 127.0.0.1 that the API server calls. */
  readonly port: number;
  /** kwok's own port on 127.0.0.1. */
  readonly kwokPort: number;
  readonly serving: KeyPair;
  /** PEM of the authority that client certificates must chain to. */
  readonly authority: string;
  /** The only client that is admitted, by its certificate's common name. */
  readonly clientName: string;
  /** The container name that kwok runs commands under. */
  readonly execContainer: string;
  /** Absolute path of the log that all containers share. */
  readonly logFile: string;
}

/** A running proxy. */
export interface KubeletProxy {
  /** Ends all connections and frees the port. */
  close(): Promise<void>;
}

/** The request target for kwok: exec of any container becomes exec of the secret one; everything else stays. */
export function kwokTarget(target: string, execContainer: string): string {
  return target.replace(/^(\/exec\/[^?]*\/)[^/?]+/, `$1${execContainer}`);
}

/** The first lines of a request as they were received, for a connection that is about to be upgraded. */
export function requestHeaderText(method: string, target: string, rawHeaders: readonly string[]): string {
  const lines = [`${method} ${target} HTTP/1.1`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function isAdmitted(message: IncomingMessage, clientName: string): boolean {
  const { socket } = message;
  return socket instanceof TLSSocket && socket.authorized && socket.getPeerCertificate().subject.CN === clientName;
}

/** The query of a log that is to be followed; kwok shows all others. */
function followQuery(target: string): URLSearchParams | undefined {
  const [path = '', text = ''] = target.split('?');
  const query = new URLSearchParams(text);
  return path.startsWith('/containerLogs/') && query.get('follow') === 'true' ? query : undefined;
}

function forward(
  incoming: IncomingMessage, answer: ServerResponse, options: KubeletProxyOptions, log: FollowedLog,
): void {
  if (!isAdmitted(incoming, options.clientName)) {
    answer.writeHead(403).end('Only the API server may ask this kubelet.\n');
    return;
  }
  const followed = followQuery(incoming.url ?? '/');
  if (followed !== undefined) {
    log.show(answer, toLogView(followed, Date.now())).catch(() => answer.destroy());
    return;
  }
  const path = kwokTarget(incoming.url ?? '/', options.execContainer);
  const { method, headers } = incoming;
  const upstream = request({ host: '127.0.0.1', port: options.kwokPort, method, path, headers }, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(answer);
  });
  upstream.on('error', (error) => {
    if (answer.headersSent) answer.destroy();
    else answer.writeHead(502).end(`kwok does not answer: ${error.message}\n`);
  });
  answer.on('close', () => upstream.destroy()); // a follower of a log that goes away must not be followed on
  incoming.pipe(upstream);
}

function upgrade(incoming: IncomingMessage, client: Duplex, first: Buffer, options: KubeletProxyOptions): Socket
  | undefined {
  if (!isAdmitted(incoming, options.clientName)) {
    client.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    return undefined;
  }
  const target = kwokTarget(incoming.url ?? '/', options.execContainer);
  const upstream = connect(options.kwokPort, '127.0.0.1', () => {
    upstream.write(requestHeaderText(incoming.method ?? 'GET', target, incoming.rawHeaders));
    void spliceConnections({ socket: client, head: first }, { socket: upstream, head: Buffer.alloc(0) }, IDLE_LIMITS);
  });
  upstream.once('error', () => client.destroy());
  client.on('error', () => upstream.destroy());
  return upstream;
}

/** Starts the proxy; resolves once it listens. */
export async function openKubeletProxy(options: KubeletProxyOptions): Promise<KubeletProxy> {
  const { serving, authority, port } = options;
  const upgraded = new Set<Socket>();
  const log = new FollowedLog(options.logFile);
  const server = createServer({
    cert: serving.certificate,
    key: serving.key,
    ca: authority,
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  });
  const connections = new OpenConnections(server);
  server.on('request', (incoming, answer) => forward(incoming, answer, options, log));
  server.on('upgrade', (incoming: IncomingMessage, client: Duplex, first: Buffer) => {
    const upstream = upgrade(incoming, client, first, options);
    if (upstream === undefined) return;
    upgraded.add(upstream);
    upstream.on('close', () => upgraded.delete(upstream));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        connections.end();
        for (const upstream of upgraded) upstream.destroy();
      }),
  };
}

// An API server for tests of commands: it serves a few objects over TLS, or answers every call alike. It takes no
// writes.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';
import { status } from './scripted-api-server.ts';

/** Objects by plural. Kinds that are missing are not served. */
export type ServedObjects = Readonly<Record<string, readonly KubernetesObject[]>>;

/** What a call gets: status and body, no answer at all, or one line of a stream that goes on. */
export type Answer = readonly [status: number, body: unknown] | 'hang' | 'stream';

/** RFC 6455 §1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const UID = '11111111-1111-4111-8111-111111111111';
/** What every cluster has. */
const OF_EVERY_CLUSTER: ServedObjects = { namespaces: [{ metadata: { name: 'kube-system', uid: UID } }] };
const authority = await createAuthority('test API servers', 2, new Date());
const serving = await authority.issue(
  { commonName: '127.0.0.1', days: 1, usages: ['server'], ipAddresses: ['127.0.0.1'] }, new Date(),
);

/** A server on 127.0.0.1. */
export class AnsweringApiServer {
  /** Host and port. */
  readonly host: string;
  /** Method and path of every call, with its query. */
  readonly calls: string[] = [];
  readonly #server: Server;
  readonly #folder: string;

  private constructor(server: Server, folder: string) {
    this.#server = server;
    this.#folder = folder;
    this.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Serves these objects, or asks the function for each answer. */
  static async start(
    served: ServedObjects | ((method: string, url: URL) => Answer), answerToWrite: (url: URL) => Answer = forbidden,
  ): Promise<AnsweringApiServer> {
    const server = createServer({ cert: serving.certificate, key: serving.key });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const started = new AnsweringApiServer(server, await mkdtemp(join(tmpdir(), 'isthmus-api-')));
    const answerTo = typeof served === 'function' ? served : undefined;
    const objects = typeof served === 'function' ? {} : { ...OF_EVERY_CLUSTER, ...served };
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      request.resume();
      const url = new URL(request.url ?? '', 'https://server');
      started.calls.push(`${request.method} ${url.pathname}${url.search}`);
      if (answerTo !== undefined) send(response, answerTo(request.method ?? '', url));
      else if (request.method !== 'GET') send(response, answerToWrite(url));
      else serve(response, url, objects);
    });
    return started;
  }

  /** Text of a kubeconfig for it, of this namespace. */
  kubeconfigText(namespace?: string): string {
    const ca = Buffer.from(authority.keyPair.certificate).toString('base64');
    return stringify({
      apiVersion: 'v1', kind: 'Config', 'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server: `https://${this.host}`, 'certificate-authority-data': ca } }],
      users: [{ name: 'test', user: { token: 'token' } }],
      contexts:
        [{ name: 'test', context: { cluster: 'test', user: 'test', ...(namespace !== undefined && { namespace }) } }],
    });
  }

  /** Path of a file with {@link kubeconfigText}. */
  async kubeconfig(namespace?: string): Promise<string> {
    const path = join(this.#folder, 'kubeconfig.yaml');
    await writeFile(path, this.kubeconfigText(namespace));
    return path;
  }

  /** Every call that asks for a WebSocket gets one, on which these frames are sent. */
  streamFrames(frames: readonly Uint8Array[]): void {
    this.#server.removeAllListeners('upgrade').on('upgrade', (request: IncomingMessage, socket: Duplex) => {
      const key = String(request.headers['sec-websocket-key']);
      const accept = createHash('sha1').update(key + ACCEPT_SUFFIX).digest('base64');
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n` +
        `sec-websocket-accept: ${accept}\r\nsec-websocket-protocol: v5.channel.k8s.io\r\n\r\n`);
      for (const frame of frames) socket.write(frame);
      socket.end();
    });
  }

  /** From here on nobody listens at its port. */
  shut(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Ends all connections, and removes its file. */
  async stop(): Promise<void> {
    this.shut();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function send(response: ServerResponse, answer: Answer): void {
  if (answer === 'hang') return;
  if (answer === 'stream') return void response.writeHead(200).write('a line\n');
  const [code, body] = answer;
  response.writeHead(code, { 'content-type': typeof body === 'string' ? 'text/html' : 'application/json' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

const PATH = /^\/(?:api|apis\/[^/]+)\/[^/]+(?:\/namespaces\/([^/]+)(?=\/[^/]+))?\/([^/]+)(?:\/([^/]+))?$/;

function forbidden({ pathname }: URL): Answer {
  const plural = PATH.exec(pathname)?.[2] ?? '';
  return [403, status(403, 'Forbidden', `${plural} is forbidden: User "test" cannot write`)];
}

function serve(response: ServerResponse, url: URL, served: ServedObjects): void {
  if (url.pathname === '/version') return send(response, [200, { gitVersion: 'v1.34.0' }]);
  const [, namespace, plural = '', name] = PATH.exec(url.pathname) ?? [];
  const objects = served[plural];
  if (objects === undefined) return send(response, [404, '404 page not found\n']);
  const found = objects.filter((object) => isSelected(object, { namespace, name, query: url.searchParams }));
  if (name === undefined) return url.searchParams.get('watch') === 'true'
    ? watch(response, found)
    : send(response, [200, page(found)]);
  const [first] = found;
  send(response, first === undefined ? [404, status(404, 'NotFound', `${plural} "${name}" not found`)] : [200, first]);
}

function page(items: readonly KubernetesObject[]): object {
  return { kind: 'List', metadata: { resourceVersion: '9' }, items };
}

/** A streaming list (WatchList, KEP-3157) that stays open. */
function watch(response: ServerResponse, objects: readonly KubernetesObject[]): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const end = { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } };
  const events = [...objects.map((object) => ({ type: 'ADDED', object })), { type: 'BOOKMARK', object: end }];
  for (const event of events) response.write(`${JSON.stringify(event)}\n`);
}

interface Wanted {
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly query: URLSearchParams;
}

function isSelected(object: KubernetesObject, { namespace, name, query }: Wanted): boolean {
  const { metadata } = object;
  if ((name !== undefined && metadata.name !== name) || (namespace !== undefined && metadata.namespace !== namespace)) {
    return false;
  }
  const labels = (query.get('labelSelector') ?? '').split(',').filter((text) => text !== '');
  const fields = (query.get('fieldSelector') ?? '').split(',').filter((text) => text !== '');
  return labels.every((text) => holds(text, metadata.labels ?? {})) && fields.every((text) => hasField(text, object));
}

function holds(text: string, labels: Readonly<Record<string, string>>): boolean {
  const [key = '', value] = text.split('=');
  return value === undefined ? Object.hasOwn(labels, key) : labels[key] === value;
}

function hasField(text: string, object: object): boolean {
  const [path = '', value] = text.split('=');
  const found = path.split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);
  return found === value;
}

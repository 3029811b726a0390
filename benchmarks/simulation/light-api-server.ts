// A light API server: the wire as a real one speaks it (lists by pages, streaming lists, watches with bookmarks, writes
// with conflicts), over TLS with HTTP/2 and HTTP/1.1, and nothing behind it but a map. A thousand fit into a process.
import { once } from 'node:events';
import {
  createSecureServer, type Http2SecureServer, type Http2ServerRequest, type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parsePath, patched, selects, type RequestedPath } from './api-request.ts';
import { ObjectStore, RejectedWrite, type StoredEvent, type StoredObject } from './object-store.ts';

/** The certificate of a server; PEM. */
export interface ServerCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** A real one sends a bookmark about once a minute. */
const BOOKMARK_MS = 60_000;

/** As kube-apiserver: streams in one HTTP/2 connection. */
const MOST_STREAMS = 250;

/** One server with its cluster. */
export class LightApiServer {
  readonly store = new ObjectStore();
  /** Requests since the start; a watch counts once. */
  requests = 0;
  /** Connections since the start. */
  connections = 0;
  /** Called before each request is answered; it may wait, fail, or never resolve: faults by script. */
  fault: (method: string, path: string) => Promise<void> | undefined = () => undefined;
  readonly #server: Http2SecureServer;

  private constructor(certificate: ServerCertificate) {
    this.#server = createSecureServer({
      cert: certificate.certificate, key: certificate.key, allowHTTP1: true,
      settings: { maxConcurrentStreams: MOST_STREAMS },
    });
    this.#server.on('secureConnection', () => (this.connections += 1));
    this.#server.on('sessionError', () => undefined);
    this.#server.on('request', (request, response) => void this.#serve(request, response));
  }

  /** Listens on a free port of 127.0.0.1. */
  static async start(certificate: ServerCertificate): Promise<LightApiServer> {
    const server = new LightApiServer(certificate);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  /** Its address. */
  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    this.requests += 1;
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    try {
      const url = new URL(request.url, 'https://server');
      await this.fault(request.method, url.pathname);
      const body = request.method === 'GET' ? '' : await text(request);
      const at = parsePath(url.pathname);
      if (at === undefined) answer(response, 200, { gitVersion: 'v1.36.3' });
      else if (request.method === 'GET') this.#read(at, url.searchParams, response);
      else this.#write(request, at, JSON.parse(body === '' ? '{"metadata":{}}' : body) as StoredObject, response);
    } catch (error) {
      const { status, reason } = error instanceof RejectedWrite ? error : { status: 500, reason: 'InternalError' };
      answer(response, status, {
        kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: status, reason, message: String(error),
      });
    }
  }

  #read(at: RequestedPath, query: URLSearchParams, response: Http2ServerResponse): void {
    if (at.name !== undefined) {
      const found = this.store.get({ ...at, name: at.name });
      if (found === undefined) throw new RejectedWrite(404, 'NotFound', `${at.collection} "${at.name}" not found`);
      return answer(response, 200, found);
    }
    if (query.get('watch') === 'true') return this.#watch(at, query, response);
    const items = [...this.store.list(at.collection)].filter(selects(query, at.namespace));
    answer(response, 200, { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: this.#version }, items });
  }

  get #version(): string {
    return String(this.store.version);
  }

  #watch({ collection, namespace }: RequestedPath, query: URLSearchParams, response: Http2ServerResponse): void {
    const isSelected = selects(query, namespace);
    response.writeHead(200, { 'content-type': 'application/json' });
    const send = (type: string, object: object): boolean => response.write(`${JSON.stringify({ type, object })}\n`);
    const bookmark = (resourceVersion: string, annotations?: object): boolean =>
      send('BOOKMARK', { metadata: { resourceVersion, annotations } });
    const listedAt = this.#version;
    const missed = this.store.eventsAfter(collection, Number(query.get('resourceVersion') ?? 0));
    const isList = query.get('sendInitialEvents') === 'true';
    if (!isList && missed === undefined) {
      send('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' });
      return void response.end();
    }
    const waiting: StoredEvent[] = isList ? [] : [...(missed ?? [])];
    let isListing = isList;
    const forget = this.store.listen(collection, (event) => {
      if (isListing) waiting.push(event);
      else if (isSelected(event.object)) send(event.type, event.object);
    });
    const listed = (): void => {
      if (isList) bookmark(listedAt, { 'k8s.io/initial-events-end': 'true' });
      isListing = false;
      for (const { type, object } of waiting) if (isSelected(object)) send(type, object);
    };
    if (isList) void sendAll([...this.store.list(collection)].filter(isSelected), send, response).then(listed);
    else listed();
    const bookmarks = setInterval(() => isListing || bookmark(this.#version), BOOKMARK_MS).unref();
    const stop = (): void => {
      forget();
      clearInterval(bookmarks);
      clearTimeout(ends);
    };
    const ends = setTimeout(() => {
      stop(); // an event after the end would end the stream with an error
      response.end();
    }, Number(query.get('timeoutSeconds') ?? 300) * 1_000).unref();
    response.once('close', stop);
  }

  #write(
    { method, headers }: Http2ServerRequest, at: RequestedPath, body: StoredObject, response: Http2ServerResponse,
  ): void {
    const { store } = this;
    const { collection, namespace, name, subresource } = at;
    if (name === undefined) return answer(response, 201, store.create(collection, inNamespace(body, namespace)));
    const named = { collection, namespace, name };
    if (subresource === 'binding') {
      store.update(named, (pod) => bound(pod, body));
      return answer(response, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' });
    }
    if (method === 'DELETE') return answer(response, 200, store.delete(named));
    const contentType = String(headers['content-type']);
    const isApply = contentType.includes('apply-patch');
    if (isApply && store.get(named) === undefined) {
      return answer(response, 201, store.create(collection, inNamespace(body, namespace)));
    }
    const stored = store.update(named, (object) => {
      expectVersion(object, body);
      const after = method === 'PUT' ? body : patched(object, body, contentType.includes('strategic'));
      const { uid, creationTimestamp, resourceVersion, generation } = object.metadata;
      const kept = { uid, creationTimestamp, resourceVersion, generation } as StoredObject['metadata'];
      return { ...after, metadata: { ...after.metadata, ...kept } };
    });
    answer(response, 200, stored);
  }

  /** Ends all connections. */
  stop(): void {
    this.#server.close();
  }
}

/** As fast as the reader takes them: a list may be larger than what may wait in memory. */
async function sendAll(
  objects: readonly StoredObject[], send: (type: string, object: object) => boolean, response: Http2ServerResponse,
): Promise<void> {
  const until = (event: string) => new Promise<void>((resolve) => response.once(event, resolve));
  const closed = until('close');
  for (const object of objects) {
    if (send('ADDED', object)) continue;
    if (!response.stream.destroyed) await Promise.race([until('drain'), closed]);
    if (response.stream.destroyed) return;
  }
}

function answer(response: Http2ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function inNamespace(object: StoredObject, namespace: string | undefined): StoredObject {
  return { ...object, metadata: { ...object.metadata, ...(namespace !== undefined && { namespace }) } };
}

function bound(pod: StoredObject, { metadata, target }: StoredObject): StoredObject {
  const { name } = target as { readonly name: string };
  const { conditions = [] } = (pod['status'] ?? {}) as { readonly conditions?: readonly object[] };
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...metadata.annotations } },
    spec: { ...(pod['spec'] as object), nodeName: name },
    status: { ...(pod['status'] as object), conditions: [...conditions, { type: 'PodScheduled', status: 'True' }] },
  };
}

function expectVersion({ metadata }: StoredObject, { metadata: wanted }: Partial<StoredObject>): void {
  for (const field of ['uid', 'resourceVersion'] as const) {
    if (wanted?.[field] !== undefined && wanted[field] !== metadata[field]) {
      throw new RejectedWrite(409, 'Conflict', `the object has another ${field}`);
    }
  }
}

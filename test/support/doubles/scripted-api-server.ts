// An HTTP server that does nothing by itself: each request waits until the test takes it and answers it. It plays an
// API server in tests of the client layer, where the order of answers, cuts and errors must be the test's own.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import type { ClusterConnection } from '../../../kubernetes/credentials/kubeconfig.ts';
import type { Credentials } from '../../../kubernetes/credentials/kubeconfig-user.ts';
import { Transport } from '../../../kubernetes/http/transport.ts';

/** How long a test waits for a request that does not come before it fails, in ms. */
const TIMEOUT_MS = 30_000;

/** A logger for code under test that is not about logs. */
export const SILENT = pino({ level: 'silent' });

/** A server under the test's control, and the transport and client to it. */
export class ScriptedApiServer {
  readonly url: URL;
  readonly transport: Transport;
  readonly client: ClusterClient;
  /** Requests seen so far, taken or not. */
  requests = 0;
  readonly #server: Server;
  readonly #arrived: Exchange[] = [];
  readonly #waiting: ((exchange: Exchange) => void)[] = [];
  readonly #patience = new Set<NodeJS.Timeout>();
  #isStopped = false;

  private constructor(server: Server) {
    this.#server = server;
    this.url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    this.transport = new Transport(this.connection(), 'isthmus-test/1');
    this.transport.offersStreamingLists = false; // tests that want them turn them on
    this.client = new ClusterClient(this.transport);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#receive(request, response));
  }

  /** Listens on a free port of 127.0.0.1. */
  static async start(): Promise<ScriptedApiServer> {
    const server = createServer({ keepAliveTimeout: 120_000 }); // longer than a busy machine may keep a client waiting
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ScriptedApiServer(server);
  }

  /** How to reach this server with these credentials, below this path. */
  connection(credentials: Credentials = { kind: 'none' }, path = ''): ClusterConnection {
    return { server: new URL(`${this.url.origin}${path}`), insecure: false, credentials };
  }

  /** The next request, in the order of arrival; fails when none comes. */
  next(): Promise<Exchange> {
    const arrived = this.#arrived.shift();
    if (arrived !== undefined) return Promise.resolve(arrived);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no request came within ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
      if (this.#isStopped) timer.unref();
      this.#patience.add(timer);
      this.#waiting.push((exchange) => {
        clearTimeout(timer);
        this.#patience.delete(timer);
        resolve(exchange);
      });
    });
  }

  /** Takes the next request, which must be a list, and answers it in one page. */
  async list(resourceVersion: string, ...items: readonly KubernetesObject[]): Promise<Exchange> {
    const exchange = await this.next();
    assert.equal(exchange.query.get('watch'), null, 'a list is due');
    exchange.answer(200, page(resourceVersion, items));
    return exchange;
  }

  /** Takes the next request, which must be a watch from this version, and opens it. */
  async watch(resourceVersion: string): Promise<Exchange> {
    const exchange = await this.next();
    assert.equal(exchange.query.get('watch'), 'true', 'a watch is due');
    assert.equal(exchange.query.get('resourceVersion'), resourceVersion);
    exchange.open();
    return exchange;
  }

  /** Ends all connections. */
  async stop(): Promise<void> {
    // what is still waited for comes no more, and must not keep the process
    this.#isStopped = true;
    for (const timer of this.#patience) clearTimeout(timer);
    await this.transport.close();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    const exchange = new Exchange(request, response, await text(request));
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#arrived.push(exchange);
    else waiting(exchange);
  }
}

/** One request and the means to answer it, at once or as a stream. */
export class Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse, body: string) {
    const url = new URL(request.url ?? '', 'http://server');
    this.method = request.method ?? '';
    this.path = url.pathname;
    this.query = url.searchParams;
    this.headers = request.headers;
    this.body = body;
    this.#response = response;
  }

  /** Answers with JSON, or with a text as it is. */
  answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.#response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  /** Answers with a page of a list that goes on. */
  answerPage(resourceVersion: string, next: string, ...items: readonly KubernetesObject[]): void {
    this.answer(200, page(resourceVersion, items, next));
  }

  /** Starts a stream. */
  open(status = 200): void {
    this.#response.writeHead(status).flushHeaders();
  }

  /** Sends watch events. */
  send(type: string, ...objects: readonly unknown[]): void {
    for (const object of objects) this.write(`${JSON.stringify({ type, object })}\n`);
  }

  /** Sends bytes of a stream. */
  write(bytes: string | Uint8Array): void {
    this.#response.write(bytes);
  }

  /** Ends the stream as a server does whose time is up. */
  end(): void {
    this.#response.end();
  }

  /** Breaks the connection. */
  cut(): void {
    this.#response.destroy();
  }

  /** Resolves when the client or the server has ended the exchange. */
  async closed(): Promise<void> {
    if (!this.#response.closed) await once(this.#response, 'close');
  }
}

/** A `meta/v1` Status as API servers answer with. */
export function status(code: number, reason: string, message: string): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message };
}

function page(resourceVersion: string, items: readonly KubernetesObject[], next?: string): object {
  return { kind: 'List', metadata: { resourceVersion, ...(next !== undefined && { continue: next }) }, items };
}

/**
 * Runs every back-off at once during a test, and writes down how long it would have been in ms, with chance at its
 * least.
 */
export function skipBackoff(t: TestContext): number[] {
  const waits: number[] = [];
  const setTimeout: (callback: () => void, ms: number, ...rest: unknown[]) => NodeJS.Timeout = globalThis.setTimeout;
  t.mock.method(Math, 'random', () => 0);
  t.mock.method(globalThis, 'setTimeout', (callback: () => void, ms: number, ...rest: unknown[]) => {
    if (new Error('where').stack?.includes('kubernetes/flow/backoff.') !== true) {
      return setTimeout(callback, ms, ...rest);
    }
    waits.push(ms);
    return setTimeout(callback, 0);
  });
  return waits;
}

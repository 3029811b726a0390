// The server of the page: on loopback for the viewer who has the key, in a cluster for anyone with a token of that
// cluster. It keeps nothing and decides nothing; what it sends comes from the screens of the viewer who asks.
import { Server as TlsServer } from 'node:tls';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { keepDeadlines, type ConnectionDeadlines } from '../../process/servers/connection-deadlines.ts';
import { ApiError } from '../../kubernetes/flow/api-error.ts';
import { Handshakes } from '../../process/servers/handshakes.ts';
import { AppError, reasonOf } from '../../process/errors.ts';
import type { CertificatePair } from '../../webhook/certificates/serving-certificate.ts';
import { tlsSettings } from '../../webhook/server/tls-server.ts';
import { actionKindOf, readAction, type Action } from '../wire/actions.ts';
import { parseRoute } from '../wire/routes.ts';
import { EventStream, STREAM_TIMES, type StreamTimes } from './event-stream.ts';
import { documentFor, readPageFiles, type PageFile } from './page-files.ts';
import { SignInRefused, type PageAccess, type Viewer } from './page-access.ts';
import { judge, NOT_SIGNED_IN, SECURITY_HEADERS, SESSION_PATH, type GuardedRequest } from './request-guard.ts';
import { listenHost } from '../../process/listen-host.ts';

/** How a server in a cluster differs from one on a viewer's machine. */
export interface TlsListener {
  /** Address to listen on. */
  readonly host: string;
  /** Names that browsers know it by, without a port. */
  readonly names: readonly string[];
  readonly certificate: CertificatePair;
}

/** What the server is started with. */
export interface PageServerOptions {
  /** 0 for any free port. */
  readonly port: number;
  /** Missing on a viewer's machine: then it listens on loopback only, without TLS. */
  readonly tlsListener?: TlsListener;
  readonly access: PageAccess;
  readonly times?: StreamTimes;
}

/** A browser opens six connections to a host; a few tabs of one viewer need no more than this. */
const MOST_CONNECTIONS = { here: 128, inCluster: 1_024 };
/** Of one viewer. */
const MOST_STREAMS = 32;
/** Per viewer and at a time: each may take minutes, and a person starts them one by one. */
const MOST_ACTIONS = 2;
/** A key, or a token of the cluster, in bytes. */
const LARGEST_SECRET = { key: 256, token: 16_384 };
/** In bytes, with a few names of 253 characters. */
const LARGEST_ACTION = 4_096;
/** Times in ms; a stream has been received whole and is not meant. */
const DEADLINES: ConnectionDeadlines = {
  headers: 5_000, request: 5_000, unused: 30_000, unusedInCrowd: 2_000, unusedAtEnd: 100, crowd: 64, checkEvery: 1_000,
};
/** Node.js' own deadlines in ms, for what those do not cover. */
const OWN_DEADLINES = { requestTimeout: 60_000, keepAliveTimeout: 60_000 };
const HANDSHAKE_MS = 5_000;

/** Starts the server. Throws AppError `StartFailed` when the port is taken or the certificate is none. */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const server = new PageServer(options, await readPageFiles());
  await server.listen();
  return server;
}

/** A running server. */
export class PageServer {
  readonly #options: PageServerOptions;
  readonly #files: ReadonlyMap<string, PageFile>;
  readonly #document: PageFile;
  readonly #app: FastifyInstance;
  readonly #handshakes: Handshakes;
  /** Who asked, of requests that were let through to data. */
  readonly #viewers = new WeakMap<FastifyRequest, Viewer>();
  readonly #streams = new Map<Viewer, Set<FastifyReply['raw']>>();
  /** How many actions of a viewer are in progress. */
  readonly #acting = new Map<Viewer, number>();

  constructor(options: PageServerOptions, files: ReadonlyMap<string, PageFile>) {
    const { access: { signIn }, tlsListener } = options;
    this.#options = options;
    this.#files = files;
    this.#document = documentFor(signIn);
    this.#app = fastifyFor(options);
    this.#app.server.maxConnections = tlsListener === undefined ? MOST_CONNECTIONS.here : MOST_CONNECTIONS.inCluster;
    this.#handshakes = new Handshakes(this.#app.server);
    keepDeadlines(this.#app.server, tlsListener === undefined ? 'connection' : 'secureConnection', DEADLINES);
    this.#app.removeAllContentTypeParsers();
    this.#app.addContentTypeParser(/^/, { parseAs: 'string' }, (_request, body, done) => done(null, body));
    this.#app.addHook('onRequest', async (request, reply) => {
      reply.headers(SECURITY_HEADERS);
      return this.#refusal(request, reply);
    });
    this.#app.setErrorHandler(
      (error, _request, reply) => reply.code(statusOf(error)).send({ message: reasonOf(error) }),
    );
    this.#app.setNotFoundHandler((request, reply) => (
      pathOf(request).startsWith('/api/') ? nothing(reply) : this.#sendDocument(reply, 404)
    ));
    this.#addRoutes();
  }

  /** Where it listens. */
  get port(): number {
    const address = this.#app.server.address();
    return typeof address === 'object' && address !== null ? address.port : this.#options.port;
  }

  /** Throws AppError `StartFailed`. */
  async listen(): Promise<void> {
    const { port, tlsListener: { host } = { host: '127.0.0.1' } } = this.#options;
    await this.#app.listen({ host: listenHost(host), port }).catch((error: unknown) => {
      throw new AppError(
        'StartFailed', `The page cannot be served on port ${port}: ${reasonOf(error)}. Choose another --port.`,
        { cause: error },
      );
    });
  }

  /** Takes another certificate for new connections. Throws what `node:tls` throws for a pair that is none. */
  renew(certificate: CertificatePair): void {
    const { server } = this.#app;
    if (server instanceof TlsServer) server.setSecureContext(tlsSettings(certificate));
  }

  /** Ends all streams and connections. */
  async close(): Promise<void> {
    for (const streams of this.#streams.values()) for (const stream of streams) stream.destroy();
    this.#handshakes.end();
    await this.#app.close();
  }

  /** The answer to a request that is refused; undefined for one that is let through. */
  async #refusal(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const { tlsListener } = this.#options;
    const judgement = judge(guardedRequestOf(request), tlsListener === undefined
      ? { scheme: 'http', hosts: [`127.0.0.1:${this.port}`, `localhost:${this.port}`] }
      : { scheme: 'https', hosts: tlsListener.names });
    const refuse = (status: number, message: string): FastifyReply =>
      reply.code(status).header('connection', 'close').send({ message });
    if (judgement.kind === 'refused') return refuse(judgement.status, judgement.message);
    if (!('token' in judgement)) return undefined;
    const viewer = await this.#options.access.viewerOf(judgement.token);
    if (viewer === undefined) return refuse(401, NOT_SIGNED_IN);
    this.#viewers.set(request, viewer);
    return undefined;
  }

  /** Throws for a request that was not let through to data. */
  #viewerOf(request: FastifyRequest): Viewer {
    const viewer = this.#viewers.get(request);
    if (viewer === undefined) throw new Error(NOT_SIGNED_IN);
    return viewer;
  }

  #sendDocument(reply: FastifyReply, status: number): FastifyReply {
    return reply.code(status).type(this.#document.type).header('cache-control', 'no-cache').send(this.#document.text);
  }

  #addRoutes(): void {
    this.#app.post(SESSION_PATH, async (request, reply) => {
      const { access } = this.#options;
      const token = await access.redeem(typeof request.body === 'string' ? request.body.trim() : '');
      if (token !== undefined) return reply.header('cache-control', 'no-store').send({ token });
      return reply.code(401).send({ message: WRONG[access.signIn] });
    });
    this.#app.get('/assets/*', (request, reply) => {
      const file = this.#files.get(pathOf(request).slice('/assets/'.length));
      return file === undefined ? nothing(reply) : reply.type(file.type).header('cache-control', 'no-cache')
        .send(file.text);
    });
    this.#app.get('/api/screens/*', (request, reply) => this.#stream(request, reply));
    this.#app.get('/api/logs/:namespace/:name/:container', async (request, reply) => {
      const { namespace = '', name = '', container = '' } = request.params as Readonly<Record<string, string>>;
      const route = parseRoute(`/pods/${namespace}/${name}`);
      if (route?.screen !== 'pod') return nothing(reply);
      const text = await this.#viewerOf(request).screens.log(route, container);
      return reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store').send(text);
    });
    this.#app.post('/api/actions/*', { bodyLimit: LARGEST_ACTION }, async (request, reply) => {
      const kind = actionKindOf(pathOf(request));
      if (kind === undefined || typeof request.body !== 'string') return nothing(reply);
      const action = readAction(kind, request.body);
      if (action === undefined) return reply.code(400).send({ message: `This is not what ${kind} is done with.` });
      const viewer = this.#viewerOf(request);
      const acting = this.#acting.get(viewer) ?? 0;
      if (acting < MOST_ACTIONS) return this.#act(viewer, action, reply);
      const message = `${MOST_ACTIONS} of your actions are in progress. Wait until one has ended.`;
      return reply.code(429).send({ message });
    });
    this.#app.get(
      '/*', (request, reply) => this.#sendDocument(reply, parseRoute(pathOf(request)) === undefined ? 404 : 200),
    );
  }

  async #act(viewer: Viewer, action: Action, reply: FastifyReply): Promise<FastifyReply> {
    this.#acting.set(viewer, (this.#acting.get(viewer) ?? 0) + 1);
    const release = viewer.onEnd(() => undefined); // who acts is not idle, without an open screen too
    try {
      const message = await viewer.screens.act(action);
      return await reply.header('cache-control', 'no-store').send({ message });
    } finally {
      release();
      const left = (this.#acting.get(viewer) ?? 1) - 1;
      if (left > 0) this.#acting.set(viewer, left);
      else this.#acting.delete(viewer);
    }
  }

  #stream(request: FastifyRequest, reply: FastifyReply): unknown {
    const route = parseRoute(pathOf(request).slice('/api/screens'.length), queryOf(request));
    if (route === undefined) return nothing(reply);
    const viewer = this.#viewerOf(request);
    const streams = this.#streams.get(viewer) ?? new Set();
    if (streams.size >= MOST_STREAMS) {
      return reply.code(429).send({ message: `${MOST_STREAMS} screens are open. Close some tabs.` });
    }
    const { raw } = reply;
    const forget = viewer.onEnd(() => raw.destroy());
    reply.hijack();
    if (raw.destroyed) { // signed out, or gone, meanwhile
      forget();
      return reply;
    }
    this.#streams.set(viewer, streams.add(raw));
    raw.once('close', () => {
      forget();
      streams.delete(raw);
      if (streams.size === 0) this.#streams.delete(viewer);
    });
    const lastId = request.headers['last-event-id'];
    const stream = new EventStream(
      raw, viewer.screens.open(route), typeof lastId === 'string' ? lastId : '', this.#options.times ?? STREAM_TIMES,
    );
    stream.open(SECURITY_HEADERS);
    return reply;
  }
}

const WRONG = {
  key: 'This key is wrong or was already used. Run "isthmus ui" again.',
  token: 'The API server does not accept this token. It may have expired.',
};

function fastifyFor({ access: { signIn }, tlsListener }: PageServerOptions): FastifyInstance {
  const options = {
    logger: false, bodyLimit: LARGEST_SECRET[signIn], forceCloseConnections: true, ...OWN_DEADLINES,
  } as const;
  if (tlsListener === undefined) return fastify(options);
  try {
    const https = { ...tlsSettings(tlsListener.certificate), handshakeTimeout: HANDSHAKE_MS };
    return fastify({ ...options, https });
  } catch (error) {
    throw new AppError(
      'StartFailed', `The certificate of the page and its key cannot be used: ${reasonOf(error)}.`, { cause: error },
    );
  }
}

function nothing(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ message: 'Not found.' });
}

const STATUSES: Readonly<Partial<Record<string, number>>> = { BadInput: 400, NotFound: 404, Timeout: 504 };

/** A rejection by the API server is passed on; a missing answer is a server error, not the client's. */
function statusOf(error: unknown): number {
  if (error instanceof SignInRefused) return error.statusCode;
  if (error instanceof AppError) return STATUSES[error.code] ?? 502;
  const { statusCode } = error as { readonly statusCode?: unknown };
  const status = error instanceof ApiError ? error.status : Number(statusCode);
  return status >= 400 && status < 500 ? status : 502;
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? '/';
}

function queryOf({ url }: FastifyRequest): ReadonlyMap<string, string> {
  return new Map(new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : ''));
}

function guardedRequestOf(request: FastifyRequest): GuardedRequest {
  const { headers, method } = request;
  const one = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    method, path: pathOf(request), host: one('host'), origin: one('origin'), fetchSite: one('sec-fetch-site'),
    fetchDest: one('sec-fetch-dest'), authorization: one('authorization'),
  };
}

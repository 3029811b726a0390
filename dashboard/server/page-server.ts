// The server of the page: on loopback only, for the one viewer who has the key. It keeps nothing and decides nothing;
// what it sends comes from the screens that it is given.
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { keepDeadlines, type ConnectionDeadlines } from '../../process/servers/connection-deadlines.ts';
import { AppError, reasonOf } from '../../process/errors.ts';
import { parseRoute } from '../wire/routes.ts';
import type { ScreenSource } from '../wire/screen-source.ts';
import { EventStream, STREAM_TIMES, type StreamTimes } from './event-stream.ts';
import { DOCUMENT, readPageFiles, type PageFile } from './page-files.ts';
import { judge, SECURITY_HEADERS, SESSION_PATH, type AskedRequest } from './request-guard.ts';
import type { Session } from './session.ts';

/** What the server is started with. */
export interface PageServerOptions {
  /** 0 for any free port. */
  readonly port: number;
  readonly session: Session;
  readonly screens: ScreenSource;
  readonly times?: StreamTimes;
}

/** A running server. */
export interface PageServer {
  readonly port: number;
  /** Ends all streams and connections. */
  close(): Promise<void>;
}

/** A browser opens six connections to a host; a few tabs of one viewer need no more than this. */
const MOST_CONNECTIONS = 128;
const MOST_STREAMS = 32;
const LARGEST_KEY = 256;
/** Times in ms; a stream has been received whole and is not meant. */
const DEADLINES: ConnectionDeadlines = {
  headers: 5_000, request: 5_000, unused: 30_000, unusedInCrowd: 2_000, unusedAtEnd: 100, crowd: 64, checkEvery: 1_000,
};
/** Node.js' own deadlines in ms, for what those do not cover. */
const OWN_DEADLINES = { requestTimeout: 60_000, keepAliveTimeout: 60_000 };

/** Starts the server. Throws AppError `StartFailed` when the port is taken. */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const server = new LoopbackServer(options, await readPageFiles());
  await server.listen();
  return server;
}

class LoopbackServer implements PageServer {
  readonly #options: PageServerOptions;
  readonly #files: ReadonlyMap<string, PageFile>;
  readonly #app: FastifyInstance;
  readonly #streams = new Set<FastifyReply['raw']>();

  constructor(options: PageServerOptions, files: ReadonlyMap<string, PageFile>) {
    this.#options = options;
    this.#files = files;
    this.#app = fastify({ logger: false, bodyLimit: LARGEST_KEY, forceCloseConnections: true, ...OWN_DEADLINES });
    this.#app.server.maxConnections = MOST_CONNECTIONS;
    keepDeadlines(this.#app.server, 'connection', DEADLINES);
    this.#app.removeAllContentTypeParsers();
    this.#app.addContentTypeParser(/^/, { parseAs: 'string' }, (_request, body, done) => done(null, body));
    this.#app.addHook('onRequest', (request, reply, done) => {
      reply.headers(SECURITY_HEADERS);
      if (this.#isAccepted(request, reply)) done();
    });
    this.#app.setErrorHandler(
      (error, _request, reply) => reply.code(statusOf(error)).send({ message: reasonOf(error) }),
    );
    this.#app.setNotFoundHandler((request, reply) => (
      pathOf(request).startsWith('/api/') ? nothing(reply) : reply.code(404).type(DOCUMENT.type).send(DOCUMENT.text)
    ));
    this.#addRoutes();
  }

  get port(): number {
    const address = this.#app.server.address();
    return typeof address === 'object' && address !== null ? address.port : this.#options.port;
  }

  async listen(): Promise<void> {
    const { port } = this.#options;
    await this.#app.listen({ host: '127.0.0.1', port }).catch((error: unknown) => {
      throw new AppError(
        'StartFailed', `The page cannot be served on port ${port}: ${reasonOf(error)}. Choose another --port.`,
        { cause: error },
      );
    });
  }

  async close(): Promise<void> {
    for (const stream of this.#streams) stream.destroy();
    await this.#app.close();
  }

  #isAccepted(request: FastifyRequest, reply: FastifyReply): boolean {
    const { session } = this.#options;
    const judgement = judge(askedOf(request), { port: this.port, admits: (token) => session.admits(token) });
    if (judgement.kind !== 'refused') return true;
    reply.code(judgement.status).header('connection', 'close').send({ message: judgement.message });
    return false;
  }

  #addRoutes(): void {
    this.#app.post(SESSION_PATH, (request, reply) => {
      const token = this.#options.session.redeem(typeof request.body === 'string' ? request.body.trim() : '');
      if (token !== undefined) return reply.header('cache-control', 'no-store').send({ token });
      return reply.code(401).send({ message: 'This key is wrong or was already used. Run "isthmus ui" again.' });
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
      const text = await this.#options.screens.log(route, container);
      return reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store').send(text);
    });
    this.#app.get('/*', (request, reply) => {
      const isKnown = parseRoute(pathOf(request)) !== undefined;
      return reply.code(isKnown ? 200 : 404).type(DOCUMENT.type).header('cache-control', 'no-cache')
        .send(DOCUMENT.text);
    });
  }

  #stream(request: FastifyRequest, reply: FastifyReply): unknown {
    const route = parseRoute(pathOf(request).slice('/api/screens'.length), queryOf(request));
    if (route === undefined) return nothing(reply);
    if (this.#streams.size >= MOST_STREAMS) {
      return reply.code(429).send({ message: `${MOST_STREAMS} screens are open. Close some tabs.` });
    }
    const { raw } = reply;
    this.#streams.add(raw);
    raw.once('close', () => this.#streams.delete(raw));
    reply.hijack();
    const lastId = request.headers['last-event-id'];
    const stream = new EventStream(
      raw, this.#options.screens.open(route), typeof lastId === 'string' ? lastId : '',
      this.#options.times ?? STREAM_TIMES,
    );
    stream.open(SECURITY_HEADERS);
    return reply;
  }
}

function nothing(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ message: 'Not found.' });
}

function statusOf(error: unknown): number {
  const { statusCode } = error as { readonly statusCode?: unknown };
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : 502;
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? '/';
}

function queryOf({ url }: FastifyRequest): ReadonlyMap<string, string> {
  return new Map(new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : ''));
}

function askedOf(request: FastifyRequest): AskedRequest {
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

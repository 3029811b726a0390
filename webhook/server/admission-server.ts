// The HTTPS server of admission around the pure decisions. It accepts what it can answer in time, rejects the rest, and
// shuts down without cutting off a review. It has no side effects, so a dry run is like any other request.
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { NAMESPACE_PATH } from '../../api/admission-rules.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { keepDeadlines, type DeadlineKeeper } from '../../process/servers/connection-deadlines.ts';
import type { HandshakeLimits } from '../../process/servers/handshake-limiter.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import { Handshakes } from '../../process/servers/handshakes.ts';
import type { Admission } from '../review/admission-answer.ts';
import type { AdmissionMetrics } from './admission-metrics.ts';
import {
  answerFailure, answerReview, parseReview, printReview, type AdmissionRequest, type ReviewResponse,
} from '../review/admission-review.ts';
import type { ElectionOf } from './election-cache.ts';
import { guardConnections, type PublicAnswer } from './connection-guard.ts';
import { RequestBudget, type RequestLimits } from './request-budget.ts';
import { PLAIN, PUBLIC_PATHS, routeOf, type OpenSegments } from '../registration/review-path.ts';
import { expiryOf, problemOf, type CertificatePair } from '../certificates/serving-certificate.ts';
import { decideInNamespace, REVIEW_ROUTES, type ReviewRoute } from './review-routes.ts';
import { DEADLINES, HANDSHAKE_LIMITS, OWN_DEADLINES, tlsSettings } from './tls-server.ts';
import { hostPort } from '../../model/network/socket-address.ts';
import { listenHost } from '../../process/listen-host.ts';

/** Largest review in bytes: the API server sends an object and its old version, up to about 3 MiB each. */
const BODY_LIMIT = 8 * 1024 * 1024;
/** API servers allow 200 mutating requests in flight by default. */
const LIMITS: RequestLimits = { requests: 512, bytes: 128 * 1024 * 1024 };
/**
 * How long {@link AdmissionServer.close} waits for connections to end, in ms: longer than a request may take, shorter
 * than the pod's grace period.
 */
const CLOSE_TIMEOUT_MS = 7_000;

/** Listen address and options. */
export interface AdmissionServerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate: CertificatePair;
  /** Whether proxy pods get a copy of their source manifest, for tools that read it. */
  readonly writesManifest?: boolean;
  readonly metrics: AdmissionMetrics;
  /** Looks up how a namespace elects its pods; without it, none does. */
  readonly elections?: ElectionOf | undefined;
  readonly logger: Logger;
  /** How long a closing server keeps serving while it reports not ready, in ms; 0 when omitted. */
  readonly drainMs?: number;
  readonly limits?: RequestLimits;
  /** Segments under which reviews are accepted; plain paths when missing. */
  readonly openSegments?: () => OpenSegments;
  readonly handshakeLimits?: HandshakeLimits;
  /** PEM of the CA for client certificates; without it clients need none. */
  readonly clientAuthority?: string;
}

/** Starts the server. Every review gets a response with the request's uid, even on an error. */
export async function startAdmissionServer(options: AdmissionServerOptions): Promise<AdmissionServer> {
  const admission = new AdmissionServer(options);
  await admission.listen();
  return admission;
}

/** A running server. */
export class AdmissionServer {
  readonly #options: AdmissionServerOptions;
  readonly #app: FastifyInstance<HttpsServer>;
  readonly #budget: RequestBudget;
  readonly #connections = new Set<Socket>();
  readonly #deadlines: DeadlineKeeper;
  readonly #handshakes: Handshakes;
  /** Connections that use a replaced certificate. */
  #outdated = new WeakSet<Socket>();
  #closing: Promise<void> | undefined;

  constructor(options: AdmissionServerOptions) {
    this.#options = options;
    this.#budget = new RequestBudget(options.limits ?? LIMITS);
    this.#app = fastify({
      https: { ...tlsSettings(options.certificate, options.clientAuthority), ...OWN_DEADLINES },
      return503OnClosing: false,
      bodyLimit: BODY_LIMIT,
      requestTimeout: OWN_DEADLINES.requestTimeout,
      keepAliveTimeout: OWN_DEADLINES.keepAliveTimeout,
      logger: false,
      rewriteUrl: ({ url = '' }) => routeOf(url, options.openSegments?.() ?? [PLAIN]),
    });
    guardConnections(this.#app.server, {
      limits: options.handshakeLimits ?? HANDSHAKE_LIMITS, open: () => options.openSegments?.() ?? [PLAIN],
      answer: (path) => this.#publicAnswer(path), knowsClients: options.clientAuthority !== undefined,
      metrics: options.metrics,
    });
    this.#deadlines = keepDeadlines(this.#app.server, 'secureConnection', DEADLINES);
    this.#handshakes = new Handshakes(this.#app.server);
    this.#app.removeAllContentTypeParsers();
    // Whatever the content type says, the body must be a review. Invalid UTF-8 is not JSON.
    this.#app.addContentTypeParser(
      /^/, { parseAs: 'buffer' }, (_request, body: Buffer, done) => done(null, isUtf8(body) ? body.toString() : ''),
    );
    this.#app.server.on('secureConnection', (socket: Socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    this.#app.addHook('onRequest', (request, reply, done) => {
      if (this.#take(request, reply)) done();
    });
    // A connection whose request was in flight when the server began to close would otherwise stay open.
    this.#app.addHook('onSend', (_request, reply, _payload, done) => {
      if (this.#closing !== undefined) reply.header('connection', 'close');
      done();
    });
    for (const [path, route] of Object.entries(REVIEW_ROUTES)) {
      this.#app.post(path, (request, reply) => this.#review(request, reply, route));
    }
    this.#app.post(NAMESPACE_PATH, (request, reply) => this.#reviewOfNamespace(request, reply));
    for (const path of PUBLIC_PATHS) {
      this.#app.get(path, async (_request, reply) => {
        const { status, type, text } = await this.#publicAnswer(path);
        return reply.code(status).type(type).send(text);
      });
    }
  }

  get port(): number {
    const address = this.#app.server.address();
    return typeof address === 'object' && address !== null ? address.port : this.#options.port;
  }

  async listen(): Promise<void> {
    const { host, port, logger, metrics, certificate } = this.#options;
    await this.#app.listen({ host: listenHost(host), port }).catch((error: unknown) => {
      throw new AppError(
        'StartFailed',
        `the webhook cannot listen on ${hostPort(host, port)}: ${messageOf(error)}; choose another --webhook-port`,
        { cause: error },
      );
    });
    metrics.certificate('used', expiryOf(certificate));
    logger.info({ port: this.port }, 'admission webhook listens');
  }

  /**
   * New connections use this certificate, open ones close with their next response. Returns false for an invalid pair
   * and keeps the previous one.
   */
  useCertificate(pair: CertificatePair): boolean {
    const { logger, metrics } = this.#options;
    const problem = problemOf(pair);
    if (problem !== undefined) {
      metrics.certificate('refused');
      logger.warn({ problem }, 'new serving certificate refused, keeping the old one');
      return false;
    }
    const { server } = this.#app;
    server.setSecureContext(tlsSettings(pair, this.#options.clientAuthority));
    server.setTicketKeys(randomBytes(48)); // sessions of the previous certificate are not resumed
    this.#outdated = new WeakSet(this.#connections);
    metrics.certificate('used', expiryOf(pair));
    logger.info({ notAfter: new Date(expiryOf(pair)).toISOString() }, 'serving certificate in use');
    return true;
  }

  /** Finishes requests in flight, then closes; later calls wait for the first. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { drainMs = 0 } = this.#options;
    // readiness fails meanwhile, so that no new clients come
    if (drainMs > 0) await delay(drainMs, new AbortController().signal);
    const patience = setTimeout(() => this.#app.server.closeAllConnections(), CLOSE_TIMEOUT_MS);
    const handshakes = setTimeout(() => this.#handshakes.end(), DEADLINES.unusedAtEnd);
    this.#deadlines.end();
    await this.#app.close();
    clearTimeout(handshakes);
    clearTimeout(patience);
  }

  /** Whether the request is accepted; if not, it has been answered. */
  #take(request: FastifyRequest, reply: FastifyReply): boolean {
    if (request.is404) {
      // Decided by the headers alone; the connection closes and the body is not read.
      this.#options.metrics.requestRejected('no-path');
      reply.code(404).header('connection', 'close').send({ message: 'there is nothing here' });
      return false;
    }
    if (request.method !== 'POST') return true;
    const release = this.#budget.take(Number(request.headers['content-length'] ?? BODY_LIMIT));
    if (release !== undefined) {
      releaseAtTheEnd(request, reply, release);
      return true;
    }
    this.#options.metrics.requestRejected('overload');
    // The body is not worth reading: close the connection.
    reply.code(503).header('retry-after', '1').header('connection', 'close').send({ message: 'the webhook is busy' });
    return false;
  }

  #review(request: FastifyRequest, reply: FastifyReply, { decide, parts }: ReviewRoute): unknown {
    const { metrics, writesManifest } = this.#options;
    const startedAt = performance.now();
    const parsed = parseReview(typeof request.body === 'string' ? request.body : '', parts);
    if (parsed.kind === 'invalid') {
      metrics.requestRejected('no-review');
      return reply.code(400).send({ message: parsed.message });
    }
    const answer = parsed.kind === 'answered'
      ? answerReview(parsed.apiVersion, parsed.uid, parsed.admission)
      : this.#answer(parsed.apiVersion, parsed.request, (asked) => decide(asked, { writesManifest }));
    metrics.answered(answer.response, (performance.now() - startedAt) / 1_000);
    // Not before the response: an idle connection that is closed may have a request on its way.
    if (this.#outdated.has(request.raw.socket)) reply.header('connection', 'close');
    return reply.header('content-type', 'application/json; charset=utf-8').send(printReview(answer));
  }

  /** The only review that may need an API call first; if that fails, it is an error and is retried. */
  async #reviewOfNamespace(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const parsed = parseReview(typeof request.body === 'string' ? request.body : '');
    const namespace = parsed.kind === 'review' ? (parsed.request.namespace ?? '') : '';
    const election = namespace === '' ? undefined : await this.#options.elections?.(namespace);
    return this.#review(request, reply, { decide: decideInNamespace(election) });
  }

  #answer(
    apiVersion: string, request: AdmissionRequest, decide: (request: AdmissionRequest) => Admission,
  ): ReviewResponse {
    try {
      return answerReview(apiVersion, request.uid, decide(request));
    } catch (error) {
      this.#options.logger.error({ uid: request.uid, error: messageOf(error) }, 'review failed');
      return answerFailure(apiVersion, request.uid);
    }
  }

  async #publicAnswer(path: string): Promise<PublicAnswer> {
    const { registry } = this.#options.metrics;
    if (path === '/metrics') return { status: 200, type: registry.contentType, text: await registry.metrics() };
    const isReady = this.#closing === undefined;
    return { status: isReady ? 200 : 503, type: 'text/plain', text: isReady ? 'ok' : 'not ready' };
  }
}

/** Calls back when the response has ended. A pipelined response that is still queued ends with its connection. */
function releaseAtTheEnd(
  { raw: { socket } }: FastifyRequest, { raw: answer }: FastifyReply, release: () => void,
): void {
  const end = (): void => {
    socket.off('close', end);
    answer.off('close', end);
    release();
  };
  socket.once('close', end);
  answer.once('close', end);
}

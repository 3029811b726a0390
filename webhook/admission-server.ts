// Shell of admission: HTTPS in, the pure answer out. It takes on what it can answer in time, turns the rest away, and ends without
// cutting a review off. It has no side effects, so a dry run is the same as any other request.
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { REACHED_PATH } from '../api/admission-rules.ts';
import type { Pod } from '../api/core.ts';
import { delay } from '../kubernetes/backoff.ts';
import type { SigningKeys } from '../model/manifest-signature.ts';
import { podAttributes, traceOf } from '../model/trace.ts';
import { keepDeadlines, type ConnectionDeadlines, type DeadlineKeeper } from '../process/connection-deadlines.ts';
import { AppError, messageOf } from '../process/errors.ts';
import { Handshakes } from '../process/handshakes.ts';
import { isTracing, newSpanId, newTraceId, recordSpan } from '../process/tracing.ts';
import type { Admission } from './admission.ts';
import type { AdmissionMetrics } from './admission-metrics-server.ts';
import { answerFailure, answerReview, parseReview, printReview, type AdmissionRequest, type AnsweredReview } from './admission-review.ts';
import { admitPod } from './admit-pod.ts';
import { keepOffVirtualNodes } from './daemon-set.ts';
import type { ElectionOf } from './election-client.ts';
import { answerQuestion } from './missing-rules.ts';
import { admitPodOfNamespace } from './namespace-election.ts';
import { RequestBudget, type RequestLimits } from './request-budget.ts';
import { expiryOf, problemOf, type CertificatePair } from './serving-certificate.ts';
import { tlsSettings } from './tls-server.ts';
import { withTrace } from './trace-patch.ts';
import { validateShare } from './validate-share.ts';
import { validateTarget } from './validate-target.ts';

/** Path of pods that the webhook configuration names (Admiralty's). */
export const ADMISSION_PATH = '/mutate--v1-pod';
/** Path of pods in namespaces that elect all of theirs. */
export const NAMESPACE_PATH = '/mutate--v1-pod--namespace';
/** Path of DaemonSets. */
export const DAEMON_SETS_PATH = '/mutate--daemonsets';
/** Path of (Cluster)Targets. */
export const TARGETS_PATH = '/validate--targets';
/** Path of ResourceShares. */
export const SHARES_PATH = '/validate--resourceshares';

/** Largest review in bytes: the API server sends an object and its old version, each up to about 3 MiB. */
const BODY_LIMIT = 8 * 1024 * 1024;
/** The API server waits 5 s for an answer. Its client (k8s.io/apimachinery, SetTransportDefaults) keeps connections for 90 s, used or not. */
const DEADLINES: ConnectionDeadlines = { headers: 3_000, request: 5_000, unused: 110_000, unusedInCrowd: 3_000, unusedAtEnd: 1_000, crowd: 1_000, checkEvery: 1_000 };
/** Node.js' own, in ms: longer than any of {@link DEADLINES}, for what those do not see. */
const OWN_DEADLINES = { handshakeTimeout: 5_000, headersTimeout: 120_000, requestTimeout: 120_000, keepAliveTimeout: 120_000 };
/** API servers have 200 mutating requests under way by default. */
const LIMITS: RequestLimits = { requests: 512, bytes: 128 * 1024 * 1024 };
/** How long {@link AdmissionServer.close} waits for connections to end, in ms: longer than a request may take, shorter than who stops a process waits. */
const CLOSE_PATIENCE_MS = 7_000;

/** Where to listen and with what. */
export interface AdmissionServerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate: CertificatePair;
  /** The keys for source manifests as they are now; without them no review is taken. */
  readonly keys: () => SigningKeys | undefined;
  readonly metrics: AdmissionMetrics;
  /** How a namespace elects its pods; where it is missing, none does. */
  readonly elections?: ElectionOf | undefined;
  readonly logger: Logger;
  /** How long a closing server goes on as before while it calls itself not ready, in ms; 0 when left out. */
  readonly drainMs?: number;
  readonly limits?: RequestLimits;
  /** PEM of the authority whose certificates clients must have; without it anybody may ask. */
  readonly clientAuthority?: string;
}

/** A listening server; `port` is the real one when 0 was asked for. */
export interface AdmissionServer {
  readonly port: number;
  /** New connections get this certificate, open ones end with their next answer. A pair that does not fit is refused, and the old one stays: false. */
  useCertificate(pair: CertificatePair): boolean;
  /** Answers what has begun, then ends; later calls wait for the first. */
  close(): Promise<void>;
}

/** A request with the JSON of its object as it came. */
type Asked = { readonly request: AdmissionRequest; readonly objectText?: string | undefined };
type Decide = (asked: Asked, keys: SigningKeys) => Admission;

/** Tells of an election and has its pod remember the trace, where somebody wants to know. A dry run leaves no trace. */
function traced({ object, namespace = '', dryRun = false }: AdmissionRequest, admission: Admission, startedAt: number): Admission {
  if (!isTracing() || dryRun || admission.kind !== 'mutate') return admission;
  const { metadata: { name, generateName = '', annotations } } = object;
  if (traceOf(annotations) !== undefined) return admission; // asked about again, after other webhooks
  const trace = { traceId: newTraceId(), rootId: newSpanId(), startedAt };
  recordSpan({ name: 'admit', traceId: trace.traceId, spanId: newSpanId(), parentId: trace.rootId, startMs: startedAt, endMs: Date.now(), attributes: podAttributes({ namespace, name: name ?? generateName }) });
  return withTrace(admission, annotations, trace);
}

const DECISIONS: Readonly<Record<string, Decide>> = {
  [ADMISSION_PATH]: ({ request, objectText }, keys) => {
    if (request.operation !== 'CREATE') return { kind: 'pass' };
    const startedAt = Date.now();
    const admission = admitPod(request.object as Pod, { namespace: request.namespace ?? '', user: request.userInfo?.username ?? '', keys, text: objectText });
    return traced(request, admission, startedAt);
  },
  [DAEMON_SETS_PATH]: ({ request }) => keepOffVirtualNodes(request.object),
  [TARGETS_PATH]: ({ request }) => validateTarget(request.object),
  [SHARES_PATH]: ({ request }) => validateShare(request.object),
};

/** Starts the server. It answers every review with the request's uid, also when the answer is an error. */
export async function startAdmissionServer(options: AdmissionServerOptions): Promise<AdmissionServer> {
  const admission = new Admissions(options);
  await admission.listen();
  return admission;
}

class Admissions implements AdmissionServer {
  readonly #options: AdmissionServerOptions;
  readonly #app: FastifyInstance<HttpsServer>;
  readonly #budget: RequestBudget;
  readonly #connections = new Set<Socket>();
  readonly #deadlines: DeadlineKeeper;
  readonly #handshakes: Handshakes;
  /** Connections that began with a certificate that is not in use any more. */
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
    });
    this.#deadlines = keepDeadlines(this.#app.server, 'secureConnection', DEADLINES);
    this.#handshakes = new Handshakes(this.#app.server);
    this.#app.removeAllContentTypeParsers();
    // The text is kept: of the pod in it the manifest is made. Whatever a client says that it is, it must be a review.
    // What is no UTF-8 is no JSON: decoded all the same, it would be signed as something that was never sent.
    this.#app.addContentTypeParser(/^/, { parseAs: 'buffer' }, (_request, body: Buffer, done) => done(null, isUtf8(body) ? body.toString() : ''));
    this.#app.server.on('secureConnection', (socket: Socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    this.#app.addHook('onRequest', (request, reply, done) => {
      if (this.#take(request, reply)) done();
    });
    // Of a request that was under way when the server began to close, the connection would else stay.
    this.#app.addHook('onSend', (_request, reply, _payload, done) => {
      if (this.#closing !== undefined) reply.header('connection', 'close');
      done();
    });
    for (const [path, decide] of Object.entries(DECISIONS)) {
      this.#app.post(path, (request, reply) => this.#review(request, reply, decide));
    }
    this.#app.post(REACHED_PATH, (request, reply) => this.#review(request, reply, ({ request: asked }) => answerQuestion(asked.object), ['metadata']));
    this.#app.post(NAMESPACE_PATH, (request, reply) => this.#reviewOfNamespace(request, reply));
    this.#app.get('/readyz', (_request, reply) => this.#readiness(reply));
    this.#app.get('/metrics', (_request, reply) => this.#printMetrics(reply));
  }

  get port(): number {
    const address = this.#app.server.address();
    return typeof address === 'object' && address !== null ? address.port : this.#options.port;
  }

  async listen(): Promise<void> {
    const { host, port, logger, metrics, certificate } = this.#options;
    await this.#app.listen({ host, port }).catch((error: unknown) => {
      throw new AppError('StartFailed', `the webhook cannot listen on ${host}:${port}: ${messageOf(error)}; choose another --webhook-port`, { cause: error });
    });
    metrics.certificate('used', expiryOf(certificate));
    logger.info({ port: this.port }, 'admission webhook listens');
  }

  useCertificate(pair: CertificatePair): boolean {
    const { logger, metrics } = this.#options;
    const problem = problemOf(pair);
    if (problem !== undefined) {
      metrics.certificate('refused');
      logger.warn({ problem }, 'new serving certificate refused, the old one stays');
      return false;
    }
    const { server } = this.#app;
    server.setSecureContext(tlsSettings(pair, this.#options.clientAuthority));
    server.setTicketKeys(randomBytes(48)); // sessions of the old certificate are not resumed
    this.#outdated = new WeakSet(this.#connections);
    metrics.certificate('used', expiryOf(pair));
    logger.info({ notAfter: new Date(expiryOf(pair)).toISOString() }, 'serving certificate in use');
    return true;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { drainMs = 0 } = this.#options;
    if (drainMs > 0) await delay(drainMs, new AbortController().signal); // readiness says no meanwhile, so that nobody new comes
    const patience = setTimeout(() => this.#app.server.closeAllConnections(), CLOSE_PATIENCE_MS);
    const handshakes = setTimeout(() => this.#handshakes.end(), DEADLINES.unusedAtEnd);
    this.#deadlines.end();
    await this.#app.close();
    clearTimeout(handshakes);
    clearTimeout(patience);
  }

  /** Whether the request is taken on; if not, it has been answered. */
  #take(request: FastifyRequest, reply: FastifyReply): boolean {
    if (request.method !== 'POST') return true;
    const release = this.#budget.take(Number(request.headers['content-length'] ?? BODY_LIMIT));
    if (release !== undefined) {
      releaseAtTheEnd(request, reply, release);
      return true;
    }
    this.#options.metrics.turnedAway('overload');
    // The body is not worth reading: with the connection it goes.
    reply.code(503).header('retry-after', '1').header('connection', 'close').send({ message: 'the webhook is busy' });
    return false;
  }

  #review(request: FastifyRequest, reply: FastifyReply, decide: Decide, parts?: readonly string[]): unknown {
    const { metrics, keys } = this.#options;
    const startedAt = performance.now();
    const known = keys();
    const parsed = parseReview(typeof request.body === 'string' ? request.body : '', parts);
    if (known === undefined || parsed.kind === 'invalid') {
      metrics.turnedAway(known === undefined ? 'not-ready' : 'no-review');
      return reply.code(known === undefined ? 503 : 400).send({ message: parsed.kind === 'invalid' ? parsed.message : 'the webhook has no keys yet' });
    }
    const answer = parsed.kind === 'settled'
      ? answerReview(parsed.apiVersion, parsed.uid, parsed.admission)
      : this.#answer(parsed.apiVersion, parsed, (asked) => decide(asked, known));
    metrics.answered(answer.response, (performance.now() - startedAt) / 1_000);
    // With its answer, and not before: a connection that is closed while it is idle may have a request on its way.
    if (this.#outdated.has(request.raw.socket)) reply.header('connection', 'close');
    return reply.header('content-type', 'application/json; charset=utf-8').send(printReview(answer));
  }

  /** The only review that may have to ask the API server first; one that cannot be answered for that reason is an error, and tried again. */
  async #reviewOfNamespace(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const parsed = parseReview(typeof request.body === 'string' ? request.body : '');
    const namespace = parsed.kind === 'review' ? (parsed.request.namespace ?? '') : '';
    const election = namespace === '' ? undefined : await this.#options.elections?.(namespace);
    return this.#review(request, reply, ({ request: asked }, keys) => {
      if (asked.operation !== 'CREATE' || election === undefined) return { kind: 'pass' };
      const startedAt = Date.now();
      return traced(asked, admitPodOfNamespace(asked.object as Pod, election, { namespace, user: asked.userInfo?.username ?? '', keys }), startedAt);
    });
  }

  #answer(apiVersion: string, asked: Asked, decide: (asked: Asked) => Admission): AnsweredReview {
    const { request } = asked;
    try {
      return answerReview(apiVersion, request.uid, decide(asked));
    } catch (error) {
      this.#options.logger.error({ uid: request.uid, error: messageOf(error) }, 'review failed');
      return answerFailure(apiVersion, request.uid);
    }
  }

  #readiness(reply: FastifyReply): FastifyReply {
    const isReady = this.#closing === undefined && this.#options.keys() !== undefined;
    return reply.code(isReady ? 200 : 503).type('text/plain').send(isReady ? 'ok' : 'not ready');
  }

  async #printMetrics(reply: FastifyReply): Promise<void> {
    const { registry } = this.#options.metrics;
    await reply.type(registry.contentType).send(await registry.metrics());
  }
}

/** Calls back when the answer has ended. Where it waits behind another one it has no end of its own, but that of the connection. */
function releaseAtTheEnd({ raw: { socket } }: FastifyRequest, { raw: answer }: FastifyReply, release: () => void): void {
  const end = (): void => {
    socket.off('close', end);
    answer.off('close', end);
    release();
  };
  socket.once('close', end);
  answer.once('close', end);
}

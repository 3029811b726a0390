// HTTP to one API server: a pool for calls and a session for watches, so that long streams never use up the slots of
// short calls. Every call has a deadline, redirects are never followed, and credentials may change while calls and
// watches continue.
import { isAggregated, isGatewayError, readErrorBody, toApiError, type Answer } from './api-answer.ts';
import { ApiError, UnreachableError } from '../flow/api-error.ts';
import { CacheBudget } from '../flow/cache-budget.ts';
import { observeCall } from './call-metrics.ts';
import { toRequest, type RequestBase } from './call-request.ts';
import { CallQueue } from './call-queue.ts';
import { ClusterAccess, CredentialsChangedError, TRANSPORT_TIMINGS, type TransportTimings } from './cluster-access.ts';
import { CANNOT_BE_REACHED, checkValues, LimitError, type ConnectionLimits } from '../connect/connection-limits.ts';
import { CredentialSource } from '../credentials/credential-source.ts';
import { NotLeaderError } from '../flow/fence.ts';
import { pauseBeforeRetry, slowsAllDown } from '../flow/retry-after.ts';
import { openStream, type OpenStream, type WatchStream } from './open-stream.ts';
import type { ClusterConnection } from '../credentials/kubeconfig.ts';
import { type Call, isBrokenConnection, sendCall, UnsentError } from './pending-call.ts';
import { ForbiddenRetry } from '../flow/forbidden-retry.ts';
import { RoundTrip } from '../connect/round-trip.ts';
import { ServerClock } from '../connect/server-clock.ts';
import { messageOf } from '../../process/errors.ts';
import { ServerActivity } from '../connect/silence.ts';

export type { Call } from './pending-call.ts';

/** Largest response in bytes: a page of objects of the largest usual size, and far below Node's longest string. */
const MAX_ANSWER_BYTES = 128 << 20;
/**
 * Part of the refresh interval at which credentials are checked: a check that comes just too early costs only this
 * part.
 */
const LOOKS_PER_AGE = 4;
/** Pause after a 429 without Retry-After, in ms. */
const DEFAULT_RETRY_AFTER_MS = 1_000;

/** Sends calls to one API server. */
export class Transport {
  /** Whether streaming lists (WatchList) are used; turned off once the server has rejected one. */
  offersStreamingLists = true;
  /** Called when {@link rttMs} has changed. */
  onRoundTrip: () => void = () => undefined;
  /** When the server last answered, and how a silent one counts as lost. */
  readonly activity = new ServerActivity();
  /** User agent. */
  readonly userAgent: string;
  /** How calls authenticate. */
  readonly credentials: CredentialSource;
  /** The server's clock. */
  readonly clock = new ServerClock();
  /** Counts what is cached from the server; missing for one without limits. */
  readonly budget: CacheBudget | undefined;
  /** When forbidden watches are retried. */
  readonly refused = new ForbiddenRetry();
  readonly #roundTrip = new RoundTrip();
  readonly #timings: TransportTimings;
  readonly #queue = new CallQueue();
  #connection: ClusterConnection;
  #access: ClusterAccess | undefined;
  #opening: Promise<ClusterAccess> | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  /** A call that was made before, and waits for the credentials as well, must find the session. */
  #opensSession = false;
  #closed = false;

  constructor(connection: ClusterConnection, userAgent: string, timings: Partial<TransportTimings> = {}) {
    this.#connection = connection;
    this.userAgent = userAgent;
    this.#timings = { ...TRANSPORT_TIMINGS, ...timings };
    this.credentials = new CredentialSource(connection, this.#timings.credentialsMaxAgeMs);
    this.budget = connection.limits && new CacheBudget(connection.limits);
  }

  /**
   * Sends a call and returns the parsed response. A GET whose connection broke before the response is retried once, any
   * call that does not bypass the rate limit after a 429 with a short Retry-After; nothing else is.
   * @throws ApiError for an error response, UnreachableError for none within the deadline (a write may have been done),
   * NotLeaderError when the fence does not hold (it was not done), the signal's reason when aborted.
   */
  async call<T>(call: Call, signal?: AbortSignal): Promise<T> {
    try {
      signal?.throwIfAborted();
      const answer = await this.#answer(call, signal);
      if (this.limits !== undefined) checkValues(answer.body, this.limits);
      if (answer.status >= 300) throw this.#toApiError(answer, call.path);
      return (call.read === undefined ? JSON.parse(answer.body.toString('utf8')) : call.read(answer.body)) as T;
    } catch (error) {
      throw this.#explain(error, call, signal);
    }
  }

  /**
   * Opens a stream (a watch) that lasts until `signal` is aborted, the server ends it or the credentials change.
   * @throws as {@link call}, for the opening.
   */
  async stream(call: Call, signal: AbortSignal): Promise<WatchStream> {
    try {
      signal.throwIfAborted();
      await this.#queue.rateLimiter.admit(this.#timings.callTimeoutMs, signal);
      let opened = await this.#openStream(call, signal);
      if (opened.status === 401 && (await this.credentials.renew())) {
        opened.body.destroy();
        opened = await this.#openStream(call, signal);
      }
      if (opened.status < 300) return opened;
      const bounds = { maxBytes: this.#maxAnswerBytes, timeoutMs: this.#timings.callTimeoutMs };
      throw this.#toApiError(
        { status: opened.status, retryAfter: opened.retryAfter, body: await readErrorBody(opened.body, bounds) },
      );
    } catch (error) {
      throw this.#explain(error, call, signal);
    }
  }

  /**
   * Switches to another connection to the same cluster. Calls in flight finish on the old one; watches end with {@link
   * CredentialsChangedError}.
   */
  use(connection: ClusterConnection): void {
    this.#connection = connection;
    this.credentials.use(connection);
    this.refused.release();
    void this.#look();
  }

  /** Limits of the server; missing for one that an administrator has named. */
  get limits(): ConnectionLimits | undefined {
    return this.#connection.limits;
  }

  /** Host and port of the server; undefined where a tenant named it, who must not see what answers there. */
  get server(): string | undefined {
    return this.limits === undefined ? this.#connection.server.host : undefined;
  }

  /** Smoothed round trip to the server in ms; undefined until measured, and where watches are not over HTTP/2. */
  get rttMs(): number | undefined {
    return this.#roundTrip.ms;
  }

  /** Closes all connections at once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#lookTimer);
    this.credentials.close();
    await this.#access?.destroy();
  }

  /** Waiting does not count towards the deadline: an unsent call never has an unknown outcome. */
  async #answer(call: Call, signal: AbortSignal = NEVER): Promise<Answer> {
    if (call.bypassesRateLimit === true) return this.#answerNow(call, signal);
    for (let retries = 0; ; retries += 1) {
      const answer = await this.#answerInTurn(call, signal);
      const pauseMs = isAggregated(call.path) ? undefined : pauseBeforeRetry(answer, retries);
      if (pauseMs === undefined) return answer;
      this.#queue.rateLimiter.throttled(pauseMs);
    }
  }

  async #answerInTurn(call: Call, signal: AbortSignal): Promise<Answer> {
    const turn = this.#queue.acquire(call, this.#timings.callTimeoutMs, signal);
    if (turn !== undefined) await turn;
    try {
      return await this.#answerNow(call, signal);
    } finally {
      this.#queue.release();
    }
  }

  async #answerNow(call: Call, signal: AbortSignal): Promise<Answer> {
    const deadline = performance.now() + (call.timeoutMs ?? this.#timings.callTimeoutMs);
    let answer: Answer;
    try {
      answer = await this.#sendOnce(call, deadline, signal);
    } catch (error) {
      if (call.method !== 'GET' || !isBrokenConnection(error) || this.#closed) throw error;
      answer = await this.#sendOnce(call, deadline, signal);
    }
    // An unauthenticated call was not processed: any call may be repeated.
    if (answer.status !== 401) return answer;
    if (await this.credentials.renew()) answer = await this.#sendOnce(call, deadline, signal);
    // Open watches would continue until the server ends them; reopened, they are rejected themselves.
    if (answer.status === 401 && !isAggregated(call.path) && this.credentials.distrust()) void this.#look();
    return answer;
  }

  async #sendOnce(call: Call, deadline: number, signal: AbortSignal): Promise<Answer> {
    const access = this.#currentAccess ?? await this.access().catch((error: unknown) => {
      throw new UnsentError(error);
    });
    signal.throwIfAborted();
    if (call.fence?.holds() === false) throw new NotLeaderError(call.fence);
    const { fence, connectTimeout } = call;
    const request = toRequest(this.#base(access), call);
    const sentAt = performance.now();
    const timeoutMs = Math.max(1, Math.round(deadline - sentAt));
    const bounds = { maxBytes: this.#maxAnswerBytes, timeoutMs, fence, connectTimeout };
    let answer: Answer | undefined;
    try {
      answer = await sendCall(access.path, request, bounds, signal);
    } finally {
      observeCall(call, answer?.status, performance.now() - sentAt);
    }
    this.clock.observe(answer.date, sentAt, performance.now());
    this.activity.noteAnswer();
    return answer;
  }

  async #openStream(call: Call, signal: AbortSignal): Promise<OpenStream> {
    const access = await this.access();
    return openStream({ access, request: toRequest(this.#base(access), call), timings: this.#timings }, signal);
  }

  /** Checks whether the server responds: by an HTTP/2 ping of the watch session, or else by the cheapest call. */
  async answersWithin(ms: number): Promise<boolean> {
    const session = await this.#access?.openedSession();
    if (session !== undefined) return session.answersWithin(ms);
    const version: Call = { method: 'GET', path: '/version', bypassesRateLimit: true, timeoutMs: ms };
    return this.call(version).then(() => true, (error: unknown) => error instanceof ApiError);
  }

  /** Connects now, so that calls before the first watch share its session. A failure is that of calls. */
  async openSession(): Promise<void> {
    this.#opensSession = true;
    await this.access().then((access) => access.open()).catch(() => undefined);
  }

  /** The access with current credentials. */
  async access(): Promise<ClusterAccess> {
    if (this.#currentAccess !== undefined) return this.#currentAccess;
    this.#opening ??= this.#renewAccess().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Undefined while there is none, and when its credentials are due for a check. */
  get #currentAccess(): ClusterAccess | undefined {
    return this.credentials.isDue ? undefined : this.#access;
  }

  async #renewAccess(): Promise<ClusterAccess> {
    const fresh = await this.credentials.read();
    const before = this.#access;
    if (before !== undefined && !fresh.changed) return before;
    if (this.#closed) throw new Error('the transport was closed');
    this.#connection = fresh.connection;
    this.#access = new ClusterAccess(fresh.connection, fresh.resolved, this.#timings, {
      roundTrip: (ms) => {
        this.activity.noteAnswer();
        if (this.#roundTrip.sample(ms)) this.onRoundTrip();
      },
      answered: () => this.activity.noteAnswer(), refused: () => this.activity.noteRefused(),
    });
    if (this.#opensSession) void this.#access.open();
    before?.retire();
    this.#lookTimer ??= this.credentials.canChange
      ? setInterval(() => void this.#look(), this.#timings.credentialsMaxAgeMs / LOOKS_PER_AGE).unref()
      : undefined;
    return this.#access;
  }

  /** Watches must move to new credentials even when no calls are made; the next call reports the error. */
  async #look(): Promise<void> {
    if (this.#access !== undefined && !this.#closed) await this.access().catch(() => undefined);
  }

  get #maxAnswerBytes(): number {
    return this.limits?.maxAnswerBytes ?? MAX_ANSWER_BYTES;
  }

  #base({ basePath, identity }: ClusterAccess): RequestBase {
    return { origin: this.#connection.server.origin, basePath, userAgent: this.userAgent, identity };
  }

  #toApiError(answer: Answer, path = ''): ApiError {
    const error = toApiError(answer, this.limits === undefined);
    if (isAggregated(path)) return error;
    if (isGatewayError(error)) this.activity.noteRefused();
    if (slowsAllDown(error, path)) this.#queue.rateLimiter.throttled(error.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS);
    return error;
  }

  #explain(error: unknown, call: Call, signal: AbortSignal | undefined): unknown {
    if (error instanceof ApiError || error instanceof NotLeaderError || error instanceof CredentialsChangedError) {
      return error;
    }
    if (signal?.aborted) return signal.reason;
    this.activity.fail(error);
    if (error instanceof LimitError) this.budget?.exceeded(error);
    const isUnsent = error instanceof UnsentError;
    const server = this.server;
    const what = server === undefined ? CANNOT_BE_REACHED : `${call.method} ${server}${call.path}: ${messageOf(error)}`;
    // a tenant's server does not say when it is called again
    const onceReachable =
      this.limits === undefined ? (back: () => void) => this.activity.onceReachable(back) : undefined;
    return new UnreachableError(what, { cause: isUnsent ? error.cause : error, isUnsent, server, onceReachable });
  }
}

const NEVER = new AbortController().signal;

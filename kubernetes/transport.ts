// HTTP to one API server: an undici pool for calls, another for watches, so that long streams never use up the places of short calls.
// Every call has a deadline. Redirects are never followed.
import { Pool, type Dispatcher } from 'undici';
import { ApiError, UnreachableError } from './api-error.ts';
import { resolveCredentials, type ClusterConnection } from './kubeconfig.ts';
import { messageOf } from '../process/errors.ts';

/** One HTTP call. `path` starts with `/api`, `query` values that are undefined are left out. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** Of the body; `application/json` when missing. Patches need theirs. */
  readonly contentType?: string;
}

/** Deadline of a call in ms. */
const CALL_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Calls in flight to one API server; more wait for a place. */
const CALLS_IN_FLIGHT = 32;
/** How long a token or certificate is used before it is read again, in ms. */
const CREDENTIALS_MAX_AGE_MS = 5_000;
const MAX_ERROR_CHARACTERS = 4_096;
/** A server may ask us to wait for this long at most, in ms. */
const MAX_RETRY_AFTER_MS = 300_000;

/** Sends calls to one API server. */
export class Transport {
  readonly #connection: ClusterConnection;
  readonly #userAgent: string;
  #pools: Promise<Pools> | undefined;
  #token: { readonly value: string | undefined; readonly readAt: number } | undefined;

  constructor(connection: ClusterConnection, userAgent: string) {
    this.#connection = connection;
    this.#userAgent = userAgent;
  }

  /**
   * Sends a call and gives the parsed answer.
   * @throws ApiError for an error answer, UnreachableError for none within 15 s, the signal's reason when aborted.
   */
  async call<T>(call: Call, signal?: AbortSignal): Promise<T> {
    const deadline = AbortSignal.timeout(CALL_TIMEOUT_MS);
    try {
      const pools = await this.#open();
      const response = await pools.calls.request(await this.#toRequest(call, signal ? AbortSignal.any([signal, deadline]) : deadline));
      const body = await response.body.text();
      if (response.statusCode >= 300) throw toApiError(response, body);
      return JSON.parse(body) as T;
    } catch (error) {
      throw this.#explain(error, call, signal);
    }
  }

  /**
   * Opens a stream (a watch) that lasts until `signal` is aborted or the server ends it.
   * @throws as {@link call}, for the opening.
   */
  async stream(call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData['body']> {
    try {
      const pools = await this.#open();
      const response = await pools.watches.request({ ...(await this.#toRequest(call, signal)), headersTimeout: CALL_TIMEOUT_MS, bodyTimeout: 0 });
      if (response.statusCode >= 300) throw toApiError(response, await response.body.text());
      return response.body;
    } catch (error) {
      throw this.#explain(error, call, signal);
    }
  }

  /** Ends all connections at once. */
  async close(): Promise<void> {
    const pools = await this.#pools?.catch(() => undefined);
    await Promise.all([pools?.calls.destroy(), pools?.watches.destroy()]);
  }

  #open(): Promise<Pools> {
    this.#pools ??= openPools(this.#connection).catch((error: unknown) => {
      this.#pools = undefined; // credentials that could not be had may be had the next time
      throw error;
    });
    return this.#pools;
  }

  async #toRequest(call: Call, signal: AbortSignal): Promise<Dispatcher.RequestOptions> {
    const token = await this.#currentToken();
    return {
      method: call.method,
      path: withQuery(this.#connection.server.pathname.replace(/\/$/, '') + call.path, call.query),
      headers: {
        accept: 'application/json',
        'user-agent': this.#userAgent,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(call.body !== undefined && { 'content-type': call.contentType ?? 'application/json' }),
      },
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
      signal,
    };
  }

  async #currentToken(): Promise<string | undefined> {
    const { credentials } = this.#connection;
    if (credentials.kind === 'none' || credentials.kind === 'certificate') return undefined;
    if (credentials.kind === 'token') return credentials.token;
    if (this.#token === undefined || performance.now() - this.#token.readAt > CREDENTIALS_MAX_AGE_MS) {
      this.#token = { value: (await resolveCredentials(credentials)).token, readAt: performance.now() };
    }
    return this.#token.value;
  }

  #explain(error: unknown, call: Call, signal: AbortSignal | undefined): unknown {
    if (error instanceof ApiError) return error;
    if (signal?.aborted) return signal.reason;
    return new UnreachableError(`${call.method} ${this.#connection.server.host}${call.path}: ${causeOf(error)}`, { cause: error });
  }
}

interface Pools {
  readonly calls: Pool;
  readonly watches: Pool;
}

async function openPools(connection: ClusterConnection): Promise<Pools> {
  const { certificate, key } = connection.credentials.kind === 'certificate' || connection.credentials.kind === 'plugin'
    ? await resolveCredentials(connection.credentials)
    : {};
  const options: Pool.Options = {
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      rejectUnauthorized: !connection.insecure,
      ...(connection.certificateAuthority !== undefined && { ca: connection.certificateAuthority }),
      ...(connection.serverName !== undefined && { servername: connection.serverName }),
      ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }),
    },
    keepAliveTimeout: 30_000,
    headersTimeout: CALL_TIMEOUT_MS,
    bodyTimeout: CALL_TIMEOUT_MS,
  };
  return {
    calls: new Pool(connection.server.origin, { ...options, connections: CALLS_IN_FLIGHT }),
    watches: new Pool(connection.server.origin, options),
  };
}

function withQuery(path: string, query: Call['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) parameters.set(name, value);
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}

function toApiError(response: Dispatcher.ResponseData, body: string): ApiError {
  const retryAfter = Number(response.headers['retry-after']);
  const retryAfterMs = Number.isFinite(retryAfter) && retryAfter > 0 ? Math.min(retryAfter * 1000, MAX_RETRY_AFTER_MS) : undefined;
  const { reason, message } = parseStatus(body);
  const text = typeof message === 'string' ? message : body;
  return new ApiError(response.statusCode, typeof reason === 'string' ? reason : '', text.slice(0, MAX_ERROR_CHARACTERS), retryAfterMs);
}

function parseStatus(body: string): { readonly reason?: unknown; readonly message?: unknown } {
  try {
    const status: unknown = JSON.parse(body);
    return typeof status === 'object' && status !== null ? status : {};
  } catch {
    return {};
  }
}

function causeOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${CALL_TIMEOUT_MS / 1000} s`;
  return messageOf(error);
}

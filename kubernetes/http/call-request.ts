// How a call looks on the wire: as a request of the pool, and as the headers of an HTTP/2 stream.
import type { Headers } from '../credentials/resolved-credentials.ts';
import { withQuery } from './api-answer.ts';
import type { Call, CallRequest } from './pending-call.ts';

/** What all requests under one set of credentials have in common. */
export interface RequestBase {
  /** Scheme, host and port of the server. */
  readonly origin: string;
  /** Base path of the API, without a trailing slash. */
  readonly basePath: string;
  readonly userAgent: string;
  /** Headers that say who calls, and whom it acts as. */
  readonly identity: Headers;
}

/** The request of a call. */
export function toRequest(base: RequestBase, call: Call): CallRequest {
  const hasBody = call.body !== undefined;
  return {
    origin: base.origin,
    method: call.method,
    reset: false, // otherwise a DELETE with a body costs its connection
    path: withQuery(base.basePath + call.path, call.query),
    headers: headersOf(base, call.accept, hasBody ? (call.contentType ?? 'application/json') : undefined),
    ...(hasBody && { body: JSON.stringify(call.body) }),
  };
}

/** The headers of the same request as an HTTP/2 stream. */
export function toStreamHeaders({ method, path, headers }: CallRequest): Headers {
  return { ':method': method, ':path': path, ...headers };
}

/** Headers of a request; `contentType` is that of its body, if it has one. */
function headersOf(
  { userAgent, identity }: RequestBase, accept = 'application/json', contentType?: string,
): Record<string, string | string[]> {
  return {
    accept,
    'user-agent': userAgent,
    ...identity,
    ...(contentType !== undefined && { 'content-type': contentType }),
  };
}

// Builds request URLs and parses error responses.
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ApiError, DeadlineError } from '../flow/api-error.ts';
import { toRetryAfterMs } from '../flow/retry-after.ts';
import { LimitError } from '../connect/connection-limits.ts';
import { parsedRecord } from '../../model/objects/json-values.ts';

/** A response, fully read. */
export interface Answer {
  readonly status: number;
  /** The Retry-After header, if there was one. */
  readonly retryAfter: string | undefined;
  /** The Date header, if there was one. */
  readonly date?: string | undefined;
  readonly body: Buffer;
}

const MAX_ERROR_CHARACTERS = 4_096;
/**
 * Status codes of a proxy or load balancer whose API server does not respond; one that is about to stop sends 503
 * itself.
 */
const GATEWAY_ANSWERS: readonly number[] = [502, 503, 504];

/** A path with query parameters; undefined ones are omitted. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>> | undefined): string {
  if (query === undefined) return path;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value);
  }
  const encoded = parameters.toString();
  return encoded === '' ? path : `${path}?${encoded}`;
}

/**
 * The error for a response with status 300 or above. The body may have any shape. A body that is not a `Status` is
 * quoted only when `tellsText` is set: if the server is not an API server, its content would be revealed to the user
 * who named it.
 */
export function toApiError({ status, retryAfter, body }: Answer, tellsText = true): ApiError {
  const retryAfterMs = toRetryAfterMs(retryAfter);
  const text = body.toString('utf8');
  const answered = parsedRecord(text);
  const { reason, message } = answered['kind'] === 'Status' ? answered : {};
  const words = typeof message === 'string'
    ? message
    : tellsText ? text : `it answers ${status} without the Status of an API server`;
  return new ApiError(
    status, typeof reason === 'string' ? reason : '', words.slice(0, MAX_ERROR_CHARACTERS), retryAfterMs,
  );
}

/**
 * Whether a server behind the API server answers calls of this path: its errors say nothing about our credentials, nor
 * about the API server.
 */
export function isAggregated(path: string): boolean {
  return path.startsWith('/apis/metrics.k8s.io/');
}

/** Whether it says that the API server is away, or about to stop. */
export function isGatewayError({ status }: ApiError): boolean {
  return GATEWAY_ANSWERS.includes(status);
}

/** Reads the body of a streamed error response, which may stall or never end. Throws what ended the stream. */
export async function readErrorBody(
  body: Readable, { maxBytes, timeoutMs }: { readonly maxBytes: number; readonly timeoutMs: number },
): Promise<Buffer> {
  const timer = setTimeout(() => body.destroy(new DeadlineError(timeoutMs)), timeoutMs);
  let bytes = 0;
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) body.destroy(new LimitError(`it sends an answer of more than ${maxBytes} bytes`));
  });
  return buffer(body).finally(() => clearTimeout(timer));
}

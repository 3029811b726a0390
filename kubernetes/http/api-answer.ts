// How calls are written into URLs and how error answers are read.
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ApiError, DeadlineError } from '../flow/api-error.ts';
import { LimitError } from '../connect/connection-limits.ts';

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  /** The Retry-After header, if there was one. */
  readonly retryAfter: string | undefined;
  /** The Date header, if there was one. */
  readonly date?: string | undefined;
  readonly body: Buffer;
}

const MAX_ERROR_CHARACTERS = 4_096;
/** A server may ask us to wait for this long at most, in ms. */
const MAX_RETRY_AFTER_MS = 300_000;

/** A path with query parameters; those that are undefined are left out. */
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
 * The error that an answer of 300 and above stands for. Nothing of what the server sent is trusted to have a shape. A text that is no `Status`
 * is told only where `tellsText`: of a server that may be no API server it would show whoever named the server what is to be read there.
 */
export function toApiError({ status, retryAfter, body }: Answer, tellsText = true): ApiError {
  const seconds = Number(retryAfter);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, MAX_RETRY_AFTER_MS) : undefined;
  const text = body.toString('utf8');
  const { reason, message } = parseStatus(text);
  const words = typeof message === 'string' ? message : tellsText ? text : `it answers ${status} without saying why as an API server does`;
  return new ApiError(status, typeof reason === 'string' ? reason : '', words.slice(0, MAX_ERROR_CHARACTERS), retryAfterMs);
}

function parseStatus(body: string): { readonly reason?: unknown; readonly message?: unknown } {
  try {
    const status = JSON.parse(body) as { readonly kind?: unknown } | null;
    return typeof status === 'object' && status?.kind === 'Status' ? (status as object) : {};
  } catch {
    return {};
  }
}

/** Reads the body of an error answer that came as a stream: it may stall, or have no end, as well. Throws what ended the stream. */
export async function readErrorBody(body: Readable, { maxBytes, timeoutMs }: { readonly maxBytes: number; readonly timeoutMs: number }): Promise<Buffer> {
  const timer = setTimeout(() => body.destroy(new DeadlineError(timeoutMs)), timeoutMs);
  let bytes = 0;
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) body.destroy(new LimitError(`it sends an answer of more than ${maxBytes} bytes`));
  });
  return buffer(body).finally(() => clearTimeout(timer));
}

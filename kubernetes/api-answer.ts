// How calls are written into URLs and how error answers are read.
import { ApiError } from './api-error.ts';

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  /** The Retry-After header, if there was one. */
  readonly retryAfter: string | undefined;
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

/** The error that an answer of 300 and above stands for. Nothing of what the server sent is trusted to have a shape. */
export function toApiError({ status, retryAfter, body }: Answer): ApiError {
  const seconds = Number(retryAfter);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, MAX_RETRY_AFTER_MS) : undefined;
  const text = body.toString('utf8');
  const { reason, message } = parseStatus(text);
  const words = typeof message === 'string' ? message : text;
  return new ApiError(status, typeof reason === 'string' ? reason : '', words.slice(0, MAX_ERROR_CHARACTERS), retryAfterMs);
}

function parseStatus(body: string): { readonly reason?: unknown; readonly message?: unknown } {
  try {
    const status: unknown = JSON.parse(body);
    return typeof status === 'object' && status !== null ? status : {};
  } catch {
    return {};
  }
}

// What can go wrong with a call to an API server, as one type per way of reacting to it.
import { SilenceError } from '../connect/silence.ts';

/** The API server answered with an error: an HTTP status and, mostly, a `meta/v1` Status. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status code. */
  readonly status: number;
  /** `Status.reason` in CamelCase, empty when the body was none. */
  readonly reason: string;
  /** How long the server asked us to wait, in ms. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The call did not get an answer: refused, reset, timed out, bad certificate. A write may have been done, unless it is known to be unsent. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  /** Whether nothing of the call was written to any connection: no name, no connection, no TLS, no place in time. */
  readonly isUnsent: boolean;

  constructor(message: string, { cause, isUnsent = false }: { readonly cause?: unknown; readonly isUnsent?: boolean } = {}) {
    super(message, { cause });
    this.isUnsent = isUnsent;
  }
}

/** Whether the API server said that the object (or the whole kind) is not there. */
export function isNotFound(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 404;
}

/** Whether the server denied the call. */
export function isForbidden(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 403;
}

/** Whether a create met an object of the same name. */
export function isAlreadyExists(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 409 && thrown.reason === 'AlreadyExists';
}

/** Whether a precondition (UID or resourceVersion) did not hold. */
export function isConflict(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 409 && thrown.reason !== 'AlreadyExists';
}

/** Whether the server no longer has the history that was asked for, so that one must list again. */
export function isExpired(thrown: unknown): boolean {
  return thrown instanceof ApiError && (thrown.status === 410 || thrown.reason === 'Expired');
}

/**
 * Whether the server refused the content of a write, so that repeating it unchanged is pointless:
 * any 4xx but conflict, timeout and throttling. Admission webhooks and quotas answer so.
 */
export function isRejection(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status >= 400 && thrown.status < 500 && ![401, 408, 409, 429].includes(thrown.status);
}

/**
 * For `catch` of a write with preconditions: the object has gone or has changed, and the watch brings what it is now.
 * @throws any other error, as it came.
 */
export function ignoreStale(thrown: unknown): void {
  if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
}

/** For `catch`: undefined for an error that was expected; any other is thrown again. */
export function unless(expected: (thrown: unknown) => boolean): (thrown: unknown) => undefined {
  return (thrown) => {
    if (expected(thrown)) return undefined;
    throw thrown;
  };
}

/** No answer came in time. */
export class DeadlineError extends SilenceError {
  override readonly name = 'DeadlineError';

  constructor(ms: number) {
    super(`no answer within ${ms / 1_000} s`);
  }
}

// Errors of calls to an API server, one type for each way of handling them.
import { SilenceError } from '../connect/silence.ts';

/** An error response: an HTTP status and usually a `meta/v1` Status. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status code. */
  readonly status: number;
  /** `Status.reason` in CamelCase; empty when the body was no Status. */
  readonly reason: string;
  /** Retry-After in ms. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** What is known of a call without a response. */
export interface UnreachableOptions {
  readonly cause?: unknown;
  readonly isUnsent?: boolean;
  readonly server?: string | undefined;
  readonly onceReachable?: OnceReachable | undefined;
}

/** Calls back once when the server answers again. Returns what forgets the callback. */
export type OnceReachable = (back: () => void) => () => void;

/**
 * The call got no response: refused, reset, timed out, bad certificate. A write may have been done, unless it is known
 * to be unsent.
 */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  /** Whether nothing was written to any connection: DNS, connect, TLS or queueing failed. */
  readonly isUnsent: boolean;
  /** Host and port of the server; undefined if the caller must not see it. */
  readonly server: string | undefined;
  /** Tells when a retry is worth it before its time; undefined where nothing watches the server. */
  readonly onceReachable: OnceReachable | undefined;

  constructor(message: string, { cause, isUnsent = false, server, onceReachable }: UnreachableOptions = {}) {
    super(message, { cause });
    this.isUnsent = isUnsent;
    this.server = server;
    this.onceReachable = onceReachable;
  }
}

/** Whether the object (or the resource type) was not found. */
export function isNotFound(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 404;
}

/** Whether the credentials were not accepted. */
export function isUnauthorized(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 401;
}

/** Whether the call was forbidden. */
export function isForbidden(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 403;
}

/** Whether the object, or its resource type, cannot be read: it is not there, or the call was forbidden. */
export function isUnreadable(thrown: unknown): boolean {
  return isNotFound(thrown) || isForbidden(thrown);
}

/** Whether nothing can be created in a namespace that is being deleted, evictions among it (NamespaceLifecycle). */
export function isInEndingNamespace(thrown: unknown): boolean {
  return isForbidden(thrown) && (thrown as ApiError).message.endsWith('because it is being terminated');
}

/** Whether the call was turned away for now; so is an eviction that a PodDisruptionBudget forbids. */
export function isThrottled(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 429;
}

/** Whether an object of that name already exists. */
export function isAlreadyExists(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 409 && thrown.reason === 'AlreadyExists';
}

/** Whether a precondition (UID or resourceVersion) did not hold. */
export function isConflict(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 409 && thrown.reason !== 'AlreadyExists';
}

/** Whether the requested resourceVersion has expired, so that one must list again. */
export function isExpired(thrown: unknown): boolean {
  return thrown instanceof ApiError && (thrown.status === 410 || thrown.reason === 'Expired');
}

/**
 * Whether the API server rejected the content of a write, so that an unchanged retry is pointless: any 4xx except
 * conflict, timeout and throttling. Admission webhooks and quotas respond like this.
 */
export function isRejection(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status >= 400 && thrown.status < 500
    && ![401, 408, 409, 429].includes(thrown.status);
}

/**
 * For `catch` of a write with preconditions: ignores that the object is gone or has changed, since the watch delivers
 * its new state.
 * @throws any other error unchanged.
 */
export function ignoreStale(thrown: unknown): void {
  if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
}

/** The same for a plan that creates: the object may exist although the cache does not show it yet. */
export function ignoreLate(thrown: unknown): void {
  if (!isAlreadyExists(thrown)) ignoreStale(thrown);
}

/** For `catch`: returns undefined for an expected error and rethrows any other. */
export function unless(expected: (thrown: unknown) => boolean): (thrown: unknown) => undefined {
  return (thrown) => {
    if (expected(thrown)) return undefined;
    throw thrown;
  };
}

/** The deadline passed without a response. */
export class DeadlineError extends SilenceError {
  override readonly name = 'DeadlineError';

  constructor(ms: number) {
    super(`no answer within ${ms / 1_000} s`);
  }
}

// Which calls are sent again, and when: those that an API server turned away with 429 and Retry-After. Callers retry
// after other failures, with a backoff.

/** How often a call is sent again after a 429. */
const RETRIES = 3;
/** Longest Retry-After in ms after which a call is sent again. */
const LONGEST_RETRIED_PAUSE_MS = 2_000;
/** Upper bound for Retry-After, in ms. */
const MAX_RETRY_AFTER_MS = 300_000;

/** A response, as far as it says when to call again. */
export interface RetryHint {
  readonly status: number;
  /** The Retry-After header, if there was one. */
  readonly retryAfter: string | undefined;
}

/**
 * The pause in ms before a call that had this answer is sent again, undefined when it is not. A server that asks for a
 * second is overloaded or makes the storage of a new kind, and did not process the call; one that asks for more, as for
 * an eviction, leaves it to the caller. client-go sends again as well, ten times.
 */
export function pauseBeforeRetry({ status, retryAfter }: RetryHint, retries: number): number | undefined {
  if (status !== 429 || retries >= RETRIES) return undefined;
  const pauseMs = toRetryAfterMs(retryAfter);
  return pauseMs === undefined || pauseMs > LONGEST_RETRIED_PAUSE_MS ? undefined : pauseMs;
}

/**
 * Whether this answer to a call of `path` asks all calls to slow down. The one to an eviction is about its pod alone:
 * making other calls wait would not make its disruption budget allow it.
 */
export function slowsAllDown({ status }: Pick<RetryHint, 'status'>, path: string): boolean {
  return status === 429 && !path.endsWith('/eviction');
}

/** A Retry-After header in ms; undefined where it names no number of seconds. */
export function toRetryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) : undefined;
}

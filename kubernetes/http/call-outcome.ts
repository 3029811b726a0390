// What a failed call says about its write. Only a write that may have been done must be waited for.
import { ApiError, UnreachableError } from '../flow/api-error.ts';
import { NotLeaderError } from '../flow/fence.ts';

/** `not-sent`: the server never received it. `not-done`: rejected before storage. `unknown`: it may have been done. */
export type CallOutcome = 'not-sent' | 'not-done' | 'unknown';

/**
 * The API server's message when it could not call a webhook; admission runs before storage (apiserver
 * `webhookerrors.NewCallError`).
 */
const WEBHOOK_FAILED = /failed calling webhook|failed to call webhook/;

/** Classifies a failed write. */
export function outcomeOf(thrown: unknown): CallOutcome {
  if (thrown instanceof NotLeaderError) return 'not-sent';
  if (thrown instanceof UnreachableError) return thrown.isUnsent ? 'not-sent' : 'unknown';
  return thrown instanceof ApiError && isDefinite(thrown) ? 'not-done' : 'unknown';
}

/**
 * Whether an error response proves that nothing was stored. 500 (`etcdserver: request timed out`), 502 and 504 also
 * occur after storage; 408 is a proxy's. 503 comes from overloaded or starting API servers before they begin, and from
 * load balancers without a backend.
 */
function isDefinite({ status, message }: ApiError): boolean {
  if (status === 500) return WEBHOOK_FAILED.test(message);
  if (status < 500) return status !== 408;
  return [501, 503, 505].includes(status);
}

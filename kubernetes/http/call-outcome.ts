// What a call that failed proves about the write that it asked for. Only what may have been done has to be waited for.
import { ApiError, UnreachableError } from '../flow/api-error.ts';
import { NotLeaderError } from '../flow/fence.ts';

/** `not-sent`: the server does not know of it. `not-done`: the server has said no before it stored anything. `unknown`: it may have been done. */
export type CallOutcome = 'not-sent' | 'not-done' | 'unknown';

/** What the API server says when a webhook could not be asked; admission comes before storage (apiserver `webhookerrors.NewCallError`). */
const WEBHOOK_FAILED = /failed calling webhook|failed to call webhook/;

/** Reads what a failed write proves. */
export function outcomeOf(thrown: unknown): CallOutcome {
  if (thrown instanceof NotLeaderError) return 'not-sent';
  if (thrown instanceof UnreachableError) return thrown.isUnsent ? 'not-sent' : 'unknown';
  return thrown instanceof ApiError && isDefinite(thrown) ? 'not-done' : 'unknown';
}

/**
 * Whether an error answer proves that nothing was stored. 500 (`etcdserver: request timed out`), 502 and 504 come after storage as well; 408 is a
 * proxy's. 503 is said by overloaded or starting API servers before they begin, and by load balancers that have nobody to ask.
 */
function isDefinite({ status, message }: ApiError): boolean {
  if (status === 500) return WEBHOOK_FAILED.test(message);
  if (status < 500) return status !== 408;
  return [501, 503, 505].includes(status);
}

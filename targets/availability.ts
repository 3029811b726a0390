// Whether a target may get new pods and, where not, what its administrator or tenant is told.
import { messageOf } from '../process/errors.ts';
import { ApiError } from '../kubernetes/flow/api-error.ts';
import { CANNOT_BE_REACHED } from '../kubernetes/connect/connection-limits.ts';

/** Whether a target may get new pods; when not, a CamelCase reason and what to change. */
export type Availability = { readonly kind: 'ready' } | { readonly kind: 'unavailable'; readonly reason: string; readonly message: string };

/** Why a target may get none. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** A target that may get none. */
export function unavailable(reason: string, message: string): Availability {
  return { kind: 'unavailable', reason, message };
}

/** Who hears of a failure, and what is known of the server. */
export interface FailureContext {
  /** The target is a tenant's: what is at an address that has not shown itself to be an API server is not told. */
  readonly isTenants: boolean;
  /** The server has answered as an API server does. */
  readonly isApiServer: boolean;
}

/** What a failure means for the target. */
export function explainFailure(error: unknown, { isTenants, isApiServer }: FailureContext): Availability {
  if (isTenants && !(error instanceof ApiError && (isApiServer || error.reason !== ''))) return unavailable('Unreachable', CANNOT_BE_REACHED);
  if (!(error instanceof ApiError)) return unavailable('Unreachable', `the target's API server cannot be reached: ${messageOf(error)}`);
  if (error.status === 401) return unavailable('Unauthorized', 'the target does not accept the credentials in the kubeconfig; renew them in the Secret');
  if (error.status === 403) return unavailable('Forbidden', `the target denies what a source must do: ${error.message}; run "isthmus peer" again, or grant it`);
  if (error.status === 404) return unavailable('NotInstalled', 'the target does not serve the kinds of Isthmus; run "isthmus install" there');
  return unavailable('ApiServerError', `the target's API server answers with an error: ${error.message}`);
}

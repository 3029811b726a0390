// Whether a target may get new pods and, if not, the message for its administrator or tenant.
import { messageOf } from '../process/errors.ts';
import { ApiError } from '../kubernetes/flow/api-error.ts';
import { HEARTBEAT_TIMEOUT_MS } from './heartbeat.ts';
import { CANNOT_BE_REACHED } from '../kubernetes/connect/connection-limits.ts';

/** Whether a target may get new pods. */
export type Availability = { readonly kind: 'ready' } | { readonly kind: 'unavailable' } & Problem;

/** Why it may not: a CamelCase reason, and what to change. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** An unavailable target. */
export function unavailable(reason: string, message: string): Availability {
  return { kind: 'unavailable', reason, message };
}

/** Who sees the message, and what is known of the server. */
export interface FailureContext {
  /** A tenant's target: until an address has proved to be an API server, nothing of its response is shown. */
  readonly isTenantOwned: boolean;
  /** The server has responded as an API server does. */
  readonly isApiServer: boolean;
}

/** Explains a connection failure as an availability. */
export function explainFailure(error: unknown, { isTenantOwned, isApiServer }: FailureContext): Availability {
  if (isTenantOwned && !(error instanceof ApiError && (isApiServer || error.reason !== ''))) {
    return unavailable('Unreachable', CANNOT_BE_REACHED);
  }
  if (!(error instanceof ApiError)) {
    return unavailable('Unreachable', `the target's API server cannot be reached: ${messageOf(error)}`);
  }
  if (error.status === 401) return unavailable(
    'Unauthorized', 'the target does not accept the credentials in the kubeconfig; renew them in the Secret',
  );
  if (error.status === 403) return unavailable(
    'Forbidden',
    `the target denies permissions that a source needs: ${error.message}; run "isthmus peer" again, or grant them`,
  );
  if (error.status === 404) {
    return unavailable('NotInstalled', 'the target does not serve the CRDs of Isthmus; run "isthmus install" there');
  }
  return unavailable('ApiServerError', `the target's API server answers with an error: ${error.message}`);
}

/** The problem of a tenant's target that exceeds a limit; `retryMs` is the pause before the next attempt. */
export function limitExceeded(limit: string, retryMs: number): Problem {
  return {
    reason: 'LimitExceeded',
    message:
      `the target sends more than a Target may: ${limit}; it is tried again every ${retryMs / 60_000} minutes. An ` +
        'administrator can join it as a ClusterTarget, which has no limits',
  };
}

/** The original cause of an error whose message is generic. */
export function detailOf(error: unknown): string {
  return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
}

/** Message about a target where Admiralty runs. */
export const ADMIRALTY_ACTIVE =
  'Admiralty is active in the target, and this source may not write pods there; run "isthmus migrate admiralty" in ' +
    'the target, or let the source write pods (ClusterRole isthmus-source-pod-mode)';
/** What is known of a target before its cluster has said anything. */
export const CONNECTING = unavailable('Connecting', 'connecting to the target');
/** Message about a target whose delegate controller has stopped. */
export const SILENT =
  `the delegate controller of the target has not renewed its ClusterSummary for ${HEARTBEAT_TIMEOUT_MS / 1_000} s; ` +
    'check that Isthmus runs there';
/** Message about a target whose API server has stopped answering. */
export const SILENT_SERVER = "the target's API server has stopped answering; connections to it are still open";

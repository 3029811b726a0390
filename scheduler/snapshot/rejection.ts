// Why a target is rejected, in the one form that filters, targets and policies share; and the message for users when a
// target's API server rejects a candidate.
import { isNotFound, isRejection, type ApiError } from '../../kubernetes/flow/api-error.ts';

/** Why a target is rejected. `reason` is CamelCase, `message` says what to change. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** Why a target's API server rejects a candidate in a namespace, for users. */
export function toRejection(error: ApiError, namespace: string): Rejection {
  if (isNotFound(error) && error.message.includes('namespaces')) {
    return {
      reason: 'NamespaceMissing',
      message: `namespace ${namespace} does not exist there; create it in the target cluster`,
    };
  }
  if (isNamespaceNotAllowed(error)) {
    return {
      reason: 'NamespaceNotAllowed',
      message:
        `namespace ${namespace} does not allow pods of this source there, or does not exist; in the target run ` +
          `"isthmus allow namespace ${namespace}"`,
    };
  }
  if (isNotFound(error)) {
    return { reason: 'NotInstalled', message: 'it does not serve PodChaperons; run "isthmus install" there' };
  }
  if (isRejection(error)) return { reason: error.reason === '' ? 'Refused' : error.reason, message: error.message };
  if (error.status === 401) return {
    reason: 'Unauthorized', message: 'it does not accept the credentials in the kubeconfig; renew them in the Secret',
  };
  if (error.status === 500) return { reason: 'AdmissionFailed', message: error.message };
  // Throttled or overloaded: the API server has not processed the request.
  return { reason: error.status === 409 ? 'Conflict' : 'Overloaded', message: error.message };
}

/**
 * The source may create PodChaperons in namespaces that admit it and is denied in others; some namespaces admit no
 * source at all.
 */
function isNamespaceNotAllowed({ status, message }: ApiError): boolean {
  return status === 403
    && (message.includes('cannot create resource "podchaperons"') || message.includes('NamespaceNotAllowed:'));
}

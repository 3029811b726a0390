// Why a target is rejected, in the one form that filters, targets and policies share; and the message for users when a
// target's API server rejects a candidate.

/** Why a target is rejected. `reason` is CamelCase, `message` says what to change. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** Status of a failed call: the HTTP code, and `reason` and `message` of the API server; an ApiError is one. */
interface FailedCall extends Rejection {
  readonly status: number;
}

/** Why a target's API server rejects a candidate in a namespace, for users. */
export function toRejection(call: FailedCall, namespace: string): Rejection {
  const { status, reason, message } = call;
  if (status === 404 && message.includes('namespaces')) {
    return {
      reason: 'NamespaceMissing',
      message: `namespace ${namespace} does not exist there; create it in the target cluster`,
    };
  }
  if (isNamespaceNotAllowed(call)) {
    return {
      reason: 'NamespaceNotAllowed',
      message:
        `namespace ${namespace} does not allow pods of this source there, or does not exist; in the target run ` +
          `"isthmus allow namespace ${namespace}"`,
    };
  }
  switch (status) {
    case 404:
      return { reason: 'NotInstalled', message: 'it does not serve PodChaperons; run "isthmus install" there' };
    case 401:
      return {
        reason: 'Unauthorized',
        message: 'it does not accept the credentials in the kubeconfig; renew them in the Secret',
      };
    case 409:
      return { reason: 'Conflict', message };
    case 500:
      return { reason: 'AdmissionFailed', message };
    default:
      return { reason: isUnprocessed(status) ? 'Overloaded' : reason === '' ? 'Refused' : reason, message };
  }
}

/** Throttled or overloaded: the API server has not processed the request. */
function isUnprocessed(status: number): boolean {
  return status === 408 || status === 429 || status < 400 || status > 500;
}

/**
 * The source may create PodChaperons in namespaces that admit it and is denied in others; some namespaces admit no
 * source at all.
 */
function isNamespaceNotAllowed({ status, message }: FailedCall): boolean {
  return status === 403
    && (message.includes('cannot create resource "podchaperons"') || message.includes('NamespaceNotAllowed:'));
}

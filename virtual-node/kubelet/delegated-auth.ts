// Authenticates and authorizes callers at the source's API server. Without a response nothing is allowed.
import type { PeerCertificate, TLSSocket } from 'node:tls';
import {
  SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS, type SubjectAccessReview, type TokenReview,
} from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import {
  callerOf, callerOfReview, toAccessReview, type Caller, type ResourceAttributes,
} from './request-attributes.ts';

/**
 * The caller's identity: from a client certificate that the server has verified, else from a bearer token. Undefined
 * without either. Throws what the API call throws.
 */
export async function identifyCaller(socket: TLSSocket, authorization: string | undefined, access: {
  readonly source: ClusterClient; readonly signal: AbortSignal
}): Promise<Caller | undefined> {
  const certificate: PeerCertificate | undefined = socket.authorized ? socket.getPeerCertificate() : undefined;
  if (certificate?.subject !== undefined) return callerOf(certificate.subject);
  const token = /^Bearer ([\w.~+/=-]+)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) return undefined;
  const review = { metadata: {}, spec: { token } };
  const { status } = await access.source.create<TokenReview>(TOKEN_REVIEWS, review, access.signal);
  return status?.authenticated === true ? callerOfReview(status.user) : undefined;
}

/** Whether a caller may do one of these. Throws what API calls throw. */
export async function isAllowed(
  source: ClusterClient, caller: Caller, wanted: readonly ResourceAttributes[], signal: AbortSignal,
): Promise<boolean> {
  for (const attributes of wanted) {
    const { status } =
      await source.create<SubjectAccessReview>(SUBJECT_ACCESS_REVIEWS, toAccessReview(caller, attributes), signal);
    if (status?.allowed === true) return true;
  }
  return false;
}

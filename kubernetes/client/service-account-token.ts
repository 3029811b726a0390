// Tokens of ServiceAccounts, by the TokenRequest API: short-lived, and dead with their account.
import { SERVICE_ACCOUNTS } from '../../api/resource-types.ts';
import { ApiError } from '../flow/api-error.ts';
import type { ClusterClient } from './cluster-client.ts';

/** Whose token, and how long it is to live; the API server may grant less, and refuses less than ten minutes. */
export interface TokenRequest {
  readonly namespace: string;
  readonly name: string;
  readonly seconds: number;
}

/** `authentication.k8s.io/v1` TokenRequestStatus. */
export interface IssuedToken {
  readonly token: string;
  /** RFC 3339. */
  readonly expirationTimestamp: string;
}

/**
 * Asks for a token.
 * @throws ApiError, also when the answer holds none; what {@link ClusterClient} throws.
 */
export async function requestToken(client: ClusterClient, { namespace, name, seconds }: TokenRequest, signal: AbortSignal): Promise<IssuedToken> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: seconds } };
  const answer = await client.post<{ readonly status?: IssuedToken }>(SERVICE_ACCOUNTS, { namespace, name, subresource: 'token' }, body, signal);
  if (answer.status === undefined) throw new ApiError(200, '', `the API server issued no token for ServiceAccount ${namespace}/${name}`);
  return answer.status;
}

// ServiceAccount tokens from the TokenRequest API: short-lived, and invalid once the account is deleted.
import { SERVICE_ACCOUNTS } from '../../api/resource-types.ts';
import { ApiError } from '../flow/api-error.ts';
import type { ClusterClient } from './cluster-client.ts';

/** The account and the requested lifetime. The API server may grant less, and rejects less than ten minutes. */
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
 * Requests a token.
 * @throws ApiError, also when the response holds no token; what {@link ClusterClient} throws.
 */
export async function requestToken(
  client: ClusterClient, { namespace, name, seconds }: TokenRequest, signal: AbortSignal,
): Promise<IssuedToken> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: seconds } };
  const answer = await client.post<{ readonly status?: IssuedToken }>(
    SERVICE_ACCOUNTS, { namespace, name, subresource: 'token' }, body, signal,
  );
  if (answer.status === undefined) {
    throw new ApiError(200, '', `the API server issued no token for ServiceAccount ${namespace}/${name}`);
  }
  return answer.status;
}

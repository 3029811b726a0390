// The kubeconfig that discovery keeps for a target: server, authority and the credentials of one user, and nothing
// else of what the registry had. Equal connections give equal texts.
import type { ClusterConnection } from '../../kubernetes/credentials/kubeconfig.ts';
import type { ClientCertificate } from '../../kubernetes/credentials/kubeconfig-user.ts';
import { isBearerToken } from '../../kubernetes/credentials/resolved-credentials.ts';
import { composeKubeconfig, type AccessFields } from '../entry/composed-kubeconfig.ts';

/** Why a connection cannot be kept; undefined when it can. */
export function connectionProblem({ credentials, certificateAuthority }: ClusterConnection): string | undefined {
  if (credentials.kind !== 'token' && credentials.kind !== 'certificate') {
    return 'it has neither a token nor a client certificate; give the cluster one in its registry';
  }
  if (credentials.kind === 'token' && !isBearerToken(credentials.token)) {
    return 'its token has characters that no token has; write it anew, on one line';
  }
  return certificateAuthority === '' ? 'its certificate authority is empty' : undefined;
}

/** The text of a connection without {@link connectionProblem}. */
export function minimalKubeconfig(connection: ClusterConnection): string {
  const { server, certificateAuthority, serverName, credentials } = connection;
  const certificateAuthorityData = certificateAuthority && base64(certificateAuthority);
  return composeKubeconfig({ server: server.href, certificateAuthorityData, serverName, ...userOf(credentials) }).text;
}

function userOf(credentials: ClusterConnection['credentials']): Partial<AccessFields> {
  if (credentials.kind === 'certificate') return clientOf(credentials);
  if (credentials.kind !== 'token') return {};
  return { token: credentials.token, ...credentials.client && clientOf(credentials.client) };
}

function clientOf({ certificate, key }: ClientCertificate): Partial<AccessFields> {
  return { clientCertificateData: base64(certificate), clientKeyData: base64(key) };
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

// The kubeconfig that discovery keeps for a target: server, authority and the credentials of one user, and nothing
// else of what the registry had. Equal connections give equal texts.
import { stringify } from 'yaml';
import type { ClusterConnection } from '../../kubernetes/credentials/kubeconfig.ts';
import type { ClientCertificate } from '../../kubernetes/credentials/kubeconfig-user.ts';
import { isBearerToken } from '../../kubernetes/credentials/resolved-credentials.ts';

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

const NAME = 'cluster';

/** The text of a connection without {@link connectionProblem}. */
export function minimalKubeconfig(connection: ClusterConnection): string {
  const { server, certificateAuthority, serverName, credentials } = connection;
  const cluster = {
    server: server.href,
    ...(certificateAuthority !== undefined && { 'certificate-authority-data': base64(certificateAuthority) }),
    ...(serverName !== undefined && { 'tls-server-name': serverName }),
  };
  return stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': NAME,
    clusters: [{ name: NAME, cluster }], users: [{ name: NAME, user: userOf(credentials) }],
    contexts: [{ name: NAME, context: { cluster: NAME, user: NAME } }],
  });
}

function userOf(credentials: ClusterConnection['credentials']): object {
  if (credentials.kind === 'certificate') return clientOf(credentials);
  if (credentials.kind !== 'token') return {};
  return { token: credentials.token, ...credentials.client && clientOf(credentials.client) };
}

function clientOf({ certificate, key }: ClientCertificate): object {
  return { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) };
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

// How an API server is dialled, without any credentials: what may be told to others.
import type { ClusterConnection } from './kubeconfig.ts';
import type { Credentials } from './kubeconfig-user.ts';

/** The server of a connection. */
export interface ServerEndpoint extends Pick<ClusterConnection, 'server' | 'certificateAuthority' | 'serverName'> {
  /** Whether it is dialled without a proxy or gateway, and its certificate is verified. */
  readonly isDirect: boolean;
  /** What sort of credentials its kubeconfig has. */
  readonly credentials: Credentials['kind'];
}

/** Projects a connection. */
export function toServerEndpoint(connection: ClusterConnection): ServerEndpoint {
  const { server, certificateAuthority, serverName, insecure, proxy, gateway, credentials } = connection;
  return {
    server, ...(certificateAuthority !== undefined && { certificateAuthority }),
    ...(serverName !== undefined && { serverName }),
    isDirect: !insecure && proxy === undefined && gateway === undefined, credentials: credentials.kind,
  };
}

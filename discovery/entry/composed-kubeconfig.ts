// A kubeconfig made of fields, where a registry keeps no kubeconfig. It passes the same checks as any other.
import { stringify } from 'yaml';
import type { RegisteredAccess } from './registered-cluster.ts';

/** The fields of `clientcmd/api/v1` Cluster and AuthInfo that registries have. Data is base64. */
export interface AccessFields {
  readonly server: string | undefined;
  readonly certificateAuthorityData?: string | undefined;
  /** Path of a file, so that it is refused by its name. */
  readonly certificateAuthorityFile?: string | undefined;
  readonly serverName?: string | undefined;
  readonly insecure?: boolean | undefined;
  readonly proxyUrl?: string | undefined;
  readonly token?: string | undefined;
  readonly clientCertificateData?: string | undefined;
  readonly clientKeyData?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

const NAME = 'cluster';

/** The kubeconfig of these fields. */
export function composeKubeconfig(fields: AccessFields): RegisteredAccess & { readonly kind: 'kubeconfig' } {
  const cluster = present({
    server: fields.server, 'certificate-authority-data': fields.certificateAuthorityData,
    'certificate-authority': fields.certificateAuthorityFile,
    'tls-server-name': fields.serverName, 'insecure-skip-tls-verify': fields.insecure === true ? true : undefined,
    'proxy-url': fields.proxyUrl,
  });
  const user = present({
    token: fields.token, 'client-certificate-data': fields.clientCertificateData,
    'client-key-data': fields.clientKeyData, username: fields.username, password: fields.password,
  });
  const text = stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': NAME,
    clusters: [{ name: NAME, cluster }], users: [{ name: NAME, user }],
    contexts: [{ name: NAME, context: { cluster: NAME, user: NAME } }],
  });
  return { kind: 'kubeconfig', text };
}

function present(fields: Readonly<Record<string, string | boolean | undefined>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''));
}

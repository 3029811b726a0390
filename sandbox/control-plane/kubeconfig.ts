// The text of a kubeconfig with everything embedded: one cluster, one user, one context, all named alike. Pure.
import { stringify } from 'yaml';
import type { KeyPair } from '../../process/crypto/certificate-authority.ts';

/** What a kubeconfig is made of. */
export interface KubeconfigParts {
  /** Name of the context and the cluster. */
  readonly name: string;
  /** Name of the user entry. */
  readonly user: string;
  /** https URL of the API server. */
  readonly server: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly authority: string;
  /** The client certificate to authenticate with. */
  readonly client: KeyPair;
}

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

/** A self-contained kubeconfig (kind `Config`, version v1) as YAML: it refers to no other file. */
export function kubeconfigText(parts: KubeconfigParts): string {
  const { name, user, server, authority, client } = parts;
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(authority) } }],
      users: [
        {
          name: user,
          user: { 'client-certificate-data': base64(client.certificate), 'client-key-data': base64(client.key) },
        },
      ],
      contexts: [{ name, context: { cluster: name, user } }],
      'current-context': name,
    },
    { lineWidth: 0 },
  );
}

// Credentials from auth providers, which only a person's own kubeconfig may have. The only file that loads
// @kubernetes/client-node, and only then: loading costs 0.4 s of CPU and 80 MiB. They are cached until they expire.
import type { KubeConfig } from '@kubernetes/client-node';
import type { ResolvedCredentials } from './resolved-credentials.ts';

/** Credentials that a kubeconfig describes by an auth provider. */
export interface AuthProviderCredentials {
  readonly kind: 'auth-provider';
  readonly kubeconfig: string;
  readonly context: string;
}

const loaded = new WeakMap<AuthProviderCredentials, Promise<KubeConfig>>();

/** Asks the provider, unless its cached credentials are still valid. */
export async function askAuthProvider(credentials: AuthProviderCredentials): Promise<ResolvedCredentials> {
  let loading = loaded.get(credentials);
  if (loading === undefined) loaded.set(credentials, (loading = load(credentials)));
  const config = await loading;
  const options: { headers?: Record<string, string>; cert?: string | Buffer; key?: string | Buffer } = {};
  await config.applyToHTTPSOptions(options as Parameters<typeof config.applyToHTTPSOptions>[0]);
  const bearer = options.headers?.['Authorization']?.replace(/^Bearer /, '');
  return {
    ...(bearer !== undefined && { token: bearer }),
    ...(options.cert !== undefined && { certificate: String(options.cert) }),
    ...(options.key !== undefined && { key: String(options.key) }),
  };
}

/** Drops the cached credentials after the server rejected them. */
export function forgetAuthProvider(credentials: AuthProviderCredentials): void {
  loaded.delete(credentials);
}

async function load({ kubeconfig, context }: AuthProviderCredentials): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  config.setCurrentContext(context);
  return config;
}

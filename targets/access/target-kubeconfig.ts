// The kubeconfig of a target: the Secret that has it, followed, and the connection that it describes.
import type { Logger } from 'pino';
import { DEFAULT_KUBECONFIG_KEY, type TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { Secret } from '../../api/objects/core.ts';
import { SECRETS } from '../../api/resource-types.ts';
import { discoveredNamespace } from '../../model/access/key-namespace.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { readKubeconfig, type ClusterConnection } from '../../kubernetes/credentials/kubeconfig.ts';
import type { LocalAccess } from '../../kubernetes/credentials/local-access.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';

/** The Secret of a kubeconfig, and how it is read. */
export interface KubeconfigSecretRef {
  readonly namespace: string;
  readonly name: string;
  /** Key within the Secret. */
  readonly key: string;
  /** Context within the kubeconfig; its current-context when missing. */
  readonly context?: string | undefined;
  /** Whose rules it is read by. */
  readonly author: 'tenant' | 'cluster-target' | 'registry';
}

/** What the Secret has: base64 of the kubeconfig, or why there is none. */
export type KubeconfigContent =
  | { readonly kind: 'kubeconfig'; readonly data: string }
  | { readonly kind: 'missing'; readonly reason: string; readonly message: string };

/**
 * Where a target's kubeconfig is; undefined when its spec names no Secret. Outside of the install namespace a Secret of
 * a ClusterTarget may be written by those who may edit that namespace, so it is read like a tenant's. Where discovery
 * keeps kubeconfigs, a registry named the server.
 */
export function kubeconfigSecretRef(
  ref: TargetRef, { kubeconfigSecret: secret }: TargetSpec, installNamespace: string,
): KubeconfigSecretRef | undefined {
  if (secret === undefined) return undefined;
  const namespace = ref.kind === 'Target' ? ref.namespace : (secret.namespace ?? installNamespace);
  const author = authorOf(ref, namespace, installNamespace);
  return { namespace, name: secret.name, key: secret.key ?? DEFAULT_KUBECONFIG_KEY, context: secret.context, author };
}

function authorOf(ref: TargetRef, namespace: string, installNamespace: string): KubeconfigSecretRef['author'] {
  if (ref.kind === 'Target') return 'tenant';
  if (namespace === installNamespace) return 'cluster-target';
  return namespace === discoveredNamespace(installNamespace) ? 'registry' : 'tenant';
}

/** Follows the Secret until the signal aborts. `changed` is called at once, while it is read, and on each change. */
export function watchKubeconfig(
  { source: client, logger }: { readonly source: ClusterClient; readonly logger: Logger },
  secretRef: KubeconfigSecretRef,
  changed: (content: KubeconfigContent) => void, signal: AbortSignal,
): void {
  const where = `Secret ${secretRef.namespace}/${secretRef.name}`;
  changed(missing('Connecting', `${where} is being read`));
  const informer =
    fullInformersOf({ client, logger })(SECRETS, { namespace: secretRef.namespace, name: secretRef.name });
  informer.onChange((_key, _before, after) => changed(contentOf(after, secretRef, where)));
  informer.onListed(() => informer.size === 0 && changed(contentOf(undefined, secretRef, where)));
  informer.onConnection((state) => {
    if (state.kind !== 'broken' || informer.hasSynced) return;
    changed(missing('SecretUnreadable', `${where} cannot be read: ${messageOf(state.error)}`));
  });
  void informer.run(signal);
}

function contentOf(secret: Secret | undefined, { key }: KubeconfigSecretRef, where: string): KubeconfigContent {
  if (secret === undefined) {
    return missing('SecretMissing', `${where} does not exist; create it with a kubeconfig under key ${key}`);
  }
  const data = secret.data?.[key];
  if (data !== undefined) return { kind: 'kubeconfig', data };
  return missing(
    'SecretKeyMissing',
    `${where} has no key ${key}; store the kubeconfig there, or name its key in spec.kubeconfigSecret.key`,
  );
}

function missing(reason: string, message: string): KubeconfigContent {
  return { kind: 'missing', reason, message };
}

/**
 * The connection that a target's kubeconfig (base64) describes, through the gateway if its spec says so.
 * @throws AppError `BadInput` without a gateway to go through; what `readKubeconfig` throws.
 */
export async function readTargetConnection(
  data: string, { context, author }: Pick<KubeconfigSecretRef, 'context' | 'author'>,
  { gateway, endpoints, access }: {
    readonly gateway: TargetSpec['gateway']; readonly endpoints: readonly URL[];
    readonly access?: LocalAccess | undefined;
  },
): Promise<ClusterConnection> {
  const text = Buffer.from(data, 'base64').toString('utf8');
  const connection = await readKubeconfig({ text, author, access, ...(context !== undefined && { context }) });
  if (gateway === undefined) return connection;
  if (endpoints.length === 0) throw new AppError(
    'BadInput', 'spec.gateway is set, but this process has no gateway; start it with --gateway http://HOST:PORT',
  );
  return { ...connection, gateway: { clusterId: gateway.cluster, endpoints } };
}

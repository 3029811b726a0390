// Watches the CA bundle for client certificates that the source's API server publishes for extension servers
// (Kubernetes "Configure the aggregation layer"). In every usual installation it also verifies the API server's own
// certificate towards kubelets.
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { KubernetesObject, StringMap } from '../../api/objects/core.ts';
import { CONFIG_MAPS } from '../../api/resource-types.ts';
import { CLUSTER_NAMESPACE } from '../../model/access/system-namespaces.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { AppError, messageOf } from '../../process/errors.ts';

/** Where the source publishes the bundle. */
const CLIENT_AUTHORITY =
  { namespace: CLUSTER_NAMESPACE, name: 'extension-apiserver-authentication', key: 'client-ca-file' } as const;

/** Is called with each bundle (PEM), including the first. After a deletion the last bundle stays in use. */
export type OnAuthority = (pem: string) => void;

/** Watches the bundle until `signal` is aborted. */
export function followClientAuthority(
  options: { readonly source: ClusterClient; readonly logger: Logger }, serve: OnAuthority, signal: AbortSignal,
): void {
  const { source: client, logger } = options;
  const { namespace, name, key } = CLIENT_AUTHORITY;
  const informer = new Informer<KubernetesObject, string>({
    client, logger, type: CONFIG_MAPS,
    selection: { namespace, fieldSelector: `metadata.name=${name}` },
    project: (object) => (object as { readonly data?: StringMap }).data?.[key],
  });
  informer.onChange((_key, before, after) => {
    if (after !== undefined && after !== before && isBundle(after)) serve(after);
  });
  informer.onListed(() => {
    if (informer.size === 0) logger.warn(
      { configMap: `${namespace}/${name}`, key },
      'the cluster publishes no client CA; set one with --kubelet-client-ca-file',
    );
  });
  void informer.run(signal);
}

/** Reads a bundle from a file. Throws AppError `StartFailed` or `BadInput`. */
export async function readClientAuthority(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new AppError(
      'StartFailed', `--kubelet-client-ca-file ${file} cannot be read: ${messageOf(error)}`, { cause: error },
    );
  });
  if (!isBundle(text)) throw new AppError('BadInput', `--kubelet-client-ca-file ${file} contains no PEM certificate.`);
  return text;
}

function isBundle(text: string): boolean {
  return text.includes('-----BEGIN CERTIFICATE-----');
}

// The namespaces of an installation. An existing one belongs to whoever created it: it gets no label of ours, and so is
// never deleted by `isthmus uninstall --purge`.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { NAMESPACES } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { installNamespaceManifest } from '../../manifests/install.ts';
import { applyObjects, type Progress } from '../clusters/apply-objects.ts';
import { isOfIsthmus } from '../clusters/own-objects.ts';

/** The objects, without namespaces that somebody else has created. Throws what reading throws. */
export async function withoutOwnNamespace(
  client: ClusterClient, objects: readonly KubernetesObject[], signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const foreign = new Set<string | undefined>();
  for (const { kind, metadata: { name = '' } } of objects) {
    if (kind !== 'Namespace') continue;
    const found = await client.get(NAMESPACES, { name }, signal).catch(unless(isNotFound));
    if (found !== undefined && !isOfIsthmus(found)) foreign.add(name);
  }
  return objects.filter(({ kind, metadata: { name } }) => kind !== 'Namespace' || !foreign.has(name));
}

/** Creates the install namespace; leaves an existing one of others unchanged. Throws what API calls throw. */
export async function ensureInstallNamespace(
  client: ClusterClient, name: string, fieldManager: string, progress: Progress,
): Promise<void> {
  const objects = await withoutOwnNamespace(client, [installNamespaceManifest(name)], progress.signal);
  await applyObjects(client, objects, fieldManager, progress);
  if (objects.length === 0) progress.tell(`kept Namespace ${name} as it is`);
}

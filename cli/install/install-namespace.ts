// The namespaces of an installation. An existing one belongs to its creator: it gets no label of Isthmus, and
// so is never deleted by `isthmus uninstall --purge`.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { NAMESPACES } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { installNamespaceManifest } from '../../manifests/install.ts';
import { applyObjects, type Progress } from '../clusters/apply-objects.ts';
import { isOfIsthmus } from '../clusters/own-objects.ts';

/** The objects, without namespaces that others created. Throws what reading throws. */
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

/**
 * Creates the install namespace unless it exists: a write would wait for webhooks, ours among them, which may just be
 * starting. Throws what API calls throw.
 */
export async function ensureInstallNamespace(
  client: ClusterClient, name: string, fieldManager: string, progress: Progress,
): Promise<void> {
  const found = await client.get(NAMESPACES, { name }, progress.signal).catch(unless(isNotFound));
  if (found === undefined) await applyObjects(client, [installNamespaceManifest(name)], fieldManager, progress);
}

/**
 * Creates the namespaces among these objects; leaves existing ones of others unchanged. Throws what API calls throw.
 */
export async function ensureNamespaces(
  client: ClusterClient, manifests: readonly KubernetesObject[], fieldManager: string, progress: Progress,
): Promise<void> {
  const namespaces = manifests.filter(({ kind }) => kind === 'Namespace');
  const objects = await withoutOwnNamespace(client, namespaces, progress.signal);
  await applyObjects(client, objects, fieldManager, progress);
  for (const kept of namespaces.filter((object) => !objects.includes(object))) {
    progress.tell(`kept Namespace ${kept.metadata.name} as it is`);
  }
}

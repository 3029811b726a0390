// What others keep in a namespace of Isthmus, of every kind that the API server serves: deleting the namespace would
// delete it.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { servedTypes, type ServedType } from '../../kubernetes/client/served-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { isOfIsthmus } from '../clusters/own-objects.ts';

/** Kinds that controllers write about other objects, and that are deleted with them: users keep nothing in them. */
const DERIVED: ReadonlySet<string> =
  new Set(['events', 'endpoints', 'endpointslices', 'leases', 'controllerrevisions']);
/** Objects that Kubernetes and OpenShift create in every namespace. */
const IN_EVERY_NAMESPACE: ReadonlySet<string> =
  new Set(['ConfigMap kube-root-ca.crt', 'ConfigMap openshift-service-ca.crt', 'ServiceAccount default']);

/**
 * `Kind name` of each object in the namespace that Isthmus did not create, without those that belong to another object.
 * @throws what API calls throw, also where one kind cannot be listed: nothing is taken to be absent unseen.
 */
export async function contentOfOthers(
  client: ClusterClient, namespace: string, signal: AbortSignal,
): Promise<readonly string[]> {
  const types = (await servedTypes(client, signal)).filter(isKept);
  const found = await Promise.all(types.map(async (type) => {
    const objects = await client.list(type, { namespace }, signal).catch(unless(isNotFound)) ?? [];
    return objects.filter((object) => !isOfInstallation(type, object)).map((object) => titleOf(type, object));
  }));
  return [...new Set(found.flat())]; // some kinds are served by two groups
}

function isKept({ namespaced, plural, verbs }: ServedType): boolean {
  return namespaced && verbs.includes('list') && verbs.includes('delete') && !DERIVED.has(plural);
}

function titleOf({ kind }: ServedType, { metadata: { name = '' } }: KubernetesObject): string {
  return `${kind} ${name}`;
}

/** Besides objects with our label: what components and cert-manager write for us, and what every namespace has. */
function isOfInstallation(type: ServedType, object: KubernetesObject): boolean {
  const { name = '', ownerReferences = [] } = object.metadata;
  return isOfIsthmus(object) || name.startsWith('isthmus-') || ownerReferences.length > 0
    || IN_EVERY_NAMESPACE.has(titleOf(type, object));
}

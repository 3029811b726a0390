// The kinds that an API server serves (aggregated discovery, `apidiscovery.k8s.io/v2`, Kubernetes 1.30 and newer).
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { ClusterClient } from './cluster-client.ts';

const ACCEPT = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** A kind in the version that the server prefers. */
export interface ServedType extends ResourceType {
  /** Verbs of its objects, such as `list` and `delete`. */
  readonly verbs: readonly string[];
}

interface GroupDiscoveryList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind?: { readonly kind?: string };
        readonly scope?: string;
        readonly verbs?: readonly string[];
      }[];
    }[];
  }[];
}

/**
 * All kinds that the API server serves, without subresources and without those of an aggregated API server that does
 * not answer. Throws what API calls throw.
 */
export async function servedTypes(client: ClusterClient, signal: AbortSignal): Promise<readonly ServedType[]> {
  const lists = await Promise.all(['/api', '/apis'].map(
    (path) => client.transport.call<GroupDiscoveryList>({ method: 'GET', path, accept: ACCEPT }, signal),
  ));
  return lists.flatMap(({ items = [] }) => items).flatMap(({ metadata, versions = [] }) => {
    const [preferred] = versions;
    return (preferred?.resources ?? []).map(({ resource, responseKind, scope, verbs = [] }) => ({
      group: metadata?.name ?? '', version: preferred?.version ?? '', plural: resource,
      kind: responseKind?.kind ?? resource, namespaced: scope === 'Namespaced', verbs,
    }));
  });
}

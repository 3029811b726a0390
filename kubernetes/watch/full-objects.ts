// Informers that cache whole objects, for kinds with few objects or of which all fields are needed.
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { ClusterClient } from '../client/cluster-client.ts';
import { Informer, type IndexKey } from './informer.ts';

/** Which objects of a kind to cache; all when empty. */
export interface FullSelection<T> {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string;
  /** Only the object of this name. */
  readonly name?: string;
  readonly indexes?: Readonly<Record<string, IndexKey<T>>>;
}

/** Creates such informers. */
export type FullInformerFactory =
  <T extends KubernetesObject>(type: ResourceType<T>, selection?: FullSelection<T>) => Informer<T, T>;

/** An informer factory for one cluster. */
export function fullInformersOf(
  { client, logger }: { readonly client: ClusterClient; readonly logger: Logger },
): FullInformerFactory {
  return (type, { namespace, labelSelector, name, indexes = {} } = {}) =>
    new Informer({
      client, logger, type,
      selection: { namespace, labelSelector, ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }) },
      project: (object) => object, indexes,
    });
}

// Informers that keep objects as they are, for kinds of which there are few, or of which all is needed.
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { ClusterClient } from '../client/cluster-client.ts';
import { Informer, type IndexKey } from './informer.ts';

/** What of a kind is kept; all of it when nothing is said. */
export interface FullSelection<T> {
  readonly namespace?: string | undefined;
  /** The one of this name. */
  readonly name?: string;
  readonly indexes?: Readonly<Record<string, IndexKey<T>>>;
}

/** Makes such informers. */
export type FullInformerFactory = <T extends KubernetesObject>(type: ResourceType<T>, selection?: FullSelection<T>) => Informer<T, T>;

/** A maker of informers for one cluster. */
export function fullInformersOf({ client, logger }: { readonly client: ClusterClient; readonly logger: Logger }): FullInformerFactory {
  return (type, { namespace, name, indexes = {} } = {}) =>
    new Informer({ client, logger, type, selection: { namespace, ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }) }, project: (object) => object, indexes });
}

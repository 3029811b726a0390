// What `isthmus get` can show, and how it is read.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { PROXY_SCHEDULER } from '../../api/objects/keys.ts';
import {
  apiVersionOf, CLUSTER_SOURCES, CLUSTER_TARGETS, NODES, PODS, SOURCES, TARGETS,
} from '../../api/resource-types.ts';
import { PROXY_PODS, VIRTUAL_NODES } from '../../model/proxy/proxy-selection.ts';
import type { ClusterClient, Selection } from '../../kubernetes/client/cluster-client.ts';
import { AppError } from '../../process/errors.ts';

/** In the order in which a table of contents would have them. */
export const KINDS = ['targets', 'pods', 'nodes', 'sources'] as const;
/** Something that `get` shows. */
export type Kind = (typeof KINDS)[number];

const SHORT_NAMES: ReadonlyMap<string, Kind> = new Map([
  ['po', 'pods'], ['no', 'nodes'], ['ctg', 'targets'], ['tg', 'targets'], ['clustertarget', 'targets'],
  ['clustertargets', 'targets'], ['csrc', 'sources'], ['src', 'sources'], ['clustersource', 'sources'],
  ['clustersources', 'sources'],
]);

/** `pods`, `pod` or `po`, and so on. Throws AppError `BadInput`. */
export function parseKind(text: string): Kind {
  const kind = KINDS.find((known) => text === known || text === known.slice(0, -1)) ?? SHORT_NAMES.get(text);
  if (kind !== undefined) return kind;
  throw new AppError('BadInput', `get shows ${KINDS.join(', ')}, not "${text}".`);
}

/** What a user asked for. */
export interface Wanted {
  readonly kind: Kind;
  /** NAME or NAMESPACE/NAME; all when empty. */
  readonly names: readonly string[];
  /** All when missing. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
}

/** The collections in which a kind is found. */
export function collectionsOf({ kind, namespace, labelSelector }: Wanted): readonly (
  readonly [ResourceType, Selection]
)[] {
  const labels = labelSelector === undefined ? {} : { labelSelector };
  const ofBoth = (cluster: ResourceType, namespaced: ResourceType): readonly (readonly [ResourceType, Selection])[] =>
    [...(namespace === undefined ? [[cluster, labels] as const] : []), [namespaced, { namespace, ...labels }]];
  switch (kind) {
    case 'pods':
      return [[PODS, { namespace, ...PROXY_PODS, ...labels }]];
    case 'nodes': {
      const virtual = VIRTUAL_NODES.labelSelector;
      return [[NODES, { labelSelector: labelSelector === undefined ? virtual : `${virtual},${labelSelector}` }]];
    }
    case 'sources':
      return ofBoth(CLUSTER_SOURCES, SOURCES);
    case 'targets':
      return ofBoth(CLUSTER_TARGETS, TARGETS);
  }
}

/** Reads the objects. Throws what the calls throw. */
export async function readObjects(
  client: ClusterClient, wanted: Wanted, signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const lists = await Promise.all(collectionsOf(wanted).map(async ([type, selection]) =>
    (await client.list(type, selection, signal)).map((object) => withType(type, object))));
  return selected(lists.flat(), wanted);
}

/** Pods of the names that were asked for, that are not elected; none where they may not be read. */
export async function readOthers(
  client: ClusterClient, { names, namespace }: Wanted, signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const lists = await Promise.all(names.map((text) => {
    const [name = '', within = namespace] = text.split('/').toReversed();
    return client.list(PODS, { namespace: within, fieldSelector: `metadata.name=${name}` }, signal).catch(() => []);
  }));
  return lists.flat().filter(({ spec }) => spec.schedulerName !== PROXY_SCHEDULER);
}

/** Those that were named, or all. */
export function selected(objects: readonly KubernetesObject[], { names }: Wanted): readonly KubernetesObject[] {
  return names.length === 0 ? objects : objects.filter(({ metadata }) => names.some((name) => isNamed(metadata, name)));
}

/** Whether an object has this NAME, or NAMESPACE/NAME. */
export function isNamed({ namespace, name }: KubernetesObject['metadata'], text: string): boolean {
  return name === text || `${namespace}/${name}` === text;
}

/** Items of a list lack kind and apiVersion. */
export function withType(type: ResourceType, object: KubernetesObject): KubernetesObject {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}

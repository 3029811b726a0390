// The map: elected pods with the workloads that own them, a line from each to its target, and one to its delegate
// where Headlamp shows that cluster, too.
import type { Pod } from '../../api/objects/core.ts';
import { PARENT_UID_LABEL, TARGET_ANNOTATION } from '../../api/objects/keys.ts';
import { shortTargetName, targetKey } from '../../model/naming/target-ref.ts';
import { isProxyPod } from '../../model/pod/pod.ts';
import type { UnreadablePart } from '../wire/screens.ts';
import { unreadablePartOf, unreadableOf } from './listings.ts';
import type { HeadlampError, HeadlampObject, Listing, MapEdge, MapNode } from './plugin-lib.ts';
import { isDelegateOf } from './pod-facts.ts';
import { nodeFacts } from './target-facts.ts';

/** What Headlamp has read for the map. */
export interface MapListings {
  readonly pods: Listing;
  readonly nodes: Listing;
  /** Lists of workloads, by the plural of their kind. */
  readonly workloads: Readonly<Record<string, Listing>>;
}

/** A box, and what is missing about it. */
export interface PlacementBox extends MapNode {
  readonly unreadable?: readonly UnreadablePart[];
}

/** The map. */
export interface PlacementMap {
  readonly nodes: readonly PlacementBox[];
  readonly edges: readonly MapEdge[];
}

/** What boxes are looked up in. */
interface Known {
  /** Boxes of virtual nodes, by cluster and name. */
  readonly targets: Map<string, PlacementBox>;
  /** By UID. */
  readonly workloads: ReadonlyMap<string, HeadlampObject>;
  /** Delegates by the UID of their proxy pods. */
  readonly delegates: ReadonlyMap<string, readonly HeadlampObject[]>;
  readonly nodeErrors: readonly HeadlampError[];
}

/** The map; undefined until pods and nodes have been read or refused. */
export function placementMap({ pods, nodes, workloads }: MapListings): PlacementMap | undefined {
  if (isReading(pods) || isReading(nodes)) return undefined;
  const known: Known = {
    targets: targetBoxes(nodes.items ?? []),
    workloads: new Map(Object.values(workloads).flatMap(({ items }) => items ?? []).map((one) => [uidOf(one), one])),
    delegates: delegatesByParent(pods.items ?? []), nodeErrors: nodes.errors ?? [],
  };
  const proxies = (pods.items ?? []).filter((one) => isProxyPod(podOf(one)) && uidOf(one) !== '');
  const parts = proxies.map((proxy) => partOf(proxy, known));
  const unreadable = unreadableOf('pods', pods);
  // a viewer who may not read pods sees only that
  if (unreadable.length === 0) {
    unreadable.push(...Object.entries(workloads).flatMap(([plural, one]) => unreadableOf(plural, one)));
  }
  return {
    nodes: [...known.targets.values(), ...parts.flatMap((part) => part.nodes), ...unreadable.map(unreadableBox)],
    edges: parts.flatMap(({ edges }) => edges),
  };
}

/** The lines from proxy pods to their delegates among these pods. */
export function delegateEdges(pods: readonly HeadlampObject[]): readonly MapEdge[] {
  const delegates = delegatesByParent(pods);
  return pods.filter((one) => isProxyPod(podOf(one))).flatMap((proxy) => (
    delegatesOf(proxy, delegates).map((delegate) => delegateEdge(proxy, delegate))
  ));
}

function isReading({ items, errors }: Listing): boolean {
  return items === null && (errors ?? []).length === 0;
}

function targetBoxes(nodes: readonly HeadlampObject[]): Map<string, PlacementBox> {
  const boxes = new Map<string, PlacementBox>();
  for (const node of nodes) {
    const { jsonData, cluster } = node;
    const facts = nodeFacts(jsonData);
    if (facts === undefined) continue;
    boxes.set(`${cluster}/${jsonData.metadata.name ?? ''}`, {
      id: uidOf(node), kubeObject: node, label: shortTargetName(targetKey(facts.target)),
      subtitle: facts.isCordoned ? 'Target, cordoned' : facts.state === 'Ready' ? 'Target' : `Target, ${facts.state}`,
      status: facts.state !== 'Ready' ? 'error' : facts.isCordoned ? 'warning' : 'success',
    });
  }
  return boxes;
}

function delegatesByParent(pods: readonly HeadlampObject[]): ReadonlyMap<string, readonly HeadlampObject[]> {
  const found = new Map<string, HeadlampObject[]>();
  for (const pod of pods) {
    const parent = pod.jsonData.metadata.labels?.[PARENT_UID_LABEL];
    if (parent === undefined) continue;
    const others = found.get(parent);
    if (others === undefined) found.set(parent, [pod]);
    else others.push(pod);
  }
  return found;
}

function delegatesOf(proxy: HeadlampObject, delegates: Known['delegates']): readonly HeadlampObject[] {
  return (delegates.get(uidOf(proxy)) ?? []).filter((one) => isDelegateOf(podOf(one), podOf(proxy)));
}

/** A pod with what belongs to it. */
function partOf(proxy: HeadlampObject, known: Known): PlacementMap {
  const owners = ownersOf(proxy, known.workloads);
  const delegates = delegatesOf(proxy, known.delegates);
  const target = targetBox(proxy, known);
  return {
    nodes: [proxy, ...owners, ...delegates].map((one) => ({ id: uidOf(one), kubeObject: one })),
    edges: [
      ...ownerEdges([proxy, ...owners]), ...delegates.map((one) => delegateEdge(proxy, one)),
      ...(target === undefined ? [] : [targetEdge(proxy, target)]),
    ],
  };
}

/** Its owner, that one's owner, and so on. */
function ownersOf(pod: HeadlampObject, workloads: Known['workloads']): readonly HeadlampObject[] {
  const found: HeadlampObject[] = [];
  for (let next = ownerOf(pod, workloads); next !== undefined; next = ownerOf(next, workloads)) {
    if (found.includes(next)) break; // a circle of references is possible, if pointless
    found.push(next);
  }
  return found;
}

function ownerOf({ jsonData, cluster }: HeadlampObject, workloads: Known['workloads']): HeadlampObject | undefined {
  return (jsonData.metadata.ownerReferences ?? []).map(({ uid }) => workloads.get(uid))
    .find((owner) => owner?.cluster === cluster);
}

/** With the IDs that Headlamp gives to such lines of its own, so that it shows one. */
function ownerEdges(chain: readonly HeadlampObject[]): readonly MapEdge[] {
  return chain.slice(1).map((owner, index) => {
    const [source, target] = [uidOf(chain[index] ?? owner), uidOf(owner)];
    return { id: `${source}-${target}`, source, target };
  });
}

function targetEdge(proxy: HeadlampObject, target: PlacementBox): MapEdge {
  const source = uidOf(proxy);
  return { id: `isthmus-target-${source}`, source, target: target.id, nonGroupingSide: 'target' };
}

function delegateEdge(proxy: HeadlampObject, delegate: HeadlampObject): MapEdge {
  const source = uidOf(proxy);
  return { id: `isthmus-delegate-${source}-${delegate.cluster}`, source, target: uidOf(delegate) };
}

/** The target of a bound pod; one whose virtual node cannot be read is made of what the pod says. */
function targetBox(proxy: HeadlampObject, { targets, nodeErrors }: Known): PlacementBox | undefined {
  const { metadata, spec } = podOf(proxy);
  if (spec.nodeName === undefined) return undefined;
  const key = `${proxy.cluster}/${spec.nodeName}`;
  const known = targets.get(key);
  if (known !== undefined) return known;
  const unreadable = nodeErrors.filter(({ cluster = proxy.cluster }) => cluster === proxy.cluster)
    .map((error) => unreadablePartOf('nodes', error, 'list'));
  const box: PlacementBox = {
    id: `isthmus-node-${key}`,
    label: shortTargetName(metadata.annotations?.[TARGET_ANNOTATION] ?? spec.nodeName),
    subtitle: unreadable.length > 0 ? 'Target, not readable' : 'Target, without a node', status: 'warning',
    unreadable: unreadable.length > 0 ? unreadable : [{
      what: `node ${spec.nodeName}`, why: 'there is no such virtual node',
      advice: 'Its target has been removed, or its virtual node is being created.',
    }],
  };
  targets.set(key, box);
  return box;
}

function unreadableBox(part: UnreadablePart, index: number): PlacementBox {
  return {
    id: `isthmus-unreadable-${index}`, label: part.what, subtitle: 'Cannot be shown', status: 'warning',
    unreadable: [part],
  };
}

function uidOf({ jsonData }: HeadlampObject): string {
  return jsonData.metadata.uid ?? '';
}

function podOf({ jsonData }: HeadlampObject): Pod {
  return jsonData as Pod;
}

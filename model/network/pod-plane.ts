// What a source knows of the pod plane (design §7), from the objects of the clusterset: whether it is on it, and so under which address a pod of a
// target is reached from here. An address that would lead to another pod, or to nobody, is not shown: Services of the source would send to it.
import { POD_PLANE_BACKEND, SUBMARINER_BACKEND, type Cluster, type Endpoint } from '../../api/kinds/gateway.ts';
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { PodStatus } from '../../api/objects/core.ts';
import { OWN_ENDPOINT_LABEL, TRUE } from '../../api/objects/keys.ts';
import { endpointObjectName } from './gateway-names.ts';
import { isWithin, parseRange } from './ip-range.ts';
import { podPrefixes, seenAddress, type PodPrefix } from './pod-addresses.ts';

/** The pod plane as its members see it. */
export interface PodPlane {
  /** Pod ranges of the other members that run it, by cluster ID. */
  readonly members: ReadonlyMap<string, readonly PodPrefix[]>;
  /** Ranges in which an address belongs to a pod of the clusterset. */
  readonly taken: readonly string[];
}

/** How addresses of a target's pods are to be read in the source. */
export type PodAddresses =
  /** As they are: without a pod plane, and where the target is the source itself. */
  | { readonly kind: 'own' }
  /** The target is a member: those in its ranges, as they are reached from here, and no others. */
  | { readonly kind: 'member'; readonly prefixes: readonly PodPrefix[] }
  /** It is not: as they are, but for those that belong to pods of the clusterset. */
  | { readonly kind: 'outside'; readonly taken: readonly string[] };

/** The pod plane that this cluster is on; undefined when it is on none. That it is broken now changes nothing. */
export function readPodPlane(clusters: readonly Cluster[], endpoints: readonly Endpoint[]): PodPlane | undefined {
  const running = endpoints.filter(isOnPlane);
  const own = running.find(isOwn)?.spec.clusterID;
  if (own === undefined) return undefined;
  const specs = clusters.map(({ spec }) => spec);
  const prefixes = new Map(specs.map((spec) => [spec.clusterID, podPrefixes(spec, specs)]));
  const others = running.filter(({ spec }) => spec.clusterID !== own).flatMap(({ spec: { clusterID, backend } }) => {
    const found = prefixes.get(clusterID)?.filter(({ own: before, seen }) => before === seen || backend === POD_PLANE_BACKEND); // Submariner maps no ranges of ours
    return found === undefined ? [] : [[clusterID, found] as const];
  });
  const reached = others.flatMap(([, found]) => found.map(({ seen }) => seen));
  return { members: new Map(others), taken: [...(specs.find(({ clusterID }) => clusterID === own)?.clusterCIDR ?? []), ...reached] };
}

/** Which member of this cluster's clusterset another cluster is, by the objects that each of them keeps. */
export type FoundMember =
  | { readonly kind: 'member'; readonly clusterId: string }
  /** One of the two runs no pod plane, or this cluster knows no member of that ID. */
  | { readonly kind: 'none' }
  /** Each knows a member of that ID, by other keys: they are of different clustersets. */
  | { readonly kind: 'other-keys'; readonly clusterId: string };

/** What a clusterset looks like from one cluster. */
export interface ClustersetObjects {
  readonly clusters: readonly Cluster[];
  readonly endpoints: readonly Endpoint[];
}

/** Finds the target among the members that the source knows. Keys are public, so this finds out mistakes and not lies: ask only for a target whose administrator you are. */
export function findPlaneMember(source: ClustersetObjects, target: ClustersetObjects): FoundMember {
  const plane = readPodPlane(source.clusters, source.endpoints);
  const own = target.endpoints.filter(isOnPlane).find(isOwn)?.spec;
  if (own === undefined || plane?.members.has(own.clusterID) !== true) return { kind: 'none' };
  const { clusterID: clusterId, backend } = own;
  const known = source.endpoints.filter(isOnPlane).find(({ spec }) => spec.clusterID === clusterId && spec.backend === backend)?.spec;
  return known !== undefined && marksOf(own).some((mark) => marksOf(known).includes(mark)) ? { kind: 'member', clusterId } : { kind: 'other-keys', clusterId };
}

/** By what two clusters know that they mean the same third one: its keys; of a Submariner, whose keys are its own affair, where its gateway is. */
function marksOf({ backend, publicKeys = [], addresses = [] }: Endpoint['spec']): readonly string[] {
  return backend === SUBMARINER_BACKEND ? addresses : publicKeys;
}

function isOwn({ metadata }: Endpoint): boolean {
  return metadata.labels?.[OWN_ENDPOINT_LABEL] === TRUE;
}

/** On ours, with a key; or on that of an existing Submariner. */
function isOnPlane({ metadata, spec: { clusterID, backend, publicKeys = [] } }: Endpoint): boolean {
  return metadata.name === endpointObjectName(clusterID, backend) && ((backend === POD_PLANE_BACKEND && publicKeys.length > 0) || backend === SUBMARINER_BACKEND);
}

/** How to read addresses of a target's pods. Which member a target is, its administrator says: a member could claim to be any cluster. */
export function podAddressesOf(plane: PodPlane | undefined, { self, podPlane, gateway }: Pick<TargetSpec, 'self' | 'podPlane' | 'gateway'>): PodAddresses {
  if (plane === undefined || self === true) return { kind: 'own' };
  const member = podPlane?.cluster ?? gateway?.cluster;
  return member === undefined ? { kind: 'outside', taken: plane.taken } : { kind: 'member', prefixes: plane.members.get(member) ?? [] };
}

/** The status with the addresses under which the pod is reached from here; the same object when they are its own. A pod without one is no endpoint of a Service. */
export function asReachedFromHere(status: PodStatus, addresses: PodAddresses): PodStatus {
  const { podIP, podIPs, ...rest } = status;
  if (addresses.kind === 'own' || podIP === undefined) return status;
  const reached = (podIPs ?? [{ ip: podIP }]).flatMap(({ ip }) => reachedAddress(ip, addresses) ?? []);
  const [first] = reached;
  return first === undefined ? rest : { ...rest, podIP: first, podIPs: reached.map((ip) => ({ ip })) };
}

function reachedAddress(address: string, addresses: Exclude<PodAddresses, { readonly kind: 'own' }>): string | undefined {
  if (addresses.kind === 'member') return seenAddress(addresses.prefixes, address);
  const isTaken = addresses.taken.some((text) => {
    const range = parseRange(text);
    return range !== undefined && isWithin(range, address);
  });
  return isTaken ? undefined : address;
}

// The pod plane (cross-cluster pod network) as a source sees it in the objects of the clusterset: whether it is a
// member, and so under which address it reaches a target's pod. An address that would lead to another pod, or to none,
// is not shown, because Services of the source would send traffic to it.
import {
  POD_PLANE_BACKEND, SUBMARINER_BACKEND, type ClustersetMember, type ClustersetEndpoint,
} from '../../api/kinds/gateway.ts';
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { PodStatus } from '../../api/objects/core.ts';
import { OWN_ENDPOINT_LABEL, TRUE } from '../../api/objects/keys.ts';
import { endpointObjectName } from './gateway-names.ts';
import { isInAny } from './ip-range.ts';
import { allPodPrefixes, seenAddress, type PodPrefix } from './pod-addresses.ts';

/** Default UDP port of WireGuard on the gateway node. */
export const WIREGUARD_PORT = 51_820;

/** The pod plane as its members see it. */
export interface PodPlane {
  /** Pod ranges of the other members that run it, by cluster ID. */
  readonly members: ReadonlyMap<string, readonly PodPrefix[]>;
  /** Ranges whose addresses belong to pods of the clusterset. */
  readonly taken: readonly string[];
}

/** How to translate addresses of a target's pods for the source. */
export type PodAddresses =
  /** Unchanged: without a pod plane, and where the target is the source itself. */
  | { readonly kind: 'own' }
  /** The target is a member: only addresses in its ranges, as they are reached from here. */
  | { readonly kind: 'member'; readonly prefixes: readonly PodPrefix[] }
  /** The target is not a member: unchanged, except addresses that belong to pods of the clusterset. */
  | { readonly kind: 'outside'; readonly taken: readonly string[] };

/** The pod plane of this cluster; undefined when it is not a member. A broken connection makes no difference. */
export function readPodPlane(
  clusters: readonly ClustersetMember[], endpoints: readonly ClustersetEndpoint[],
): PodPlane | undefined {
  const running = endpoints.filter(isOnPlane);
  const own = running.find(isOwn)?.spec.clusterID;
  if (own === undefined) return undefined;
  const specs = clusters.map(({ spec }) => spec);
  const prefixes = allPodPrefixes(specs);
  const others = running.filter(({ spec }) => spec.clusterID !== own).flatMap(({ spec: { clusterID, backend } }) => {
    // Submariner does not map ranges
    const found = prefixes.get(clusterID)
      ?.filter(({ own: before, seen }) => before === seen || backend === POD_PLANE_BACKEND);
    return found === undefined ? [] : [[clusterID, found] as const];
  });
  const reached = others.flatMap(([, found]) => found.map(({ seen }) => seen));
  return {
    members: new Map(others),
    taken: [...(specs.find(({ clusterID }) => clusterID === own)?.clusterCIDR ?? []), ...reached],
  };
}

/** Which member of this cluster's clusterset another cluster is, by the objects that both store. */
export type FoundMember =
  | { readonly kind: 'member'; readonly clusterId: string }
  /** One of the two runs no pod plane, or this cluster has no member of that ID. */
  | { readonly kind: 'none' }
  /** Each has a member of that ID with different keys: they are of different clustersets. */
  | { readonly kind: 'other-keys'; readonly clusterId: string };

/** A clusterset as one cluster sees it. */
export interface ClustersetObjects {
  readonly clusters: readonly ClustersetMember[];
  readonly endpoints: readonly ClustersetEndpoint[];
}

/**
 * Finds the target among the members of the source's clusterset. Keys are public, so this detects mistakes, not lies:
 * use it only for a target whose administrator you are.
 */
export function findPlaneMember(source: ClustersetObjects, target: ClustersetObjects): FoundMember {
  const plane = readPodPlane(source.clusters, source.endpoints);
  const own = target.endpoints.filter(isOnPlane).find(isOwn)?.spec;
  if (own === undefined || plane?.members.has(own.clusterID) !== true) return { kind: 'none' };
  const { clusterID: clusterId, backend } = own;
  const known = source.endpoints.filter(isOnPlane)
    .find(({ spec }) => spec.clusterID === clusterId && spec.backend === backend)?.spec;
  return known !== undefined && identifiersOf(own).some((one) => identifiersOf(known).includes(one))
    ? { kind: 'member', clusterId }
    : { kind: 'other-keys', clusterId };
}

/**
 * What identifies a third cluster in the objects of two others: its keys or, with Submariner, which manages its own
 * keys, its gateway's addresses.
 */
function identifiersOf({ backend, publicKeys = [], addresses = [] }: ClustersetEndpoint['spec']): readonly string[] {
  return backend === SUBMARINER_BACKEND ? addresses : publicKeys;
}

function isOwn({ metadata }: ClustersetEndpoint): boolean {
  return metadata.labels?.[OWN_ENDPOINT_LABEL] === TRUE;
}

/** On our pod plane, with a key; or on that of an existing Submariner. */
function isOnPlane({ metadata, spec: { clusterID, backend, publicKeys = [] } }: ClustersetEndpoint): boolean {
  return metadata.name === endpointObjectName(clusterID, backend)
    && ((backend === POD_PLANE_BACKEND && publicKeys.length > 0) || backend === SUBMARINER_BACKEND);
}

/**
 * How to translate addresses of a target's pods. The administrator configures which member a target is, because a
 * member could claim to be any cluster.
 */
export function podAddressesOf(
  plane: PodPlane | undefined, { self, podPlane, gateway }: Pick<TargetSpec, 'self' | 'podPlane' | 'gateway'>,
): PodAddresses {
  if (plane === undefined || self === true) return { kind: 'own' };
  const member = podPlane?.cluster ?? gateway?.cluster;
  return member === undefined
    ? { kind: 'outside', taken: plane.taken }
    : { kind: 'member', prefixes: plane.members.get(member) ?? [] };
}

/**
 * The status with the addresses under which the pod is reached from here; the same object when they are unchanged. A
 * pod without an address is no endpoint of a Service.
 */
export function asReachedFromHere(status: PodStatus, addresses: PodAddresses): PodStatus {
  const { podIP, podIPs, ...rest } = status;
  if (addresses.kind === 'own' || podIP === undefined) return status;
  const reached = (podIPs ?? [{ ip: podIP }]).flatMap(({ ip }) => reachedAddress(ip, addresses) ?? []);
  const [first] = reached;
  return first === undefined ? rest : { ...rest, podIP: first, podIPs: reached.map((ip) => ({ ip })) };
}

function reachedAddress(address: string, addresses: Exclude<PodAddresses, { readonly kind: 'own' }>): string
  | undefined {
  if (addresses.kind === 'member') return seenAddress(addresses.prefixes, address);
  return isInAny(addresses.taken, address) ? undefined : address;
}

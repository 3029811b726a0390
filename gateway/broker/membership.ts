// Computes a gateway's peers from the clusterset's ClustersetMember and ClustersetEndpoint objects. Objects of others
// are untrusted: inconsistent ones are ignored.
import type { ClustersetMember, ClustersetEndpoint } from '../../api/kinds/gateway.ts';
import { endpointObjectName, isClusterId } from '../../model/network/gateway-names.ts';
import { doOverlap, parseRange, type IpRange } from '../../model/network/ip-range.ts';
import { podPrefixes } from '../../model/network/pod-addresses.ts';
import { parseAddress } from '../protocol/allowed-services.ts';
import type { Peer } from '../protocol/cable-driver.ts';

/** The result. */
export interface Membership {
  /** All other members, sorted by name. */
  readonly peers: readonly Peer[];
  readonly revokedSerials: ReadonlySet<string>;
  /** Members whose pods are unreachable because of overlapping CIDRs, as text; the API plane is not affected. */
  readonly overlaps: readonly string[];
}

/**
 * Peers of a member for one driver. A ClustersetEndpoint counts only if its name matches its cluster and backend, and a
 * ClustersetMember of that cluster exists.
 */
export function planMembership(
  own: string, clusters: readonly ClustersetMember[], endpoints: readonly ClustersetEndpoint[], backend: string,
): Membership {
  const members = new Map(clusters.filter(isConsistent).map((cluster) => [cluster.spec.clusterID, cluster]));
  const peers = endpoints
    .filter(
      ({ metadata, spec }) =>
        spec.backend === backend && spec.clusterID !== own && members.has(spec.clusterID)
          && metadata.name === endpointObjectName(spec.clusterID, backend),
    )
    .map(
      ({ spec }) => ({
        clusterId: spec.clusterID,
        addresses: (spec.addresses ?? []).filter((address) => parseAddress(address) !== undefined),
      }),
    )
    .toSorted((one, other) => (one.clusterId < other.clusterId ? -1 : 1));
  const revokedSerials = new Set(
    [...members.values()].flatMap(({ spec }) => spec.revokedSerials ?? []).map((serial) => serial.toUpperCase()),
  );
  return { peers, revokedSerials, overlaps: findOverlaps([...members.values()]) };
}

function isConsistent({ metadata, spec }: ClustersetMember): boolean {
  return isClusterId(spec.clusterID) && metadata.name === spec.clusterID;
}

/** Pairs of members whose pod CIDRs overlap without a global CIDR, as text. */
export function findOverlaps(clusters: readonly ClustersetMember[]): readonly string[] {
  const specs = clusters.map(({ spec }) => spec);
  const pairs = new Map<string, string>();
  for (const { clusterID, clusterCIDR, ...spec } of specs) {
    const mapped = new Set(podPrefixes({ clusterID, clusterCIDR: clusterCIDR ?? [], ...spec }, specs).map(
      ({ own }) => parseRange(own)?.first,
    ));
    for (const range of rangesOf(clusterCIDR).filter(({ version, first }) => version === 6 || !mapped.has(first))) {
      const other = specs.filter((one) => one.clusterID !== clusterID).find(
        (one) =>
          rangesOf([...(one.clusterCIDR ?? []), ...(one.serviceCIDR ?? [])]).some((theirs) => doOverlap(range, theirs)),
      );
      if (other !== undefined) pairs.set(
        [clusterID, other.clusterID].toSorted().join(' '),
        `${clusterID} (${range.text}) and ${other.clusterID} use the same addresses`,
      );
    }
  }
  return [...pairs.values()];
}

function rangesOf(texts: readonly string[] = []): readonly IpRange[] {
  return texts.flatMap((text) => parseRange(text) ?? []);
}

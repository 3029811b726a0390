// From the Cluster and Endpoint objects of a clusterset to the peers that a gateway wants. What others wrote is data: an object that
// contradicts itself counts for nothing.
import type { Cluster, Endpoint } from '../../api/kinds/gateway.ts';
import { endpointObjectName, isClusterId } from '../../model/network/gateway-names.ts';
import { doOverlap, parseRange, type IpRange } from '../../model/network/ip-range.ts';
import { podPrefixes } from '../../model/network/pod-addresses.ts';
import { parseAddress } from '../protocol/allowed-services.ts';
import type { Peer } from '../protocol/cable-driver.ts';

/** What the objects come to. */
export interface Membership {
  /** All members but the one that asks, in the order of their names. */
  readonly peers: readonly Peer[];
  readonly revokedSerials: ReadonlySet<string>;
  /** Members whose pods cannot be reached because of their ranges, in words; no harm for the API plane. */
  readonly overlaps: readonly string[];
}

/** Name of the Cluster object of a member, and the beginning of those of its Endpoints. */
export function clusterObjectName(clusterId: string): string {
  return clusterId;
}

/** The peers of a member, of one driver. An Endpoint counts only under its own name and beside the Cluster of that name. */
export function planMembership(own: string, clusters: readonly Cluster[], endpoints: readonly Endpoint[], backend: string): Membership {
  const members = new Map(clusters.filter(isConsistent).map((cluster) => [cluster.spec.clusterID, cluster]));
  const peers = endpoints
    .filter(({ metadata, spec }) => spec.backend === backend && spec.clusterID !== own && members.has(spec.clusterID) && metadata.name === endpointObjectName(spec.clusterID, backend))
    .map(({ spec }) => ({ clusterId: spec.clusterID, addresses: (spec.addresses ?? []).filter((address) => parseAddress(address) !== undefined) }))
    .toSorted((one, other) => (one.clusterId < other.clusterId ? -1 : 1));
  const revokedSerials = new Set([...members.values()].flatMap(({ spec }) => spec.revokedSerials ?? []).map((serial) => serial.toUpperCase()));
  return { peers, revokedSerials, overlaps: findOverlaps([...members.values()]) };
}

function isConsistent({ metadata, spec }: Cluster): boolean {
  return isClusterId(spec.clusterID) && metadata.name === clusterObjectName(spec.clusterID);
}

/** Each pair of members where pods of one cannot be reached because of their ranges, in words: no global range tells them apart. */
export function findOverlaps(clusters: readonly Cluster[]): readonly string[] {
  const specs = clusters.map(({ spec }) => spec);
  const pairs = new Map<string, string>();
  for (const { clusterID, clusterCIDR, ...spec } of specs) {
    const mapped = new Set(podPrefixes({ clusterID, clusterCIDR: clusterCIDR ?? [], ...spec }, specs).map(({ own }) => parseRange(own)?.first));
    for (const range of rangesOf(clusterCIDR).filter(({ version, first }) => version === 6 || !mapped.has(first))) {
      const other = specs.filter((one) => one.clusterID !== clusterID).find((one) => rangesOf([...(one.clusterCIDR ?? []), ...(one.serviceCIDR ?? [])]).some((theirs) => doOverlap(range, theirs)));
      if (other !== undefined) pairs.set([clusterID, other.clusterID].toSorted().join(' '), `${clusterID} (${range.text}) and ${other.clusterID} use the same addresses`);
    }
  }
  return [...pairs.values()];
}

function rangesOf(texts: readonly string[] = []): readonly IpRange[] {
  return texts.flatMap((text) => parseRange(text) ?? []);
}

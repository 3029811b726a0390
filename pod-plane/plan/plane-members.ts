// Computes a member's pod plane from the clusterset's objects: its own CIDRs, and peers with their keys and CIDRs.
import { POD_PLANE_BACKEND, type ClustersetMember, type ClustersetEndpoint } from '../../api/kinds/gateway.ts';
import { endpointObjectName } from '../../model/network/gateway-names.ts';
import { isInAny } from '../../model/network/ip-range.ts';
import { podPrefixes, type PodPrefix } from '../../model/network/pod-addresses.ts';
import { planMembership } from '../../gateway/broker/membership.ts';
import type { PodPeer } from './pod-plane-plan.ts';

/** The clusterset's pod plane as seen by one member. */
export interface PlaneMembers {
  /** Own pod CIDRs, as we and as the others see them. */
  readonly prefixes: readonly PodPrefix[];
  readonly peers: readonly PodPeer[];
  /** Pod CIDRs of the others, as we see them. */
  readonly remoteRanges: readonly string[];
}

/**
 * The result for a member; undefined while its own ClustersetMember object does not exist. A range that holds an
 * address of a node is left out: the other nodes would route what they send to that node to another cluster.
 */
export function planPlaneMembers(
  own: string, clusters: readonly ClustersetMember[], endpoints: readonly ClustersetEndpoint[],
  nodeAddresses: readonly string[] = [],
): PlaneMembers | undefined {
  const specs = clusters.map(({ spec }) => spec);
  const self = specs.find(({ clusterID }) => clusterID === own);
  if (self === undefined) return undefined;
  const holdsNode = (range: string) => nodeAddresses.some((address) => isInAny([range], address));
  const rangesOf = (id: string) => specs.filter(
    ({ clusterID }) => clusterID === id,
  ).flatMap((spec) => podPrefixes(spec, specs)).map(({ seen }) => seen).filter((range) => !holdsNode(range));
  const keysOf = (id: string) => endpoints.find(
    ({ metadata }) => metadata.name === endpointObjectName(id, POD_PLANE_BACKEND),
  )?.spec.publicKeys ?? [];
  const peers = planMembership(own, clusters, endpoints, POD_PLANE_BACKEND).peers.map(
    (peer) => ({ ...peer, publicKeys: keysOf(peer.clusterId), ranges: rangesOf(peer.clusterId) }),
  );
  return { prefixes: podPrefixes(self, specs), peers, remoteRanges: peers.flatMap(({ ranges }) => ranges) };
}

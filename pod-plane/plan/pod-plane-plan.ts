// Plans the pod plane of a gateway from its own identity and its peers: WireGuard peers with their CIDRs, addresses,
// routes and packet rules. Pure, so that a plan can be shown, compared and tested without privileges.
import { doCidrsOverlap, formatV4, parseRange } from '../../model/network/ip-range.ts';
import type { PodPrefix } from '../../model/network/pod-addresses.ts';
import type { Peer } from '../../gateway/protocol/cable-driver.ts';
import { isWireguardKey } from '../../gateway/protocol/wireguard-keys.ts';
import type { WireguardPeer } from './wireguard-protocol.ts';

/** Another member, as far as its pods matter. */
export interface PodPeer extends Peer {
  /** Base64. Several during a key rotation: the newest first. */
  readonly publicKeys: readonly string[];
  /** Its pod CIDRs as we see them. */
  readonly ranges: readonly string[];
}

/** A node of this cluster that is not the gateway. */
export interface WorkerNode {
  readonly name: string;
  /** Address by which the gateway node reaches it. */
  readonly address: string;
  /** Its podCIDR. */
  readonly podCIDR: string;
}

/** The planning member. */
export interface PodPlaneSelf {
  readonly clusterId: string;
  /** Own pod CIDRs, as we and as the others see them. */
  readonly prefixes: readonly PodPrefix[];
  /** Whether others can dial in. */
  readonly isReachable: boolean;
}

/** A plan, and the peers excluded from it. */
export interface PodPlanePlan {
  /** Without endpoints: the address of a peer is found at run time. */
  readonly peers: readonly (Omit<WireguardPeer, 'endpoint'> & { readonly clusterId: string })[];
  /** CIDRs routed into the tunnel. */
  readonly routes: readonly string[];
  /** Pairs of CIDRs between which this gateway forwards traffic of others. */
  readonly relayed: readonly string[];
  /** Excluded peers with the reason. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Persistent keepalive, so that NAT on the path keeps its entry. */
const KEEPALIVE_SECONDS = 10;

/**
 * The plan. When neither we nor a peer can be dialled, the first member that can be relays the traffic: its WireGuard
 * peer gets the CIDRs of both. A peer with overlapping CIDRs is excluded with a reason: WireGuard would silently move
 * them to the last one.
 */
export function planPodPlane(self: PodPlaneSelf, peers: readonly PodPeer[]): PodPlanePlan {
  const refused = new Map<string, string>();
  const accepted =
    peers.toSorted((one, other) => (one.clusterId < other.clusterId ? -1 : 1)).filter((peer, index, all) => {
    const reason = refusal(self, peer, all.slice(0, index).filter(({ clusterId }) => !refused.has(clusterId)));
    if (reason !== undefined) refused.set(peer.clusterId, reason);
    return reason === undefined;
  });
  const hub = accepted.find(({ addresses }) => addresses.length > 0);
  const isBehindHub = (peer: PodPeer) => !self.isReachable && peer.addresses.length === 0 && hub !== undefined;
  const viaHub = accepted.filter(isBehindHub).flatMap(({ ranges }) => ranges);
  return {
    peers: accepted.filter((peer) => !isBehindHub(peer)).flatMap((peer) => toPeers(peer, peer === hub ? viaHub : [])),
    routes: accepted.flatMap(({ ranges }) => ranges),
    relayed: self.isReachable ? relayedRanges(accepted) : [],
    refused,
  };
}

/**
 * During a key rotation a member is two WireGuard peers; only the newest has the CIDRs, because two cannot have the
 * same.
 */
function toPeers({ clusterId, publicKeys, ranges }: PodPeer, viaHub: readonly string[]): PodPlanePlan['peers'] {
  return publicKeys.map(
    (publicKey, index) => ({
      clusterId, publicKey, allowedIPs: index === 0 ? [...ranges, ...viaHub] : [], keepaliveSeconds: KEEPALIVE_SECONDS,
    }),
  );
}

function relayedRanges(accepted: readonly PodPeer[]): readonly string[] {
  const hidden = accepted.filter(({ addresses }) => addresses.length === 0);
  return hidden.length > 1 ? hidden.flatMap(({ ranges }) => ranges) : [];
}

function refusal({ prefixes }: PodPlaneSelf, peer: PodPeer, before: readonly PodPeer[]): string | undefined {
  if (peer.publicKeys.length === 0 || !peer.publicKeys.every(isWireguardKey)) {
    return 'it has announced no key; is its pod plane running?';
  }
  if (peer.ranges.length === 0) {
    return 'it has announced no pod range of its own, or only ranges with addresses of our nodes; let it join again ' +
      'with another --cluster-cidr';
  }
  const own = prefixes.flatMap((prefix) => [prefix.own, prefix.seen]);
  const overlap = peer.ranges.find((range) => own.some((one) => doCidrsOverlap(one, range)));
  if (overlap !== undefined) return `its range ${overlap} is ours as well`;
  const isTaken = (range: string) => peer.ranges.some((one) => doCidrsOverlap(one, range));
  const other = before.find(({ ranges }) => ranges.some(isTaken));
  return other === undefined ? undefined : `its range ${peer.ranges.join(', ')} is that of ${other.clusterId} as well`;
}

/** A gateway's tunnel address: the first of its first pod CIDR, which no pod gets. Undefined without a CIDR. */
export function tunnelAddress(ranges: readonly string[]): string | undefined {
  const range = parseRange(ranges[0] ?? '');
  return range === undefined ? undefined : formatV4(range.first);
}

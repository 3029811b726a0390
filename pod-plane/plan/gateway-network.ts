// Links, routes and neighbours of the node that is the gateway of the pod plane, as data.
import type { Network } from './network-plan.ts';
import type { WorkerNode } from './pod-plane-plan.ts';

/** Names of the links of the pod plane. */
export interface LinkNames {
  readonly tunnel: string;
  readonly overlay: string;
}

/** What it follows from. */
export interface GatewayNetworkFacts {
  readonly names: LinkNames;
  /** Largest packet on the way between gateways, in bytes. */
  readonly underlayMtu: number;
  /** Address of this node for the other nodes of the cluster; without one nothing leads to them. */
  readonly nodeAddress: string | undefined;
  /** Address of the gateway on the tunnel. */
  readonly source: string | undefined;
  /** Ranges that are routed into the tunnel. */
  readonly routes: readonly string[];
  readonly workers: readonly WorkerNode[];
}

/** What WireGuard puts around a packet over IPv6, the larger of both, in bytes; 1420 is left of 1500. */
export const WIREGUARD_OVERHEAD = 80;
/** What VXLAN puts around a frame, in bytes. */
const VXLAN_OVERHEAD = 50;
const ROUTE_TABLE = 7_373;

/** The network: the tunnel, and the overlay to the cluster's other nodes where there are any. */
export function gatewayNetwork({ names: { tunnel, overlay }, underlayMtu, nodeAddress, source, routes, workers: all }: GatewayNetworkFacts): Network {
  const workers = nodeAddress === undefined ? [] : all;
  const mtu = underlayMtu - WIREGUARD_OVERHEAD;
  return {
    links: [
      { kind: 'wireguard', name: tunnel, mtu, address: source },
      ...(workers.length === 0 || nodeAddress === undefined ? [] : [{ kind: 'vxlan', name: overlay, mtu: Math.min(mtu, underlayMtu - VXLAN_OVERHEAD), local: nodeAddress } as const]),
    ],
    routes: [
      ...routes.map((range) => ({ device: tunnel, range, source })),
      ...workers.map(({ address, podCIDR }) => ({ device: overlay, range: podCIDR, via: address, table: ROUTE_TABLE })),
    ],
    neighbours: workers.map(({ address }) => ({ device: overlay, address })),
    rules: workers.length === 0 ? [] : [{ inInterface: tunnel, table: ROUTE_TABLE }],
  };
}

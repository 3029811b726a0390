// Plans links, routes and neighbours of the pod plane's gateway node.
import type { Network } from './network-plan.ts';
import type { WorkerNode } from './pod-plane-plan.ts';

/** Interface names of the pod plane. */
export interface LinkNames {
  readonly tunnel: string;
  readonly overlay: string;
}

/** Inputs. */
export interface GatewayNetworkFacts {
  readonly names: LinkNames;
  /** Path MTU between gateways, in bytes. */
  readonly underlayMtu: number;
  /** Address of this node within the cluster; without one there is no overlay. */
  readonly nodeAddress: string | undefined;
  /** The gateway's tunnel address. */
  readonly source: string | undefined;
  /** CIDRs routed into the tunnel. */
  readonly routes: readonly string[];
  readonly workers: readonly WorkerNode[];
}

/** WireGuard's overhead over IPv6, the larger one, in bytes; 1420 of 1500 are left. */
export const WIREGUARD_OVERHEAD = 80;
/** VXLAN overhead in bytes. */
const VXLAN_OVERHEAD = 50;
const ROUTE_TABLE = 7_373;

/** The network: the tunnel, and the overlay to the cluster's other nodes if there are any. */
export function gatewayNetwork(
  { names: { tunnel, overlay }, underlayMtu, nodeAddress, source, routes, workers: all }: GatewayNetworkFacts,
): Network {
  const workers = nodeAddress === undefined ? [] : all;
  const mtu = underlayMtu - WIREGUARD_OVERHEAD;
  return {
    links: [
      { kind: 'wireguard', name: tunnel, mtu, address: source },
      ...(workers.length === 0 || nodeAddress === undefined ? [] : [
        { kind: 'vxlan', name: overlay, mtu: Math.min(mtu, underlayMtu - VXLAN_OVERHEAD), local: nodeAddress } as const,
      ]),
    ],
    routes: [
      ...routes.map((range) => ({ device: tunnel, range, source })),
      ...workers.map(({ address, podCIDR }) => ({ device: overlay, range: podCIDR, via: address, table: ROUTE_TABLE })),
    ],
    neighbours: workers.map(({ address }) => ({ device: overlay, address })),
    rules: workers.length === 0 ? [] : [{ inInterface: tunnel, table: ROUTE_TABLE }],
  };
}

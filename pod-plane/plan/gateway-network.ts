// Plans links, routes and neighbours of the pod plane's gateway node.
import type { Network } from './network-plan.ts';
import type { WorkerNode } from './pod-plane-plan.ts';

/** Interface names of the pod plane. */
export interface LinkNames {
  /** The WireGuard interface of the gateway node, to other clusters. */
  readonly tunnel: string;
  /** The VXLAN interface between the gateway node and the cluster's other nodes. */
  readonly vxlan: string;
}

/** Inputs. */
export interface GatewayNetworkFacts {
  readonly names: LinkNames;
  /** Path MTU between gateways, in bytes. */
  readonly pathMtu: number;
  /** Address of this node within the cluster; without one there is no VXLAN. */
  readonly nodeAddress: string | undefined;
  /** The gateway's tunnel address. */
  readonly source: string | undefined;
  /** CIDRs routed into the tunnel. */
  readonly routes: readonly string[];
  readonly workers: readonly WorkerNode[];
}

/** WireGuard's overhead over IPv6, the larger one, in bytes. */
const WIREGUARD_OVERHEAD = 80;
/** VXLAN overhead in bytes. */
const VXLAN_OVERHEAD = 50;
const ROUTE_TABLE = 7_373;

/** MTU of the tunnel, in bytes, on a path with this MTU: 1420 of 1500. Other nodes send no larger packets to it. */
export function tunnelMtu(pathMtu: number): number {
  return pathMtu - WIREGUARD_OVERHEAD;
}

/** The network: the tunnel, and VXLAN to the cluster's other nodes if there are any. */
export function gatewayNetwork(
  { names: { tunnel, vxlan }, pathMtu, nodeAddress, source, routes, workers: all }: GatewayNetworkFacts,
): Network {
  const workers = nodeAddress === undefined ? [] : all;
  const mtu = tunnelMtu(pathMtu);
  return {
    links: [
      { kind: 'wireguard', name: tunnel, mtu, address: source },
      ...(workers.length === 0 || nodeAddress === undefined ? [] : [
        { kind: 'vxlan', name: vxlan, mtu: Math.min(mtu, pathMtu - VXLAN_OVERHEAD), local: nodeAddress } as const,
      ]),
    ],
    routes: [
      ...routes.map((range) => ({ device: tunnel, range, source })),
      ...workers.map(({ address, podCIDR }) => ({ device: vxlan, range: podCIDR, via: address, table: ROUTE_TABLE })),
    ],
    neighbours: workers.map(({ address }) => ({ device: vxlan, address })),
    rules: workers.length === 0 ? [] : [{ inInterface: tunnel, table: ROUTE_TABLE }],
  };
}

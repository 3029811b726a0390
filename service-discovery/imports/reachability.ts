// How this cluster reaches the other members, from the status of its gateways. A pod-plane connection to a member
// decides; else the API plane's does. Without any gateway every member counts as reachable, as in Submariner.
import {
  POD_PLANE_BACKENDS, type ClustersetGateway, type GatewayConnection, type GatewayStatus,
} from '../../api/kinds/gateway.ts';

const API_PLANE = 'mtls';

/** How members are reached. */
export interface Reachability {
  /** IDs of members without a working gateway connection. */
  readonly unreachable: ReadonlySet<string>;
  /** IDs of members with a pod-plane connection, up or down. */
  readonly podPlane: ReadonlySet<string>;
  /** Where a gateway of this cluster listens for Services of other clusters; undefined where none does. */
  readonly importAddress: string | undefined;
}

/** Reads the status of this cluster's gateways. */
export function readReachability(gateways: readonly ClustersetGateway[]): Reachability {
  const pods =
    firstOfEach(POD_PLANE_BACKENDS.flatMap((backend) => connectionsOf(newestActive(gateways, backend), backend)));
  const podPlane = new Set(pods.map(({ endpoint }) => endpoint.clusterID));
  const calls = newestActive(gateways, API_PLANE);
  const deciding =
    [...pods, ...connectionsOf(calls, API_PLANE).filter(({ endpoint }) => !podPlane.has(endpoint.clusterID))];
  const unreachable =
    new Set(deciding.filter(({ status }) => status === 'error').map(({ endpoint }) => endpoint.clusterID));
  return { unreachable, podPlane, importAddress: calls?.importAddress };
}

/** A killed gateway is reported as active until another takes over: the latest status counts. */
function newestActive(gateways: readonly ClustersetGateway[], backend: string): GatewayStatus | undefined {
  const active = gateways.flatMap(({ status }) => (status?.haStatus === 'active' ? [status] : []))
    .filter(({ connections }) => connections.some(({ endpoint }) => endpoint.backend === backend));
  return active.toSorted((one, other) => Date.parse(other.heartbeat) - Date.parse(one.heartbeat))[0];
}

function firstOfEach(connections: readonly GatewayConnection[]): readonly GatewayConnection[] {
  return connections.filter(
    (one, index) => connections.findIndex(({ endpoint }) => endpoint.clusterID === one.endpoint.clusterID) === index,
  );
}

function connectionsOf(status: GatewayStatus | undefined, backend: string): readonly GatewayConnection[] {
  return status?.connections.filter(({ endpoint }) => endpoint.backend === backend) ?? [];
}

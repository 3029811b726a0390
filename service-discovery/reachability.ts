// Which members' endpoints are out of reach, from what this cluster's gateways say. Where the pod plane runs, its cables decide, for pods are reached
// by them; where pods are carried by something else, those of the API plane do; without any gateway every member counts as reachable, as in Submariner.
import type { Gateway, GatewayConnection } from '../api/gateway.ts';

/** Backend of the pod plane's cables. */
const POD_PLANE = 'wireguard';

/** IDs of members that no cable reaches now. */
export function unreachableMembers(gateways: readonly Gateway[]): ReadonlySet<string> {
  const connections = ['wireguard', 'mtls'].flatMap((backend) => newestActive(gateways, backend));
  const podPlane = connections.filter(({ endpoint }) => endpoint.backend === POD_PLANE);
  const deciding = podPlane.length > 0 ? podPlane : connections;
  return new Set(deciding.filter(({ status }) => status === 'error').map(({ endpoint }) => endpoint.clusterID));
}

/** A gateway that was killed is called active until another one takes over: what was written last counts. */
function newestActive(gateways: readonly Gateway[], backend: string): readonly GatewayConnection[] {
  const active = gateways.flatMap(({ status }) => (status?.haStatus === 'active' && status.connections.some(({ endpoint }) => endpoint.backend === backend) ? [status] : []));
  const [newest] = active.toSorted((one, other) => Date.parse(other.heartbeat) - Date.parse(one.heartbeat));
  return newest?.connections.filter(({ endpoint }) => endpoint.backend === backend) ?? [];
}

// The tables of `isthmus gateway show`, in Submariner's columns. Pure.
import type { ClustersetEndpoint, ClustersetGateway } from '../../api/kinds/gateway.ts';
import { textTable } from '../output/text-table.ts';

/** `show connections`: the connections of the active gateways. */
export function connectionsTable(gateways: readonly ClustersetGateway[]): string {
  const rows = gateways.flatMap(({ metadata, status }) =>
    (status?.haStatus === 'active' ? status.connections : []).map((connection) => [
      metadata.name, connection.endpoint.clusterID, connection.usingIP, connection.usingNAT ? 'yes' : 'no',
      connection.endpoint.backend, connection.status,
      connection.latencyRTT?.average, connection.status === 'connected' ? undefined : connection.statusMessage,
    ]),
  );
  return textTable(['GATEWAY', 'CLUSTER', 'REMOTE IP', 'NAT', 'CABLE DRIVER', 'STATUS', 'RTT avg.', 'MESSAGE'], rows);
}

/** `show endpoints`. */
export function endpointsTable(own: string, endpoints: readonly ClustersetEndpoint[]): string {
  const rows = endpoints.map(({ spec }) => [
    spec.clusterID, (spec.addresses ?? []).join(',') || '(dials out)', spec.backend,
    spec.clusterID === own ? 'local' : 'remote',
  ]);
  return textTable(['CLUSTER', 'ENDPOINT IP', 'CABLE DRIVER', 'TYPE'], rows);
}

/** `show gateways`. */
export function gatewaysTable(gateways: readonly ClustersetGateway[]): string {
  const rows = gateways.map(({ metadata, status }) => [
    metadata.name, status?.haStatus ?? 'unknown', summary(status), status?.version, status?.certificateExpires,
  ]);
  return textTable(['NODE', 'HA STATUS', 'SUMMARY', 'VERSION', 'CERTIFICATE UNTIL'], rows);
}

function summary(status: ClustersetGateway['status']): string {
  if (status?.statusFailure !== undefined) return status.statusFailure;
  const connected = (status?.connections ?? []).filter((connection) => connection.status === 'connected').length;
  if (status?.haStatus === 'passive') return 'stands by';
  return `${connected} of ${status?.connections.length ?? 0} connections are up`;
}

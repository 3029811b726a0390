// The Gateway status and when to write it: at once when a connection goes up or down, otherwise rarely.
import type { ClustersetGateway, GatewayConnection, GatewayStatus } from '../../api/kinds/gateway.ts';
import { parseAddress, type ServiceAddress } from '../protocol/allowed-services.ts';
import type { CableConnection } from '../protocol/cable-driver.ts';

/** Current state. */
export interface GatewayFacts {
  readonly isActive: boolean;
  readonly version: string;
  readonly clusterId: string;
  readonly backend: string;
  readonly connections: readonly CableConnection[];
  /** In ms since the epoch. */
  readonly nowMs: number;
  /** Expiry of its certificate, in ms since the epoch. */
  readonly certificateEndMs?: number | undefined;
  readonly failure?: string | undefined;
  /** Where the other gateways reach its CONNECT endpoint while it is active. */
  readonly connectAddress?: string | undefined;
  /** Listen address for imports while it is active. */
  readonly importAddress?: string | undefined;
}

/** Write interval when only round-trip times changed, in ms. */
export const HEARTBEAT_MS = 20_000;
/** A Gateway with an older heartbeat belongs to a dead process, in ms. */
export const GONE_AFTER_MS = 90_000;

/** The status of the ClustersetGateway object. */
export function toGatewayStatus(facts: GatewayFacts): GatewayStatus {
  const { isActive, version, clusterId, backend, connections, nowMs, certificateEndMs, failure } = facts;
  const { connectAddress, importAddress } = facts;
  return {
    haStatus: isActive ? 'active' : 'passive',
    version,
    clusterID: clusterId,
    backend,
    heartbeat: new Date(nowMs).toISOString(),
    ...(certificateEndMs !== undefined && { certificateExpires: new Date(certificateEndMs).toISOString() }),
    ...(failure !== undefined && { statusFailure: failure }),
    ...(connectAddress !== undefined && { connectAddress }),
    ...(importAddress !== undefined && { importAddress }),
    connections: connections.map((connection) => toConnection(connection, backend)),
  };
}

function toConnection(
  { clusterId, status, statusMessage, usingIP, usingNAT, latencyRTT }: CableConnection, backend: string,
): GatewayConnection {
  return {
    status, statusMessage, endpoint: { clusterID: clusterId, backend }, usingNAT,
    ...(usingIP !== undefined && { usingIP }),
    ...(latencyRTT !== undefined && { latencyRTT: { ...latencyRTT } }),
  };
}

/** Whether to write the status now, after `written`. */
export function needsUpdate(written: GatewayStatus | undefined, next: GatewayStatus): boolean {
  if (written === undefined) return true;
  const sinceMs = Date.parse(next.heartbeat) - Date.parse(written.heartbeat);
  if (Math.abs(sinceMs) >= HEARTBEAT_MS) return true; // also when the clock was set back
  return essence(written) !== essence(next);
}

function essence({ heartbeat: _heartbeat, connections, ...rest }: GatewayStatus): string {
  return JSON.stringify([rest, connections.map(
    ({ status, endpoint, usingIP, statusMessage }) =>
      [status, endpoint.clusterID, usingIP, status === 'connected' ? '' : statusMessage],
  )]);
}

/** Where the active gateway of this cluster takes CONNECT requests; undefined where none says it. */
export function activeConnectAddress(gateways: readonly ClustersetGateway[]): ServiceAddress | undefined {
  const [newest] = gateways.flatMap(({ status }) => (status?.haStatus === 'active' ? [status] : []))
    .filter(({ connectAddress }) => connectAddress !== undefined)
    .toSorted((one, other) => Date.parse(other.heartbeat) - Date.parse(one.heartbeat));
  return parseAddress(newest?.connectAddress ?? '');
}

/** Whether a ClustersetGateway object belongs to a dead process. */
export function isGone(status: GatewayStatus | undefined, nowMs: number): boolean {
  return status !== undefined && nowMs - Date.parse(status.heartbeat) > GONE_AFTER_MS;
}

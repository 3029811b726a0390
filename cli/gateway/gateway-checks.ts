// Checks of `isthmus gateway diagnose` and `verify`. Pure; each says what to change.
import { POD_PLANE_BACKEND, type ClustersetGateway, type GatewayConnection } from '../../api/kinds/gateway.ts';
import type { ParsedCredentials } from '../../gateway/broker/gateway-secret.ts';

/** One check. */
export interface Check {
  readonly what: string;
  readonly holds: boolean;
  /** The result; with what to change when it failed. */
  readonly detail: string;
}

/** Facts of a cluster. */
export interface GatewayFacts {
  readonly secret: ParsedCredentials | undefined;
  readonly gateways: readonly ClustersetGateway[];
  readonly nowMs: number;
  /** Members that must be connected; all known ones when empty. */
  readonly peers: readonly string[];
}

const STALE_MS = 60_000;

/** What checks of the gateways of one backend are called, and what to do where none is active. */
interface Wording {
  readonly oneIsActive: string;
  readonly are: string;
  readonly none: string;
  readonly isWell: string;
  readonly connectionTo: (peer: string) => string;
}

const API_PLANE: Wording = {
  oneIsActive: 'one gateway is active', are: 'are active', none: 'start one with "isthmus gateway run"',
  isWell: 'the gateway is well', connectionTo: (peer) => `a gateway connection to ${peer}`,
};
const POD_PLANE: Wording = {
  oneIsActive: 'one node is the gateway of the pod plane', are: 'are',
  none: 'see the logs of "isthmus gateway node" on the nodes',
  isWell: 'the pod plane is healthy', connectionTo: (peer) => `pods of ${peer} are reached`,
};

/** The checks of one cluster, in dependency order. The pod plane is checked where nodes run it. */
export function checkGateway({ secret, gateways, nowMs, peers }: GatewayFacts): readonly Check[] {
  const active = activeOf(gateways, 'mtls', nowMs);
  const hasPlane = gateways.some(({ status }) => status?.backend === POD_PLANE_BACKEND);
  const known = connectionsOf(active).map(({ endpoint }) => endpoint.clusterID);
  return [
    checkMembership(secret),
    checkCertificate(secret, nowMs),
    ...checkActive(active, peers, API_PLANE),
    ...(hasPlane ? checkActive(activeOf(gateways, POD_PLANE_BACKEND, nowMs), peers, POD_PLANE) : []),
    ...peers.filter((peer) => !known.includes(peer)).map((peer) => ({
      what: API_PLANE.connectionTo(peer), holds: false,
      detail: `"${peer}" is not a known member; see "isthmus gateway show endpoints"`,
    })),
  ];
}

function activeOf(
  gateways: readonly ClustersetGateway[], backend: string, nowMs: number,
): readonly ClustersetGateway[] {
  return gateways.filter(
    ({ status }) =>
      (status?.backend ?? 'mtls') === backend && status?.haStatus === 'active'
        && nowMs - Date.parse(status.heartbeat) < STALE_MS,
  );
}

function connectionsOf(active: readonly ClustersetGateway[]): readonly GatewayConnection[] {
  return active.flatMap(({ status }) => status?.connections ?? []);
}

/** The active gateway of one backend, and its connections. */
function checkActive(
  active: readonly ClustersetGateway[], peers: readonly string[],
  { oneIsActive, are, none, isWell, connectionTo }: Wording,
): readonly Check[] {
  const connections =
    connectionsOf(active).filter(({ endpoint }) => peers.length === 0 || peers.includes(endpoint.clusterID));
  return [
    {
      what: oneIsActive, holds: active.length === 1,
      detail: active.length === 1
        ? (active[0]?.metadata.name ?? '')
        : `${active.length} ${are}; ${active.length === 0 ? none : 'there must be one a moment later'}`,
    },
    ...active.flatMap(({ status }) => (
      status?.statusFailure === undefined ? [] : [{ what: isWell, holds: false, detail: status.statusFailure }]
    )),
    ...connections.map(({ endpoint, status, statusMessage, latencyRTT }) => ({
      what: connectionTo(endpoint.clusterID), holds: status === 'connected',
      detail: status === 'connected' ? `round trip ${latencyRTT?.average ?? 'not measured yet'}` : statusMessage,
    })),
  ];
}

function checkMembership(secret: ParsedCredentials | undefined): Check {
  const what = 'the cluster is a member';
  if (secret === undefined) return { what, holds: false, detail: 'there is no Secret; run "isthmus gateway join"' };
  return secret.kind === 'credentials'
    ? { what, holds: true, detail: secret.credentials.clusterId }
    : { what, holds: false, detail: secret.message };
}

function checkCertificate(secret: ParsedCredentials | undefined, nowMs: number): Check {
  const what = 'its certificate is good';
  if (secret?.kind !== 'credentials') return { what, holds: false, detail: 'there is none' };
  const { notBeforeMs, notAfterMs } = secret.credentials;
  if (nowMs < notBeforeMs) {
    return { what, holds: false, detail: 'it is not valid yet; correct the clock of this machine or of the broker' };
  }
  if (nowMs > notAfterMs) return {
    what, holds: false,
    detail: `it ended ${new Date(notAfterMs).toISOString()}; the broker could not be reached for too long: join again`,
  };
  return { what, holds: true, detail: `until ${new Date(notAfterMs).toISOString()}` };
}

/** The checks as text. */
export function checkLines(checks: readonly Check[]): string {
  return checks.map(({ what, holds, detail }) => `${holds ? '✓' : '✗'} ${what}: ${detail}`).join('\n');
}

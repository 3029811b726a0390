// Checks of `isthmus gateway diagnose` and `verify`. Pure; each says what to change.
import { POD_PLANE_BACKEND, type ClustersetGateway } from '../../api/kinds/gateway.ts';
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

/** The checks of one cluster, in dependency order. */
export function checkGateway({ secret, gateways, nowMs, peers }: GatewayFacts): readonly Check[] {
  const active = activeOf(gateways, 'mtls', nowMs);
  const plane = gateways.filter(({ status }) => status?.backend === POD_PLANE_BACKEND);
  const connections = active.flatMap(({ status }) => status?.connections ?? []);
  const missing = peers.filter((peer) => !connections.some(({ endpoint }) => endpoint.clusterID === peer));
  return [
    checkMembership(secret),
    checkCertificate(secret, nowMs),
    {
      what: 'one gateway is active', holds: active.length === 1,
      detail: active.length === 1
        ? (active[0]?.metadata.name ?? '')
        : `${active.length} are active; ` +
          (active.length === 0 ? 'start one with "isthmus gateway run"' : 'there must be one a moment later'),
    },
    ...active.flatMap(
      ({ status }) => (status?.statusFailure === undefined ? [] : [
        { what: 'the gateway is well', holds: false, detail: status.statusFailure },
      ]),
    ),
    ...connections.filter(({ endpoint }) => peers.length === 0 || peers.includes(endpoint.clusterID)).map(({
      endpoint, status, statusMessage, latencyRTT,
    }) => ({
      what: `a gateway connection to ${endpoint.clusterID}`, holds: status === 'connected',
      detail: status === 'connected' ? `round trip ${latencyRTT?.average ?? 'not measured yet'}` : statusMessage,
    })),
    ...(plane.length === 0 ? [] : checkPodPlane(activeOf(gateways, POD_PLANE_BACKEND, nowMs), peers)),
    ...missing.map(
      (peer) => ({
        what: `a gateway connection to ${peer}`, holds: false,
        detail: `"${peer}" is not a known member; see "isthmus gateway show endpoints"`,
      }),
    ),
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

/** The pod plane, where nodes run it. */
function checkPodPlane(active: readonly ClustersetGateway[], peers: readonly string[]): readonly Check[] {
  const connections = active.flatMap(({ status }) => status?.connections ?? [])
    .filter(({ endpoint }) => peers.length === 0 || peers.includes(endpoint.clusterID));
  return [
    {
      what: 'one node is the gateway of the pod plane', holds: active.length === 1,
      detail: active.length === 1
        ? (active[0]?.metadata.name ?? '')
        : `${active.length} are; ` +
          (active.length === 0
            ? 'see the logs of "isthmus gateway node" on the nodes'
            : 'there must be one a moment later'),
    },
    ...active.flatMap(
      ({ status }) => (status?.statusFailure === undefined ? [] : [
        { what: 'the pod plane is healthy', holds: false, detail: status.statusFailure },
      ]),
    ),
    ...connections.map(
      ({ endpoint, status, statusMessage, latencyRTT }) => ({
        what: `pods of ${endpoint.clusterID} are reached`, holds: status === 'connected',
        detail: status === 'connected' ? `round trip ${latencyRTT?.average ?? 'not measured yet'}` : statusMessage,
      }),
    ),
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

/** The checks for people. */
export function checkLines(checks: readonly Check[]): string {
  return checks.map(({ what, holds, detail }) => `${holds ? '✓' : '✗'} ${what}: ${detail}`).join('\n');
}

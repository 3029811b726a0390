// Names that both ends of a tunnel and its users share: a member of a clusterset has a cluster ID, which is a DNS
// label, and a DNS name made from it. That name is in its certificate, and is the host of CONNECT requests to the local
// gateway.
import type { ClustersetGateway } from '../../api/kinds/gateway.ts';

/** Domain of the members' names. It is never resolved; it occurs only in certificates and in CONNECT requests. */
const GATEWAY_DOMAIN = 'gateway.isthmus.dev';

/** Service name of a member's own API server, the first service that its gateway exposes. */
export const API_SERVER_SERVICE = 'kube-apiserver';

const CLUSTER_ID = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** Whether the text is a valid cluster ID: a DNS label of at most 63 characters (RFC 1123), as in Submariner. */
export function isClusterId(text: string): boolean {
  return CLUSTER_ID.test(text);
}

/** The name in the certificate of a member's gateway. */
export function gatewayName(clusterId: string): string {
  return `${clusterId}.${GATEWAY_DOMAIN}`;
}

/**
 * The member that a certificate identifies, from the text form of its subject alternative names in Node. The text must
 * be exactly that one name, so that no odd name can smuggle in a second one.
 */
export function clusterIdOfCertificate(subjectAltName: string | undefined): string | undefined {
  const [, clusterId = ''] = /^DNS:([^.,\s]+)\.gateway\.isthmus\.dev$/.exec(subjectAltName ?? '') ?? [];
  return isClusterId(clusterId) ? clusterId : undefined;
}

/** Where a CONNECT request leads: to a service that a member's gateway exposes. */
export type Route = { readonly kind: 'route'; readonly clusterId: string; readonly service: string }
  | { readonly kind: 'invalid'; readonly message: string };

/** The CONNECT authority of a member's API server through the local gateway. */
export function apiServerAuthority(clusterId: string): string {
  return `${gatewayName(clusterId)}:443`;
}

/**
 * Parses a CONNECT authority, `[SERVICE.]CLUSTER[.gateway.isthmus.dev]:PORT`. Without a service it is the API server.
 * The port is ignored: the remote gateway knows where its services are.
 */
export function parseRoute(authority: string): Route {
  const host = authority.toLowerCase().replace(/:\d{1,5}$/, '').replace(/\.gateway\.isthmus\.dev$/, '');
  const labels = host.split('.');
  const [clusterId = '', service = API_SERVER_SERVICE] = labels.toReversed();
  if (labels.length <= 2 && isClusterId(clusterId) && isClusterId(service)) {
    return { kind: 'route', clusterId, service };
  }
  return {
    kind: 'invalid',
    message:
      `CONNECT to CLUSTER.${GATEWAY_DOMAIN}:443 or SERVICE.CLUSTER.${GATEWAY_DOMAIN}:443, not to ` +
        JSON.stringify(authority.slice(0, 300)),
  };
}

/** Name of the Endpoint object (Submariner) of a member for one cable driver. */
export function endpointObjectName(clusterId: string, backend: string): string {
  return `${clusterId}-${backend}`;
}

/**
 * Name of the ExportedService object of an export. None of the parts contains a dot, so no two exports share a name.
 */
export function exportedServiceName(clusterId: string, namespace: string, name: string): string {
  return `${clusterId}.${namespace}.${name}`;
}

/** The ID of this cluster from its Gateways; undefined before the first has reported it. */
export function ownClusterId(gateways: readonly ClustersetGateway[]): string | undefined {
  const statuses = gateways.flatMap(({ status }) => (status === undefined || status.clusterID === '' ? [] : [status]));
  return statuses.toSorted((one, other) => Date.parse(other.heartbeat) - Date.parse(one.heartbeat))[0]?.clusterID;
}

/** One port of an exported Service. */
export interface ExportedPort {
  readonly namespace: string;
  readonly name: string;
  /** Of the Service. */
  readonly port: number;
}

/** Maximum number of published ports of one export: all members merge them, and look through them for DNS questions. */
export const MAX_EXPORTED_PORTS = 1_000;

/** The service name of a stream to a port of an exported Service; it cannot be a valid {@link isClusterId}. */
export function exportedPortName({ namespace, name, port }: ExportedPort): string {
  return `_${port}._tcp.${name}.${namespace}.svc`;
}

/** Parses {@link exportedPortName}; undefined for any other text. */
export function parseExportedPort(text: string): ExportedPort | undefined {
  const [, digits = '', name = '', namespace = ''] = /^_(\d{1,5})\._tcp\.([^.]+)\.([^.]+)\.svc$/.exec(text) ?? [];
  const port = Number(digits);
  const isPort = port >= 1 && port <= 65_535;
  return isClusterId(name) && isClusterId(namespace) && isPort ? { namespace, name, port } : undefined;
}

// Connections to a target's API server through this cluster's gateway, by HTTP CONNECT. Gateways are tried in order; a
// passive or dead one costs one round trip. TLS to the API server is inside the tunnel, so no gateway sees a token.
import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { apiServerAuthority } from '../../model/network/gateway-names.ts';
import { openTunnel } from './http-connect.ts';

/** Route to a target. */
export interface GatewayRoute {
  /** The target's ID in the clusterset. */
  readonly clusterId: string;
  /** CONNECT endpoints of this cluster's gateways, `http://host:port`. */
  readonly endpoints: readonly URL[];
}

/** Traffic classes with separate connections: short calls and watches, or bulk streams (logs, exec). */
export type GatewayTrafficClass = 'calls' | 'bulk';

/** Pause between rounds over the gateways in ms, while a new active gateway takes over. */
const ROUND_MS = 200;

/**
 * Opens a TCP connection to the target's API server. Retries all gateways until the deadline.
 * @throws Error with the last gateway's response.
 */
export async function dialThroughGateway(
  route: GatewayRoute, timeoutMs: number, lane: GatewayTrafficClass = 'calls',
): Promise<Socket> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown = new Error('no gateway is configured');
  for (;;) {
    for (const endpoint of route.endpoints) {
      const left = deadline - performance.now();
      if (left <= 0) throw last;
      try {
        return await connectThrough({ endpoint, clusterId: route.clusterId, lane }, left);
      } catch (error) {
        last = error;
      }
    }
    if (deadline - performance.now() <= ROUND_MS) throw last;
    await new Promise((resolve) => setTimeout(resolve, ROUND_MS));
  }
}

function connectThrough(
  { endpoint, clusterId, lane }: {
    readonly endpoint: URL; readonly clusterId: string; readonly lane: GatewayTrafficClass
  },
  timeoutMs: number,
): Promise<Socket> {
  const path = apiServerAuthority(clusterId);
  const connect = request({
    host: endpoint.hostname.replace(/^\[|\]$/g, ''), port: endpoint.port === '' ? 80 : endpoint.port,
    method: 'CONNECT', path, agent: false, headers: { host: path, 'isthmus-lane': lane },
  });
  const refusal = ({ headers: { 'isthmus-reason': reason } }: IncomingMessage): string | undefined =>
    (typeof reason === 'string' ? reason : undefined);
  return openTunnel({ request: connect, asked: `gateway ${endpoint.host}`, refusal }, timeoutMs);
}

// Connections to a target's API server through this cluster's gateway, by HTTP CONNECT. The gateways are asked in turn: one that is passive, or
// gone, costs one answer. TLS to the API server is made inside, so no gateway sees a token.
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { apiServerAuthority } from '../../model/network/gateway-names.ts';
import { messageOf } from '../../process/errors.ts';
import { SilenceError } from './silence.ts';

/** How a target is reached. */
export interface GatewayRoute {
  /** The target's ID in the clusterset. */
  readonly clusterId: string;
  /** CONNECT endpoints of this cluster's gateways, `http://host:port`. */
  readonly endpoints: readonly URL[];
}

/** What travels apart in a cable: calls and watches, or what may be long (logs, exec). */
export type GatewayTrafficClass = 'calls' | 'bulk';

/** A gateway that is just taking over is waited for: another round begins after so many ms. */
const ROUND_MS = 200;

/**
 * A TCP connection that ends at the target's API server. Tries all gateways in turn, again and again, until the time is over.
 * @throws Error with what the last gateway said.
 */
export async function dialThroughGateway(route: GatewayRoute, timeoutMs: number, lane: GatewayTrafficClass = 'calls'): Promise<Socket> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown = new Error('there is no gateway to ask');
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

function connectThrough({ endpoint, clusterId, lane }: { readonly endpoint: URL; readonly clusterId: string; readonly lane: GatewayTrafficClass }, timeoutMs: number): Promise<Socket> {
  const path = apiServerAuthority(clusterId);
  return new Promise((resolve, reject) => {
    const asked = request({ host: endpoint.hostname.replace(/^\[|\]$/g, ''), port: endpoint.port === '' ? 80 : endpoint.port, method: 'CONNECT', path, agent: false, headers: { host: path, 'isthmus-lane': lane } });
    const timer = setTimeout(() => asked.destroy(new SilenceError('no answer in time')), timeoutMs);
    asked.once('connect', (response, socket: Socket, head: Buffer) => {
      clearTimeout(timer);
      if (response.statusCode !== 200) {
        socket.destroy();
        const reason = response.headers['isthmus-reason'];
        return reject(new Error(`gateway ${endpoint.host}: ${typeof reason === 'string' ? reason : `it answers ${response.statusCode}`}`));
      }
      if (head.length > 0) socket.unshift(head);
      socket.setNoDelay(true);
      resolve(socket);
    });
    asked.once('error', (error) => {
      clearTimeout(timer);
      reject(new Error(`gateway ${endpoint.host}: ${messageOf(error)}`, { cause: error }));
    });
    asked.end();
  });
}

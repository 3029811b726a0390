// Connections through the proxy of a kubeconfig, by HTTP CONNECT. TLS to the API server is inside the tunnel, so the
// proxy sees no credentials but its own.
import { request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import type { Socket } from 'node:net';
import { messageOf } from '../../process/errors.ts';
import { SilenceError } from './silence.ts';

/**
 * Opens a TCP connection to the server.
 * @throws Error that names the proxy without its password.
 */
export function dialThroughProxy(proxy: URL, server: URL, timeoutMs: number): Promise<Socket> {
  const path = `${server.hostname}:${server.port === '' ? 443 : server.port}`;
  const login = proxy.username === '' ? undefined : `${decoded(proxy.username)}:${decoded(proxy.password)}`;
  const request = proxy.protocol === 'https:' ? requestSecure : requestPlain;
  return new Promise((resolve, reject) => {
    const asked = request({
      host: proxy.hostname.replace(/^\[|\]$/g, ''), method: 'CONNECT', path, agent: false,
      port: proxy.port === '' ? (proxy.protocol === 'https:' ? 443 : 80) : proxy.port,
      headers: {
        host: path,
        ...(login !== undefined && { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }),
      },
    });
    const timer = setTimeout(() => asked.destroy(new SilenceError('no answer in time')), timeoutMs);
    asked.once('connect', (response, socket: Socket, head: Buffer) => {
      clearTimeout(timer);
      if (response.statusCode !== 200) {
        socket.destroy();
        return reject(new Error(`proxy ${proxy.host}: it answers ${response.statusCode}`));
      }
      if (head.length > 0) socket.unshift(head);
      socket.setNoDelay(true);
      resolve(socket);
    });
    asked.once('error', (error) => {
      clearTimeout(timer);
      reject(new Error(`proxy ${proxy.host}: ${messageOf(error)}`, { cause: error }));
    });
    asked.end();
  });
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

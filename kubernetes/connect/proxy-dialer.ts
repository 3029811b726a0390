// Connections through the proxy of a kubeconfig, by HTTP CONNECT. TLS to the API server is inside the tunnel, so the
// proxy sees no credentials but its own.
import { request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import type { Socket } from 'node:net';
import { openTunnel } from './http-connect.ts';

/**
 * Opens a TCP connection to the server.
 * @throws Error that names the proxy without its password.
 */
export function dialThroughProxy(proxy: URL, server: URL, timeoutMs: number): Promise<Socket> {
  const path = `${server.hostname}:${server.port === '' ? 443 : server.port}`;
  const authorization = proxyAuthorization(proxy);
  const request = proxy.protocol === 'https:' ? requestSecure : requestPlain;
  const connect = request({
    host: proxy.hostname.replace(/^\[|\]$/g, ''), method: 'CONNECT', path, agent: false,
    port: proxy.port === '' ? (proxy.protocol === 'https:' ? 443 : 80) : proxy.port,
    headers: {
      host: path,
      ...(authorization !== undefined && { 'proxy-authorization': authorization }),
    },
  });
  return openTunnel({ request: connect, asked: `proxy ${proxy.host}` }, timeoutMs);
}

/** The header that names us to the proxy; undefined where its URL has no login. Either part may be empty. */
function proxyAuthorization({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

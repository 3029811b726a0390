// Connections to an API server that somebody else speaks HTTP on: TLS with a deadline, kept alive, so that a peer that has gone is noticed.
import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { SilenceError } from './silence.ts';

/** How to secure a connection; certificates and keys are PEM. */
export interface TlsOptions {
  readonly rejectUnauthorized: boolean;
  readonly ca?: string;
  readonly servername?: string;
  readonly cert?: string;
  readonly key?: string;
  /** An open connection to use; a new one is made when missing. */
  readonly socket?: Socket;
  /** How the name of the server is resolved; as the system does it when missing. */
  readonly lookup?: LookupFunction;
}

/** How a connection is made. */
export interface SecureSocketOptions {
  readonly timeoutMs: number;
  /** What is spoken on it, best first (ALPN). */
  readonly protocols: readonly string[];
}

/** After so many ms of silence the kernel asks whether the peer is still there. */
const KEEP_ALIVE_MS = 30_000;

/** Connects and agrees on TLS. Throws what the connection threw, or a time-out. */
export function secureSocket(server: URL, tls: TlsOptions, { timeoutMs, protocols }: SecureSocketOptions): Promise<TLSSocket> {
  const host = hostOf(server);
  const port = server.port === '' ? 443 : Number(server.port);
  const socket = connectTls({ servername: isAddress(host) ? '' : host, ...tls, host, port, ALPNProtocols: [...protocols] });
  return connected(socket, 'secureConnect', timeoutMs);
}

/** Connects without TLS, as kubeconfigs with an http URL want it. Throws what the connection threw, or a time-out. */
export function plainSocket(server: URL, timeoutMs: number, lookup?: LookupFunction): Promise<Socket> {
  const port = server.port === '' ? 80 : Number(server.port);
  return connected(connectTcp({ host: hostOf(server), port, ...(lookup !== undefined && { lookup }) }), 'connect', timeoutMs);
}

function connected<S extends Socket>(socket: S, event: 'connect' | 'secureConnect', timeoutMs: number): Promise<S> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new SilenceError('the connection was not made in time')), timeoutMs);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.setNoDelay(true);
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection was closed'));
    });
    socket.once(event, () => {
      clearTimeout(timer);
      socket.removeListener('error', reject);
      resolve(socket);
    });
  });
}

function hostOf(server: URL): string {
  return server.hostname.replace(/^\[|\]$/g, '');
}

function isAddress(host: string): boolean {
  return host.includes(':') || /^[\d.]+$/.test(host);
}

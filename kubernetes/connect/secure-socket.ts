// TLS connections for callers that speak HTTP themselves: with a deadline, and with TCP keepalive so that a dead peer
// is noticed.
import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { SilenceError } from './silence.ts';

/** Certificates of one side of a connection; PEM. */
export interface TlsCertificates {
  readonly ca?: string;
  /** Any certificate in `ca` is trusted, whether or not it is a root, as client-go does. */
  readonly allowPartialTrustChain?: true;
  readonly cert?: string;
  readonly key?: string;
}

/** TLS settings of the connections to one server. */
export interface TlsOptions {
  readonly rejectUnauthorized: boolean;
  /** Parsed certificates, shared by all connections: parsing them again costs half as much as a handshake. */
  readonly secureContext: SecureContext;
  readonly servername?: string;
  /** An existing connection to use; a new one is opened when missing. */
  readonly socket?: Socket;
  /** Name resolution; the system's when missing. */
  readonly lookup?: LookupFunction;
}

/** How a connection is made. */
export interface SecureSocketOptions {
  readonly timeoutMs: number;
  /** ALPN protocols, in order of preference. */
  readonly protocols: readonly string[];
}

/** TCP keepalive idle time in ms. */
const KEEP_ALIVE_MS = 30_000;

/**
 * Parses certificates once, at the first call. The function throws the error of an invalid PEM at each call, as a
 * connection with them would.
 */
export function parsedOnce(certificates: TlsCertificates): () => SecureContext {
  let parsed: SecureContext | undefined;
  return () => (parsed ??= createSecureContext({ ...certificates }));
}

/** Connects and completes the TLS handshake. Throws the connection's error, or a timeout. */
export function secureSocket(
  server: URL, tls: TlsOptions, { timeoutMs, protocols }: SecureSocketOptions,
): Promise<TLSSocket> {
  const host = hostOf(server);
  const port = server.port === '' ? 443 : Number(server.port);
  const socket =
    connectTls({ servername: isAddress(host) ? '' : host, ...tls, host, port, ALPNProtocols: [...protocols] });
  return connected(socket, 'secureConnect', timeoutMs);
}

/** Connects without TLS, for kubeconfigs with an http URL. Throws the connection's error, or a timeout. */
export function plainSocket(server: URL, timeoutMs: number, lookup?: LookupFunction): Promise<Socket> {
  const port = server.port === '' ? 80 : Number(server.port);
  return connected(
    connectTcp({ host: hostOf(server), port, ...(lookup !== undefined && { lookup }) }), 'connect', timeoutMs,
  );
}

function connected<S extends Socket>(socket: S, event: 'connect' | 'secureConnect', timeoutMs: number): Promise<S> {
  return new Promise((resolve, reject) => {
    const destroy = () => socket.destroy(new SilenceError('the connection was not established in time'));
    const timer = setTimeout(destroy, timeoutMs);
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

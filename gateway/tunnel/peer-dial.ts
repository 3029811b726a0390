// Dials a peer: TCP, mutual TLS 1.3, with the peer's name verified. Every error message says what to change.
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { onAbort } from '../../kubernetes/flow/abort.ts';
import { gatewayName } from '../../model/network/gateway-names.ts';
import { parseAddress } from '../protocol/allowed-services.ts';
import { toFailure } from '../protocol/failure-cause.ts';
import { CableError, readPeer, tlsOptionsOf, type KnownPeer, type TlsIdentity } from './tls-identity.ts';
import { alpnOf, type Purpose } from '../protocol/tunnel-protocol.ts';
import { unmapped } from '../../model/network/socket-address.ts';

/** Peer, address and purpose. */
export interface Dial {
  readonly clusterId: string;
  /** `host:port`. */
  readonly address: string;
  readonly purpose: Purpose;
  readonly identity: TlsIdentity;
  readonly timeoutMs: number;
}

/**
 * A connection to the verified peer.
 * @throws CableError with the cause.
 */
export function dialPeer(
  { clusterId, address, purpose, identity, timeoutMs }: Dial, signal: AbortSignal,
): Promise<{ readonly socket: TLSSocket; readonly peer: KnownPeer }> {
  const where = parseAddress(address);
  if (where === undefined) {
    return Promise.reject(new CableError({ cause: 'name', message: `"${address}" is no HOST:PORT` }));
  }
  return new Promise((resolve, reject) => {
    const socket = connect(
      { ...where, ...tlsOptionsOf(identity), servername: gatewayName(clusterId), ALPNProtocols: [alpnOf(purpose)] },
    );
    const fail = (error: { readonly code?: string; readonly message: string }) => {
      socket.destroy();
      reject(new CableError(toFailure(error, address)));
    };
    const timer = setTimeout(() => fail({ code: 'ETIMEDOUT', message: 'no answer in time' }), timeoutMs);
    const forget = onAbort(signal, () => fail({ message: 'the dial was given up' }));
    socket.on('error', fail);
    socket.once('close', () => fail({ code: 'ECONNRESET', message: 'closed' }));
    socket.once('secureConnect', () => {
      clearTimeout(timer);
      forget();
      const peer = readPeer(socket);
      if ('cause' in peer) {
        socket.destroy();
        return reject(new CableError(peer));
      }
      if (socket.alpnProtocol !== alpnOf(purpose)) {
        return fail({ code: 'ERR_SSL_WRONG_PROTOCOL', message: 'no protocol in common' });
      }
      socket.removeListener('error', fail);
      resolve({ socket, peer });
    });
    socket.once('close', () => {
      clearTimeout(timer);
      forget();
    });
  });
}

/** Whether an observed address differs from all announced ones: NAT. */
export function isTranslated(seen: string, announced: readonly string[]): boolean {
  const hosts = announced.map((address) => parseAddress(address)?.host ?? '');
  return hosts.length > 0 && hosts.every((host) => isIP(host) !== 0) && !hosts.includes(unmapped(seen));
}

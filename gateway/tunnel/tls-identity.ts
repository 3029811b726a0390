// TLS identity of a gateway: a key, a certificate with its cluster's name, and the clusterset's CA, the only trusted
// root. TLS 1.3 only, with client certificates.
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { clusterIdOfCertificate } from '../../model/network/gateway-names.ts';
import { unmapped } from '../../model/network/socket-address.ts';
import { toFailure, type Failure } from '../protocol/failure-cause.ts';

/** All PEM. */
export interface TlsIdentity {
  readonly certificate: string;
  readonly key: string;
  /** CA certificates for peers. */
  readonly authority: string;
}

/** A peer with a valid certificate. */
export interface KnownPeer {
  readonly clusterId: string;
  /** Serial number in upper-case hexadecimal, without colons. */
  readonly serial: string;
  /** When its certificate ends, in ms since the epoch. */
  readonly notAfterMs: number;
}

/** Thrown for a connection that fails; `failure` has the reason. */
export class CableError extends Error {
  override readonly name = 'CableError';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/**
 * Options of both ends. {@link readPeer} verifies the peer's certificate, so that the peer gets the reason for the
 * rejection.
 */
export function tlsOptionsOf({ certificate, key, authority }: TlsIdentity) {
  return { cert: certificate, key, ca: authority, minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' } as const;
}

/** The peer at the other end after the handshake, or why it is rejected. */
export function readPeer(socket: TLSSocket): KnownPeer | Failure {
  const where = unmapped(socket.remoteAddress ?? 'peer');
  const certificate: PeerCertificate | Record<string, never> = socket.getPeerCertificate();
  if (certificate.valid_to === undefined) return { cause: 'certificate', message: `${where} presents no certificate` };
  // Node passes OpenSSL's error code here, though the type says Error.
  if (!socket.authorized) {
    return toFailure({ code: String(socket.authorizationError), message: 'the certificate is not valid' }, where);
  }
  const notAfterMs = Date.parse(certificate.valid_to);
  // a TLS session that is resumed was verified when it began
  if (Date.now() >= notAfterMs) return toFailure({ code: 'CERT_HAS_EXPIRED', message: 'expired' }, where);
  const clusterId = clusterIdOfCertificate(certificate.subjectaltname);
  if (clusterId === undefined) return { cause: 'identity', message: `${where}: its certificate names no cluster` };
  return { clusterId, serial: certificate.serialNumber, notAfterMs };
}

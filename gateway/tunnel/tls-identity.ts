// Who a gateway is towards its peers: a key, a certificate with its cluster's name, and the authority of the clusterset. TLS 1.3 only, both
// sides with certificates; the authority of the clusterset is the only one trusted.
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { clusterIdOfCertificate } from '../../model/network/gateway-names.ts';
import { toFailure, type Failure } from '../protocol/failure-cause.ts';

/** All PEM. */
export interface TlsIdentity {
  readonly certificate: string;
  readonly key: string;
  /** Certificates that peers' certificates must come from. */
  readonly authority: string;
}

/** A peer whose certificate holds. */
export interface KnownPeer {
  readonly clusterId: string;
  /** Serial number in upper-case hexadecimal, without colons. */
  readonly serial: string;
  /** When its certificate ends, in ms since the epoch. */
  readonly notAfterMs: number;
}

/** Thrown for a cable that cannot be made; `failure` says why. */
export class CableError extends Error {
  override readonly name = 'CableError';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Options of both ends. What a peer presents is judged by {@link readPeer}, so that it can be told why it is refused. */
export function tlsOptionsOf({ certificate, key, authority }: TlsIdentity) {
  return { cert: certificate, key, ca: authority, minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' } as const;
}

/** Who is at the other end of a socket whose handshake is done, or why it is not let in. */
export function readPeer(socket: TLSSocket): KnownPeer | Failure {
  const where = socket.remoteAddress ?? 'peer';
  const certificate: PeerCertificate | Record<string, never> = socket.getPeerCertificate();
  if (certificate.valid_to === undefined) return { cause: 'certificate', message: `${where} presents no certificate` };
  // Node gives the code of OpenSSL's judgement here, though its type says Error.
  if (!socket.authorized) return toFailure({ code: String(socket.authorizationError), message: 'the certificate does not hold' }, where);
  const clusterId = clusterIdOfCertificate(certificate.subjectaltname);
  if (clusterId === undefined) return { cause: 'identity', message: `${where}: its certificate names no cluster` };
  return { clusterId, serial: certificate.serialNumber, notAfterMs: Date.parse(certificate.valid_to) };
}

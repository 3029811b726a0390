// TLS settings and connection limits of the webhook: TLS 1.2 with forward secrecy and authenticated encryption, or TLS
// 1.3.
import { constants } from 'node:crypto';
import type { ConnectionDeadlines } from '../../process/servers/connection-deadlines.ts';
import type { HandshakeLimits } from '../../process/servers/handshake-limiter.ts';
import type { CertificatePair } from '../certificates/serving-certificate.ts';

/**
 * Cipher suites of TLS 1.3, and those of 1.2 that every API server of the last ten years offers (Go `crypto/tls`,
 * preference order).
 */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** Settings of a TLS server with this pair; with `clientAuthority` (PEM) clients need a certificate of that CA. */
export function tlsSettings(pair: CertificatePair, clientAuthority?: string) {
  return {
    cert: pair.certificate,
    key: pair.key,
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION, // a client could keep us computing without end
    ...(clientAuthority !== undefined && { ca: clientAuthority, requestCert: true, rejectUnauthorized: true }),
  } as const;
}

/**
 * Limits for clients that have not requested a review on an accepted path, and for addresses that have: API servers,
 * which may open a connection for each review in flight.
 */
export const HANDSHAKE_LIMITS: HandshakeLimits = {
  stranger: { burst: 20, perSecond: 10, open: 256 },
  known: { burst: 1_000, perSecond: 300, open: 1_024 },
  strangers: { burst: 50, perSecond: 50, open: 1_024 },
  timeoutMs: 10_000,
  rememberMs: 3_600_000,
};

/**
 * The API server waits 5 s for a response. Its client (k8s.io/apimachinery, SetTransportDefaults) keeps idle
 * connections for 90 s. In ms.
 */
export const DEADLINES: ConnectionDeadlines = {
  headers: 3_000, request: 5_000, unused: 110_000, unusedInCrowd: 3_000, unusedAtEnd: 1_000, crowd: 1_000,
  checkEvery: 1_000,
};
/** Node.js' own deadlines in ms, longer than any of {@link DEADLINES}, for cases that those do not cover. */
export const OWN_DEADLINES =
  { handshakeTimeout: 5_000, headersTimeout: 120_000, requestTimeout: 120_000, keepAliveTimeout: 120_000 };

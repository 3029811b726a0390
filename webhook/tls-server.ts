// What the webhook speaks: TLS 1.2 with forward secrecy and authenticated encryption, or TLS 1.3, and whom it lets in.
import { constants } from 'node:crypto';
import type { CertificatePair } from './serving-certificate.ts';

/** Suites of TLS 1.3, and of 1.2 those that every API server of the last ten years offers (Go `crypto/tls`, preference order). */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** Settings of a TLS server that serves this pair; with `clientAuthority` (PEM) only clients with a certificate of it get in. */
export function tlsSettings(pair: CertificatePair, clientAuthority?: string) {
  return {
    cert: pair.certificate,
    key: pair.key,
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION, // a client could have us compute without end
    ...(clientAuthority !== undefined && { ca: clientAuthority, requestCert: true, rejectUnauthorized: true }),
  } as const;
}

// X.509 certificates for this program's own servers and clients: the sandbox's control planes and the webhook. Keys are
// ECDSA P-256, PEM is the only form that leaves this file, and the clock is an argument.
import './reflect-metadata.ts';
import { createPrivateKey, KeyObject, randomBytes, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** A certificate with its private key, both PEM: `CERTIFICATE` and PKCS #8 `PRIVATE KEY`. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/**
 * Contents of a certificate. Kubernetes reads a client's user from `commonName` and its groups from `organizations`.
 */
export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  /** DNS names of the server. */
  readonly dnsNames?: readonly string[];
  /** IPv4 or IPv6 addresses of the server. */
  readonly ipAddresses?: readonly string[];
  /** Validity in days from `now`. */
  readonly days: number;
  /** Key usages; both when omitted. */
  readonly usages?: readonly ('server' | 'client')[];
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const signingAlgorithm = { name: 'ECDSA', hash: 'SHA-256' } as const;
const provider: webcrypto.Crypto = webcrypto;
const msPerDay = 86_400_000;
/** Backdating of certificates, so that a reader whose clock is an hour behind accepts them. */
const backdatedMs = 70 * 60_000;

/** A positive serial number of 127 random bits, in hexadecimal (RFC 5280 §4.1.2.2 allows 20 octets). */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0);
  return bytes.toString('hex');
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return provider.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function keyText({ privateKey }: webcrypto.CryptoKeyPair): string {
  return KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
}

function validity(days: number, now: Date): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(now.getTime() - backdatedMs), notAfter: new Date(now.getTime() + days * msPerDay) };
}

/** The subject as a list of relative names: no value is ever parsed from a string, so none can forge another. */
function subjectOf(request: Pick<CertificateRequest, 'commonName' | 'organizations'>): x509.JsonName {
  const organizations = (request.organizations ?? []).map((organization) => ({ O: [organization] }));
  return [...organizations, { CN: [request.commonName] }];
}

function subjectNames(
  { dnsNames = [], ipAddresses = [] }: Pick<CertificateRequest, 'dnsNames' | 'ipAddresses'>,
): x509.Extension[] {
  const names: x509.JsonGeneralName[] = [
    ...dnsNames.map((value) => ({ type: 'dns' as const, value })),
    ...ipAddresses.map((value) => ({ type: 'ip' as const, value })),
  ];
  return names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : [];
}

function extensionsOf(request: CertificateRequest): x509.Extension[] {
  const usages = request.usages ?? ['server', 'client'];
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension(usages.map((usage) => x509.ExtendedKeyUsage[`${usage}Auth`])),
    ...subjectNames(request),
  ];
}

/** A certificate authority with a P-256 key; from {@link createAuthority} or {@link loadAuthority}. */
export class CertificateAuthority {
  /** The authority's own certificate and key; clients must trust its certificate. */
  readonly keyPair: KeyPair;
  readonly #certificate: x509.X509Certificate;
  readonly #signingKey: webcrypto.CryptoKey;

  /** @internal */
  constructor(keyPair: KeyPair, signingKey: webcrypto.CryptoKey) {
    this.keyPair = keyPair;
    this.#certificate = new x509.X509Certificate(keyPair.certificate);
    this.#signingKey = signingKey;
  }

  /**
   * Issues a new key and a certificate for it, valid from 70 minutes before `now`, never beyond the authority's own
   * end.
   */
  async issue(request: CertificateRequest, now: Date): Promise<KeyPair> {
    const keys = await newKeys();
    return { certificate: await this.#certify(keys.publicKey, request, now), key: keyText(keys) };
  }

  /**
   * Issues a certificate for the key of a signing request (PKCS #10, PEM), after verifying its signature. Names in the
   * request are ignored: only `request` counts. Undefined when it is not a valid request, or has no ECDSA key.
   */
  async sign(signingRequest: string, request: CertificateRequest, now: Date): Promise<string | undefined> {
    const publicKey = await readSigningRequest(signingRequest);
    return publicKey === undefined ? undefined : this.#certify(publicKey, request, now);
  }

  async #certify(
    publicKey: webcrypto.CryptoKey | x509.PublicKey, request: CertificateRequest, now: Date,
  ): Promise<string> {
    const wanted = validity(request.days, now);
    const end = Math.min(wanted.notAfter.getTime(), this.#certificate.notAfter.getTime());
    const certificate = await x509.X509CertificateGenerator.create(
      {
        serialNumber: serialNumber(),
        subject: subjectOf(request),
        issuer: this.#certificate.subjectName,
        notBefore: wanted.notBefore,
        notAfter: new Date(end),
        publicKey,
        signingKey: this.#signingKey,
        signingAlgorithm,
        extensions: [
          ...extensionsOf(request),
          await x509.AuthorityKeyIdentifierExtension.create(this.#certificate.publicKey, false, provider),
        ],
      },
      provider,
    );
    return `${certificate.toString('pem')}\n`;
  }
}

async function readSigningRequest(text: string): Promise<x509.PublicKey | undefined> {
  try {
    const request = new x509.Pkcs10CertificateRequest(text);
    const isSigned = request.publicKey.algorithm.name === 'ECDSA' && (await request.verify(provider));
    return isSigned ? request.publicKey : undefined;
  } catch {
    return undefined; // malformed
  }
}

/** A new P-256 key and a signing request for it, both PEM: the key never leaves its owner. */
export async function createSigningRequest(
  request: Omit<CertificateRequest, 'days' | 'usages'>,
): Promise<{ readonly request: string; readonly key: string }> {
  const keys = await newKeys();
  const extensions = subjectNames(request);
  const parts = { name: subjectOf(request), keys, signingAlgorithm, extensions };
  const signed = await x509.Pkcs10CertificateRequestGenerator.create(parts, provider);
  return { request: `${signed.toString('pem')}\n`, key: keyText(keys) };
}

/** Validity of a certificate, in ms since the epoch. Throws for a text that is not a certificate. */
export function lifeOf(certificate: string): { readonly notBefore: number; readonly notAfter: number } {
  const { notBefore, notAfter } = new x509.X509Certificate(certificate);
  return { notBefore: notBefore.getTime(), notAfter: notAfter.getTime() };
}

/** Makes a new self-signed authority named `commonName`, valid from 70 minutes before `now` until `days` after it. */
export async function createAuthority(commonName: string, days: number, now: Date): Promise<CertificateAuthority> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: serialNumber(),
      name: [{ CN: [commonName] }],
      ...validity(days, now),
      keys,
      signingAlgorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
          true,
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, provider),
      ],
    },
    provider,
  );
  const keyPair = { certificate: `${certificate.toString('pem')}\n`, key: keyText(keys) };
  return new CertificateAuthority(keyPair, keys.privateKey);
}

/** Restores an authority from its PEM texts, as {@link CertificateAuthority.keyPair} returned them. */
export async function loadAuthority(keyPair: KeyPair): Promise<CertificateAuthority> {
  const pkcs8 = createPrivateKey(keyPair.key).export({ type: 'pkcs8', format: 'der' });
  const signingKey = await provider.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']);
  return new CertificateAuthority(keyPair, signingKey);
}

/**
 * A bare P-256 signing key, both halves PEM: PKCS #8 `PRIVATE KEY` and SPKI `PUBLIC KEY` (for service account tokens).
 */
export async function createSigningKey(): Promise<{ readonly privateKey: string; readonly publicKey: string }> {
  const keys = await newKeys();
  const publicKey = KeyObject.from(keys.publicKey).export({ type: 'spki', format: 'pem' }).toString();
  return { privateKey: keyText(keys), publicKey };
}

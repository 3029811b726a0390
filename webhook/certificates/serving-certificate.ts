// Decides which certificate to issue and when, from the stored state and the time, so that replicas agree. A new CA is
// trusted before anything is signed with it, and an old one for as long as its leaves may be in use.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { Secret, StringMap } from '../../api/objects/core.ts';
import { isRecord, parsedJson } from '../../model/objects/json-values.ts';

/** A certificate and its key, both PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

/** The shared state: CAs from the oldest to the newest, and the serving leaf. */
export interface StoredCertificates {
  readonly authorities: readonly CertificatePair[];
  readonly leaf?: CertificatePair;
}

/** Inputs of a decision. */
export interface CertificateState extends StoredCertificates {
  /** Names and addresses that the leaf must cover. */
  readonly hosts: readonly string[];
  /**
   * Since when API servers have had the newest CA, in ms since the epoch, as observed by this process; missing when
   * they do not.
   */
  readonly newestTrustedSince?: number | undefined;
}

/** The next step. `signer` is the CA that signs the leaf. */
export type CertificateStep =
  | { readonly kind: 'keep'; readonly checkAgainMs: number }
  | { readonly kind: 'add-authority' }
  | { readonly kind: 'issue-leaf'; readonly signer: CertificatePair }
  | { readonly kind: 'drop-authorities'; readonly kept: readonly CertificatePair[] };

/** Overlap of CAs, in ms. */
export interface OverlapTimes {
  /** How long a CA must be in the trust bundle before it signs: API servers see the bundle with a delay. */
  readonly trustFirstMs: number;
  /** How long a CA stays in the bundle after its last leaf was replaced: replicas load the new one with a delay. */
  readonly trustLongerMs: number;
}

/** A CA must outlive its leaves, so it is rotated at half of its validity, a leaf at two thirds. */
const AUTHORITY_LIFE_USED = 1 / 2;
const LEAF_LIFE_USED = 2 / 3;
const MAX_CHECK_MS = 3_600_000;
/** Backdating of certificates (process/crypto/certificate-authority.ts). */
const BACKDATED_MS = 70 * 60_000;

/** Decides the next step at `now`, in ms since the epoch. */
export function planCertificates(state: CertificateState, times: OverlapTimes, now: number): CertificateStep {
  const { authorities, leaf, hosts } = state;
  const [newest, older] = authorities.toReversed();
  if (newest === undefined || now >= usedUpAt(newest, AUTHORITY_LIFE_USED)) return { kind: 'add-authority' };
  const waits = older !== undefined && isTooNew(state, times, now);
  const signer = waits ? older : newest;
  const signers = waits ? [older, newest] : [newest]; // another replica may have waited long enough
  if (leaf === undefined || now >= usedUpAt(leaf, LEAF_LIFE_USED) || !isGood(leaf, signers, hosts)) {
    return { kind: 'issue-leaf', signer };
  }
  if (older === undefined || waits || now < madeAt(leaf) + times.trustLongerMs) {
    return { kind: 'keep', checkAgainMs: checkAgainMs(state, times, now) };
  }
  return { kind: 'drop-authorities', kept: [newest] };
}

/** Whether API servers may not have the newest CA yet. */
function isTooNew({ newestTrustedSince }: CertificateState, { trustFirstMs }: OverlapTimes, now: number): boolean {
  return newestTrustedSince === undefined || now < newestTrustedSince + trustFirstMs;
}

function checkAgainMs(
  { authorities, leaf, newestTrustedSince }: CertificateState, times: OverlapTimes, now: number,
): number {
  const newest = authorities.at(-1);
  const moments = [
    ...(newest ? [usedUpAt(newest, AUTHORITY_LIFE_USED)] : []),
    ...(newestTrustedSince === undefined ? [] : [newestTrustedSince + times.trustFirstMs]),
    ...(leaf ? [usedUpAt(leaf, LEAF_LIFE_USED), madeAt(leaf) + times.trustLongerMs] : []),
  ];
  return Math.min(MAX_CHECK_MS, ...moments.filter((moment) => moment > now).map((moment) => moment - now));
}

function isGood(leaf: CertificatePair, signers: readonly CertificatePair[], hosts: readonly string[]): boolean {
  const certificate = new X509Certificate(leaf.certificate);
  return signers.some((signer) => certificate.verify(new X509Certificate(signer.certificate).publicKey)) && hosts
    .every((host) => holds(certificate, host));
}

function holds(certificate: X509Certificate, host: string): boolean {
  // An invalid IP address makes the certificate library throw.
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

function madeAt({ certificate }: CertificatePair): number {
  return Date.parse(new X509Certificate(certificate).validFrom) + BACKDATED_MS;
}

function usedUpAt(pair: CertificatePair, fraction: number): number {
  const from = madeAt(pair);
  return from + (expiryOf(pair) - from) * fraction;
}

/** When a certificate ends, in ms since the epoch. */
export function expiryOf({ certificate }: Pick<CertificatePair, 'certificate'>): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}

/** What is wrong with a pair to serve; undefined when all certificates of the chain and the key are valid and match. */
export function problemOf({ certificate, key }: CertificatePair): string | undefined {
  try {
    const [leaf] = chainOf(certificate);
    if (leaf === undefined) return UNREADABLE;
    return leaf.checkPrivateKey(createPrivateKey(key)) ? undefined : 'the key does not match the certificate';
  } catch {
    return UNREADABLE; // the library's message may quote the key
  }
}

const UNREADABLE = 'certificate or key is not whole PEM, or the key has a passphrase';
const BEGIN = '-----BEGIN CERTIFICATE-----';

/** The certificates of a text in PEM; throws for one that cannot be read, at which a TLS server would throw, too. */
function chainOf(text: string): readonly X509Certificate[] {
  return text.split(BEGIN).slice(1).map((part) => new X509Certificate(`${BEGIN}${part}`));
}

/** The data of the shared Secret (base64). `ca.crt` is for people; programs read the rest. */
export function toSecretData({ authorities, leaf }: StoredCertificates): StringMap {
  const texts = {
    'ca.crt': trustBundle(authorities),
    'authorities.json': JSON.stringify(authorities),
    'tls.crt': leaf?.certificate ?? '',
    'tls.key': leaf?.key ?? '',
  };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
}

/** The contents of a Secret. Damaged pairs count as missing, so that they are recreated. */
export function fromSecret({ data = {} }: Secret): StoredCertificates {
  const leaf = servedPairOf(data);
  return {
    authorities: authoritiesOf(textOf(data, 'authorities.json')).filter(isSound), ...(isSound(leaf) && { leaf }),
  };
}

/** The pair in a Secret of type kubernetes.io/tls. */
export function servedPairOf(data: StringMap): CertificatePair {
  return { certificate: textOf(data, 'tls.crt'), key: textOf(data, 'tls.key') };
}

/** The CA certificates as one PEM bundle. */
export function trustBundle(authorities: readonly CertificatePair[]): string {
  return authorities.map(({ certificate }) => certificate).join('');
}

/** The decoded text of a key of a Secret's data. */
export function textOf(data: StringMap, key: string): string {
  return Buffer.from(data[key] ?? '', 'base64').toString();
}

function isSound(pair: CertificatePair): boolean {
  return problemOf(pair) === undefined;
}

function authoritiesOf(text: string): readonly CertificatePair[] {
  const value = parsedJson(text);
  return Array.isArray(value) ? value.filter(isRecord)
    .map(({ certificate, key }) => ({ certificate: String(certificate), key: String(key) })) : [];
}

// Which of the webhook's own certificates to make, and when: decided from what is stored and the time, so that replicas agree.
// A new CA is trusted before anything is signed with it, and an old one for as long as what it signed may be in use.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { Secret, StringMap } from '../../api/objects/core.ts';

/** A certificate and its key, both PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

/** What replicas share: CAs from the oldest to the newest, and the leaf that they serve with. */
export interface StoredCertificates {
  readonly authorities: readonly CertificatePair[];
  readonly leaf?: CertificatePair;
}

/** What a decision is made from. */
export interface CertificateState extends StoredCertificates {
  /** Names and addresses that the leaf must hold. */
  readonly hosts: readonly string[];
  /** Since when API servers have been told of the newest CA, in ms since the epoch, as far as this process saw; missing when they have not. */
  readonly newestTrustedSince?: number | undefined;
}

/** The next thing to do. `signer` is the CA to sign the leaf with. */
export type CertificateStep =
  | { readonly kind: 'keep'; readonly checkAgainMs: number }
  | { readonly kind: 'add-authority' }
  | { readonly kind: 'issue-leaf'; readonly signer: CertificatePair }
  | { readonly kind: 'drop-authorities'; readonly kept: readonly CertificatePair[] };

/** How long CAs overlap, in ms. */
export interface OverlapTimes {
  /** A CA was seen in the trust bundle for so long before it signs: API servers need a moment to see the bundle, too. */
  readonly trustFirstMs: number;
  /** A CA stays in the bundle for so long after the last leaf of it was replaced: replicas need a moment to load the new one. */
  readonly trustLongerMs: number;
}

/** A CA must outlive what it signs, so it is followed by the next one at half of its life, a leaf at two thirds. */
const AUTHORITY_LIFE_USED = 1 / 2;
const LEAF_LIFE_USED = 2 / 3;
const MAX_CHECK_MS = 3_600_000;
/** Certificates say that they began so much earlier (process/crypto/certificate-authority.ts). */
const BACKDATED_MS = 70 * 60_000;

/** Decides what to do at `now`, in ms since the epoch. */
export function planCertificates(state: CertificateState, times: OverlapTimes, now: number): CertificateStep {
  const { authorities, leaf, hosts } = state;
  const [newest, older] = authorities.toReversed();
  if (newest === undefined || now >= usedUpAt(newest, AUTHORITY_LIFE_USED)) return { kind: 'add-authority' };
  const waits = older !== undefined && isTooNew(state, times, now);
  const signer = waits ? older : newest;
  const signers = waits ? [older, newest] : [newest]; // another replica may have waited long enough
  if (leaf === undefined || now >= usedUpAt(leaf, LEAF_LIFE_USED) || !isGood(leaf, signers, hosts)) return { kind: 'issue-leaf', signer };
  if (older === undefined || waits || now < madeAt(leaf) + times.trustLongerMs) return { kind: 'keep', checkAgainMs: checkAgainMs(state, times, now) };
  return { kind: 'drop-authorities', kept: [newest] };
}

/** Whether API servers may not know the newest CA yet. */
function isTooNew({ newestTrustedSince }: CertificateState, { trustFirstMs }: OverlapTimes, now: number): boolean {
  return newestTrustedSince === undefined || now < newestTrustedSince + trustFirstMs;
}

function checkAgainMs({ authorities, leaf, newestTrustedSince }: CertificateState, times: OverlapTimes, now: number): number {
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
  return signers.some((signer) => certificate.verify(new X509Certificate(signer.certificate).publicKey)) && hosts.every((host) => holds(certificate, host));
}

function holds(certificate: X509Certificate, host: string): boolean {
  // Asked for an IP address that is none, the certificate throws.
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

function madeAt({ certificate }: CertificatePair): number {
  return Date.parse(new X509Certificate(certificate).validFrom) + BACKDATED_MS;
}

function usedUpAt(pair: CertificatePair, share: number): number {
  const from = madeAt(pair);
  return from + (expiryOf(pair) - from) * share;
}

/** When a certificate ends, in ms since the epoch. */
export function expiryOf({ certificate }: Pick<CertificatePair, 'certificate'>): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}

/** What is wrong with a pair that is to be served; undefined when certificate and key can be read and go together. */
export function problemOf(pair: CertificatePair): string | undefined {
  try {
    const certificate = new X509Certificate(pair.certificate);
    return certificate.checkPrivateKey(createPrivateKey(pair.key)) ? undefined : 'the key is not that of the certificate';
  } catch {
    return 'certificate or key is no PEM'; // the library's message may quote the key
  }
}

/** The data of the Secret (base64) that replicas share. `ca.crt` is for people; programs read the rest. */
export function toSecretData({ authorities, leaf }: StoredCertificates): StringMap {
  const texts = {
    'ca.crt': trustBundle(authorities),
    'authorities.json': JSON.stringify(authorities),
    'tls.crt': leaf?.certificate ?? '',
    'tls.key': leaf?.key ?? '',
  };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
}

/** What a Secret holds. Pairs that are damaged count as missing, so that they are made anew. */
export function fromSecret({ data = {} }: Secret): StoredCertificates {
  const leaf = servedPairOf(data);
  return { authorities: authoritiesOf(textOf(data, 'authorities.json')).filter(isSound), ...(isSound(leaf) && { leaf }) };
}

/** The pair that a Secret of type kubernetes.io/tls holds. */
export function servedPairOf(data: StringMap): CertificatePair {
  return { certificate: textOf(data, 'tls.crt'), key: textOf(data, 'tls.key') };
}

/** The CAs' certificates as one PEM text. */
export function trustBundle(authorities: readonly CertificatePair[]): string {
  return authorities.map(({ certificate }) => certificate).join('');
}

/** The text under a key of a Secret's data. */
export function textOf(data: StringMap, key: string): string {
  return Buffer.from(data[key] ?? '', 'base64').toString();
}

function isSound(pair: CertificatePair): boolean {
  return problemOf(pair) === undefined;
}

function authoritiesOf(text: string): readonly CertificatePair[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.map((pair: Partial<CertificatePair>) => ({ certificate: String(pair.certificate), key: String(pair.key) })) : [];
  } catch {
    return [];
  }
}

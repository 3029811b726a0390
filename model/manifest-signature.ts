// The signature that makes a source manifest trustworthy (design D10): a compact JWS (RFC 7515) with HMAC-SHA256.
// Webhook and scheduler share the keys, so one symmetric algorithm serves both; why not EdDSA: docs/adr/0003.
// Only this algorithm is accepted, whatever a header asks for.
import { createHmac, createSecretKey, hash, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { StringMap } from '../api/core.ts';

/** A secret key under the name by which signatures refer to it. The key shows nothing of itself when printed. */
export interface SigningKey {
  readonly id: string;
  readonly secret: KeyObject;
  /** The protected header of what it signs (RFC 7515 §4), base64url: the same for every signature. */
  readonly header: string;
}

/** The keys in use: one signs, all verify, so that a key can be replaced without a gap. */
export interface SigningKeys {
  readonly signer: SigningKey;
  readonly byId: ReadonlyMap<string, SigningKey>;
}

/** What is signed: digest of the manifest, and which pod may carry it. */
export interface ManifestClaims {
  /** SHA-256 of the annotation's text, base64url. */
  readonly manifest: string;
  readonly namespace: string;
  /** Empty when the API server makes the name up from `generateName`. */
  readonly name: string;
  readonly generateName: string;
  /** UID of the controlling owner; empty when there is none. */
  readonly owner: string;
  /** Digest of the user who created the pod. */
  readonly user: string;
}

/** A verified signature's claims, or why there are none. */
export type VerifiedClaims = { readonly kind: 'verified'; readonly claims: ManifestClaims } | { readonly kind: 'refused'; readonly why: string };

/** Bytes of a key: those of the hash's output (RFC 7518 §3.2 asks for at least as many). */
export const KEY_BYTES = 32;
const TYPE = 'isthmus-source-manifest';
const MAX_SIGNATURE_LENGTH = 4_096;

/** Keys from a Secret's data, by id; the last id in alphabetical order signs. Entries of the wrong length are passed over. */
export function toSigningKeys(data: StringMap): SigningKeys | undefined {
  const keys = Object.keys(data).toSorted().flatMap((id) => {
    const bytes = Buffer.from(data[id] ?? '', 'base64');
    return bytes.length === KEY_BYTES ? [{ id, secret: createSecretKey(bytes), header: encode({ alg: 'HS256', typ: TYPE, kid: id }) }] : [];
  });
  const signer = keys.at(-1);
  return signer === undefined ? undefined : { signer, byId: new Map(keys.map((key) => [key.id, key])) };
}

/** SHA-256 of a text, base64url. */
export function digestOfText(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** The compact JWS over the claims. The same claims and key give the same text. */
export function signClaims(claims: ManifestClaims, key: SigningKey): string {
  const signed = `${key.header}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', key.secret).update(signed).digest('base64url')}`;
}

/** Verifies a compact JWS. */
export function verifyClaims(signature: string, keys: SigningKeys): VerifiedClaims {
  const [header = '', payload = '', tag = '', ...rest] = signature.length > MAX_SIGNATURE_LENGTH ? [] : signature.split('.');
  const { alg, typ, kid } = decode(header);
  if (rest.length > 0 || alg !== 'HS256' || typ !== TYPE || typeof kid !== 'string') return refused('it is no signature of the webhook');
  const key = keys.byId.get(kid);
  if (key === undefined) return refused('its key is not in use any more');
  const expected = mac(`${header}.${payload}`, key);
  const given = Buffer.from(tag, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return refused('it was not made with the key of the webhook');
  return { kind: 'verified', claims: decode(payload) as unknown as ManifestClaims };
}

function mac(signed: string, key: SigningKey): Buffer {
  return createHmac('sha256', key.secret).update(signed).digest();
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(part: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

function refused(why: string): VerifiedClaims {
  return { kind: 'refused', why };
}

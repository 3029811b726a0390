// Signed tokens (JWT, RFC 7519) with jose: one algorithm per key type, and a named reason for each way in which a token
// is invalid. Target invitations use a secret key (the verifier signed them), a broker's tokens an Ed25519 key.
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import { unverifiedClaims } from '../../model/objects/json-values.ts';

/** Private claims of a token. */
export type TokenData = Readonly<Record<string, unknown>>;

/** Registered claims (RFC 7519 §4.1), times in s since the epoch. */
export interface TokenClaims {
  readonly issuer: string;
  readonly audience: string;
  readonly id: string;
  readonly notBefore: number;
  readonly expiresAt: number;
  readonly data: TokenData;
}

/** Why a token is rejected. */
export type TokenProblem = 'TokenMalformed' | 'AlgorithmRefused' | 'SignatureInvalid' | 'TokenExpired'
  | 'TokenNotYetValid' | 'WrongAudience' | 'WrongIssuer';

/** A token's claims, or why it is rejected. */
export type VerifiedToken = { readonly kind: 'verified'; readonly claims: TokenClaims }
  | { readonly kind: 'refused'; readonly reason: TokenProblem; readonly message: string };

/** A secret key for HMAC-SHA256, or an Ed25519 private key as PKCS #8 PEM. */
export type TokenKey = Uint8Array | string;

/** What a token must match; `now` in ms since the epoch. */
export interface Expectation {
  readonly key: TokenKey;
  readonly issuer: string;
  readonly audience: string;
  readonly now: number;
  /** Longest validity of a token in s; unlimited when missing. */
  readonly maxSeconds?: number;
}

/** Longest validity of a broker's token in s. A token of `isthmus invite` is an invitation: see cli/join/invite.ts. */
export const MAX_BROKER_TOKEN_SECONDS = 900;
const BROKER_AUDIENCE = 'isthmus-join';
/** Bytes of a secret key (RFC 7518 §3.2 requires at least those of the hash). */
export const TOKEN_KEY_BYTES = 32;

/** A new Ed25519 key as PKCS #8 PEM. */
export function createTokenKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Never taken from the token: the key alone determines the algorithm. */
function algorithmOf(key: TokenKey): 'HS256' | 'EdDSA' {
  return typeof key === 'string' ? 'EdDSA' : 'HS256';
}

/** Signs claims. */
export async function signToken(
  { issuer, audience, id, notBefore, expiresAt, data }: TokenClaims, key: TokenKey,
): Promise<string> {
  const token = new SignJWT({ ...data }).setProtectedHeader({ alg: algorithmOf(key), typ: 'JWT' });
  return token.setIssuer(issuer).setAudience(audience).setJti(
    id,
  ).setNotBefore(notBefore).setExpirationTime(expiresAt).sign(typeof key === 'string' ? createPrivateKey(key) : key);
}

/** Verifies a token. Never throws, whatever the token holds. */
export async function verifyToken(
  token: string, { key, issuer, audience, now, maxSeconds = Infinity }: Expectation,
): Promise<VerifiedToken> {
  try {
    const { payload } = await jwtVerify(token, typeof key === 'string' ? createPublicKey(key) : key, {
      algorithms: [algorithmOf(key)], issuer, audience, currentDate: new Date(now),
      requiredClaims: ['jti', 'nbf', 'exp'],
    });
    const { iss: _iss, aud: _aud, jti = '', nbf = 0, exp = 0, ...data } = payload;
    if (exp - nbf > maxSeconds) return refused('TokenExpired', `it is valid for longer than ${maxSeconds} s`);
    return { kind: 'verified', claims: { issuer, audience, id: jti, notBefore: nbf, expiresAt: exp, data } };
  } catch (error) {
    return problemOf(error);
  }
}

/** The claims of an unverified token; undefined when it is malformed. For its holder, who has no key. */
export function unverifiedData(token: string): TokenData | undefined {
  const claims = unverifiedClaims(token);
  return Object.keys(claims).length === 0 ? undefined : claims;
}

const CLAIM_PROBLEMS: Readonly<Record<string, TokenProblem>> =
  { nbf: 'TokenNotYetValid', aud: 'WrongAudience', iss: 'WrongIssuer' };

function problemOf(error: unknown): VerifiedToken {
  if (error instanceof errors.JWTExpired) return refused('TokenExpired', 'it has expired');
  if (error instanceof errors.JWTClaimValidationFailed) {
    const message = `its claim ${error.claim} does not have the expected value`;
    return refused(CLAIM_PROBLEMS[error.claim] ?? 'TokenMalformed', message);
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return refused('AlgorithmRefused', 'it is not signed as these tokens are');
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return refused('SignatureInvalid', 'it was changed, or signed with another key');
  }
  return refused('TokenMalformed', 'it is not a valid token of this kind; copy all of it');
}

function refused(reason: TokenProblem, message: string): VerifiedToken {
  return { kind: 'refused', reason, message };
}

/** Contents of a broker's token, with which `isthmus gateway join` joins a clusterset. */
export interface BrokerTokenClaims {
  /** https URL of the broker. */
  readonly brokerUrl: string;
  /** PEM of the clusterset's CA, which also issued the broker's certificate. */
  readonly authority: string;
  /** The only cluster ID that may join with it; any when missing. */
  readonly clusterId?: string | undefined;
}

/** What is returned for a valid broker's token. */
export interface VerifiedBrokerToken {
  /** Unique; a token can be used once. */
  readonly id: string;
  readonly clusterId?: string | undefined;
  /** In ms since the epoch. */
  readonly expiresMs: number;
}

/** Creates a broker's token. `now` is its time of issue. */
export function signBrokerToken(
  key: string, { brokerUrl, authority, clusterId }: BrokerTokenClaims,
  { now, seconds = MAX_BROKER_TOKEN_SECONDS }: { readonly now: Date; readonly seconds?: number },
): Promise<string> {
  const notBefore = Math.floor(now.getTime() / 1_000);
  const expiresAt = notBefore + Math.min(seconds, MAX_BROKER_TOKEN_SECONDS);
  return signToken(
    {
      issuer: brokerUrl, audience: BROKER_AUDIENCE, id: randomUUID(), notBefore, expiresAt,
      data: { ca: authority, ...(clusterId !== undefined && { sub: clusterId }) },
    },
    key,
  );
}

/** Verifies a received broker's token. Undefined when it is invalid. */
export async function verifyBrokerToken(
  key: string, token: string, { brokerUrl, now }: { readonly brokerUrl: string; readonly now: Date },
): Promise<VerifiedBrokerToken | undefined> {
  const verified = await verifyToken(
    token,
    { key, issuer: brokerUrl, audience: BROKER_AUDIENCE, now: now.getTime(), maxSeconds: MAX_BROKER_TOKEN_SECONDS },
  );
  if (verified.kind === 'refused') return undefined;
  const { id, expiresAt, data } = verified.claims;
  return { id, expiresMs: expiresAt * 1_000, ...(typeof data['sub'] === 'string' && { clusterId: data['sub'] }) };
}

/** The unverified contents of a broker's token, for its holder. Undefined when it is malformed. */
export function readBrokerToken(token: string): BrokerTokenClaims | undefined {
  const { iss, ca, sub } = unverifiedData(token) ?? {};
  if (typeof iss !== 'string' || typeof ca !== 'string' || !iss.startsWith('https://')) return undefined;
  return { brokerUrl: iss, authority: ca, ...(typeof sub === 'string' && { clusterId: sub }) };
}

// Join tokens: what an administrator of the broker hands to one of a cluster that is to become a member. A JWT signed with Ed25519 (jose), good
// once and for a quarter of an hour at most. It carries the broker's address and authority, so the member trusts nobody else from the start.
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { decodeJwt, jwtVerify, SignJWT } from 'jose';

/** Longest life of a token in seconds. */
export const MAX_TOKEN_SECONDS = 900;
const AUDIENCE = 'isthmus-join';

/** What a token says. */
export interface JoinClaims {
  /** https URL of the broker. */
  readonly brokerUrl: string;
  /** PEM of the clusterset's authority, from which the broker's certificate comes as well. */
  readonly authority: string;
  /** The only cluster ID that may be taken with it; any when missing. */
  readonly clusterId?: string | undefined;
}

/** What is left of a token that holds. */
export interface VerifiedToken {
  /** Unique; a token counts once. */
  readonly id: string;
  readonly clusterId?: string | undefined;
  /** In ms since the epoch. */
  readonly expiresMs: number;
}

/** A new Ed25519 key as PKCS #8 PEM. */
export function createTokenKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Makes a token. `key` is PKCS #8 PEM; `now` is its time of issue. */
export function signJoinToken(key: string, claims: JoinClaims, { now, seconds = MAX_TOKEN_SECONDS }: { readonly now: Date; readonly seconds?: number }): Promise<string> {
  const issued = Math.floor(now.getTime() / 1_000);
  const token = new SignJWT({ ca: claims.authority })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT' })
    .setIssuer(claims.brokerUrl)
    .setAudience(AUDIENCE)
    .setJti(randomUUID())
    .setIssuedAt(issued)
    .setExpirationTime(issued + Math.min(seconds, MAX_TOKEN_SECONDS));
  return (claims.clusterId === undefined ? token : token.setSubject(claims.clusterId)).sign(createPrivateKey(key));
}

/** Checks a token that came in: signature, issuer, audience, time, a life that is not too long. Undefined when it does not hold. */
export async function verifyJoinToken(key: string, token: string, { brokerUrl, now }: { readonly brokerUrl: string; readonly now: Date }): Promise<VerifiedToken | undefined> {
  try {
    const { payload } = await jwtVerify(token, createPublicKey(key), {
      algorithms: ['EdDSA'], issuer: brokerUrl, audience: AUDIENCE, currentDate: now, maxTokenAge: MAX_TOKEN_SECONDS, requiredClaims: ['jti', 'exp', 'iat'],
    });
    const { jti = '', exp = 0, sub } = payload;
    return { id: jti, expiresMs: exp * 1_000, ...(sub !== undefined && { clusterId: sub }) };
  } catch {
    return undefined;
  }
}

/** What a token says, unchecked: for the one who was given it by hand. Undefined when it is none. */
export function readJoinToken(token: string): JoinClaims | undefined {
  try {
    const { iss = '', ca, sub } = decodeJwt<{ readonly ca?: unknown }>(token);
    if (typeof ca !== 'string' || !iss.startsWith('https://')) return undefined;
    return { brokerUrl: iss, authority: ca, ...(sub !== undefined && { clusterId: sub }) };
  } catch {
    return undefined;
  }
}

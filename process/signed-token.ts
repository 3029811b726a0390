// Signed tokens (JWT, RFC 7519) over jose: one algorithm, one key, and a named reason for each way in which a token can be wrong.
import { errors, jwtVerify, SignJWT } from 'jose';

/** What a token says beside its registered claims. */
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

/** Why a token is refused. */
export type TokenProblem = 'TokenMalformed' | 'AlgorithmRefused' | 'SignatureInvalid' | 'TokenExpired' | 'TokenNotYetValid' | 'WrongAudience' | 'WrongIssuer';

/** A token's claims, or why it is refused. */
export type VerifiedToken = { readonly kind: 'verified'; readonly claims: TokenClaims } | { readonly kind: 'refused'; readonly reason: TokenProblem; readonly message: string };

/** What a token is held to; `now` in ms since the epoch. */
export interface Expectation {
  readonly key: Uint8Array;
  readonly issuer: string;
  readonly audience: string;
  readonly now: number;
}

const ALGORITHM = 'HS256';
/** Bytes of a key (RFC 7518 §3.2 asks for at least those of the hash). */
export const TOKEN_KEY_BYTES = 32;

/** Signs with HMAC-SHA256: who verifies is who has signed. */
export async function signToken({ issuer, audience, id, notBefore, expiresAt, data }: TokenClaims, key: Uint8Array): Promise<string> {
  const token = new SignJWT({ ...data }).setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' });
  return token.setIssuer(issuer).setAudience(audience).setJti(id).setNotBefore(notBefore).setExpirationTime(expiresAt).sign(key);
}

/** Verifies a token. Never throws for what a token may hold. */
export async function verifyToken(token: string, { key, issuer, audience, now }: Expectation): Promise<VerifiedToken> {
  try {
    const { payload } = await jwtVerify(token, key, { algorithms: [ALGORITHM], issuer, audience, currentDate: new Date(now), requiredClaims: ['jti', 'nbf', 'exp'] });
    const { iss: _iss, aud: _aud, jti = '', nbf = 0, exp = 0, ...data } = payload;
    return { kind: 'verified', claims: { issuer, audience, id: jti, notBefore: nbf, expiresAt: exp, data } };
  } catch (error) {
    return problemOf(error);
  }
}

/** The claims of a token that nobody has verified yet; undefined when it is none. For its holder, who has no key. */
export function unverifiedData(token: string): TokenData | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? (claims as TokenData) : undefined;
  } catch {
    return undefined;
  }
}

const CLAIM_PROBLEMS: Readonly<Record<string, TokenProblem>> = { nbf: 'TokenNotYetValid', aud: 'WrongAudience', iss: 'WrongIssuer' };

function problemOf(error: unknown): VerifiedToken {
  if (error instanceof errors.JWTExpired) return refused('TokenExpired', 'it has expired');
  if (error instanceof errors.JWTClaimValidationFailed) {
    return refused(CLAIM_PROBLEMS[error.claim] ?? 'TokenMalformed', `its claim ${error.claim} is not what it must be`);
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return refused('AlgorithmRefused', `it is not signed with ${ALGORITHM}`);
  if (error instanceof errors.JWSSignatureVerificationFailed) return refused('SignatureInvalid', 'it was changed, or signed with another key');
  return refused('TokenMalformed', 'it is no token of this kind; copy the whole of it');
}

function refused(reason: TokenProblem, message: string): VerifiedToken {
  return { kind: 'refused', reason, message };
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { SignJWT } from 'jose';
import { signToken, unverifiedData, verifyToken, type TokenClaims } from '../../../../process/crypto/signed-token.ts';

const NOW = 1_800_000_000;
const key = new Uint8Array(32).fill(7);
const claims: TokenClaims = {
  issuer: 'cluster-a', audience: 'join', id: 'invitation-1', notBefore: NOW - 10, expiresAt: NOW + 600,
  data: { server: 'https://a.example', namespace: 'team' },
};
const expected = { key, issuer: 'cluster-a', audience: 'join', now: NOW * 1_000 };
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const parts = (token: string) => token.split('.') as [string, string, string];
const payloadOf = (token: string) =>
  JSON.parse(Buffer.from(parts(token)[1], 'base64url').toString()) as Record<string, unknown>;

async function reasonOf(token: string, expectation: Partial<typeof expected> = {}): Promise<string> {
  const verified = await verifyToken(token, { ...expected, ...expectation });
  return verified.kind === 'verified' ? 'verified' : verified.reason;
}

/** The token with other claims and its old signature. */
async function edited(change: Record<string, unknown>): Promise<string> {
  const token = await signToken(claims, key);
  const [header, , signature] = parts(token);
  return `${header}.${encode({ ...payloadOf(token), ...change })}.${signature}`;
}

describe('a signed token', () => {
  it('gives back what was signed', async () => {
    assert.deepEqual(await verifyToken(await signToken(claims, key), expected), { kind: 'verified', claims });
  });

  const forgeries: readonly [string, () => Promise<string>, string, Partial<typeof expected>?][] = [
    [
      'without a signature (alg none)',
      async () => `${encode({ alg: 'none', typ: 'JWT' })}.${parts(await signToken(claims, key))[1]}.`,
      'AlgorithmRefused',
    ],
    [
      'with another algorithm and the same key',
      () => new SignJWT({}).setProtectedHeader({ alg: 'HS384' }).setIssuer('cluster-a').setAudience('join').sign(
        new Uint8Array(64).fill(7),
      ),
      'AlgorithmRefused',
    ],
    ['signed with another key', () => signToken(claims, new Uint8Array(32).fill(8)), 'SignatureInvalid'],
    ['for another audience', () => signToken({ ...claims, audience: 'other' }, key), 'WrongAudience'],
    ['of another cluster', () => signToken({ ...claims, issuer: 'cluster-b' }, key), 'WrongIssuer'],
    ['that has expired', () => signToken(claims, key), 'TokenExpired', { now: (NOW + 601) * 1_000 }],
    ['that is not valid yet', () => signToken(claims, key), 'TokenNotYetValid', { now: (NOW - 11) * 1_000 }],
    ['with a changed address', () => edited({ server: 'https://evil.example' }), 'SignatureInvalid'],
    ['with a changed pin', () => edited({ certificateAuthority: 'other' }), 'SignatureInvalid'],
    ['with a longer life', () => edited({ exp: NOW + 1e6 }), 'SignatureInvalid'],
    ['that was cut short', async () => (await signToken(claims, key)).slice(0, -4), 'SignatureInvalid'],
    ['without its signature', async () => parts(await signToken(claims, key)).slice(0, 2).join('.'), 'TokenMalformed'],
    [
      'without an id',
      () => new SignJWT({}).setProtectedHeader({
        alg: 'HS256',
      }).setIssuer('cluster-a').setAudience('join').setNotBefore(NOW - 1).setExpirationTime(NOW + 1).sign(key),
      'TokenMalformed',
    ],
    [
      'without an end',
      () => new SignJWT({}).setProtectedHeader({
        alg: 'HS256',
      }).setIssuer('cluster-a').setAudience('join').setJti('i').setNotBefore(NOW - 1).sign(key),
      'TokenMalformed',
    ],
  ];
  for (const [what, make, reason, expectation] of forgeries) {
    it(`${what} is refused as ${reason}`, async () => assert.equal(await reasonOf(await make(), expectation), reason));
  }

  it('that is any text at all is refused, and never throws', async () => {
    await fc.assert(fc.asyncProperty(fc.oneof(
      fc.string(), fc.array(fc.base64String(), { minLength: 3, maxLength: 3 }).map((texts) => texts.join('.')),
    ), async (text) => {
      assert.notEqual(await reasonOf(text), 'verified');
      unverifiedData(text);
    }));
  });

  it('with any one bit of it changed is refused', async () => {
    const token = await signToken(claims, key);
    await fc.assert(fc.asyncProperty(fc.nat(token.length - 1),
      fc.constantFrom('A', 'b', '7', '_'), async (at, other) => {
      const changed = `${token.slice(0, at)}${other}${token.slice(at + 1)}`;
      // The last character of base64url may hold bits that mean nothing.
      const isSame = Buffer.from(parts(changed)[2] ?? '', 'base64url').equals(Buffer.from(parts(token)[2], 'base64url'))
        && changed.slice(0, -1) === token.slice(0, -1);
      if (!isSame) assert.notEqual(await reasonOf(changed), 'verified');
    }));
  });

  it('can be looked into by its holder, who cannot verify it', async () => {
    assert.equal(unverifiedData(await signToken(claims, key))?.['server'], 'https://a.example');
    for (const text of ['', 'a.b', 'a.bnVsbA.c', 'a.MQ.c']) assert.equal(unverifiedData(text), undefined, text);
  });
});

// Generates WireGuard keys.
import { generateKeyPairSync } from 'node:crypto';

/** A new private key, base64. */
export function newPrivateKey(): string {
  const { d = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  return Buffer.from(d, 'base64url').toString('base64');
}

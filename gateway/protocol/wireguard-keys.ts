// WireGuard keys: X25519, 32 bytes; base64 in objects as `wg` prints them, hexadecimal in WireGuard's configuration
// protocol.
import { createPrivateKey, createPublicKey } from 'node:crypto';

/** PKCS #8 of an X25519 private key up to the key itself (RFC 8410, §7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex');
const KEY = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/** Whether the text is a valid key: base64 of 32 bytes. */
export function isWireguardKey(text: string): boolean {
  return KEY.test(text);
}

/** The public key of a private key, as `wg pubkey` prints it. Throws a RangeError when the key is invalid. */
export function publicKeyOf(privateKey: string): string {
  if (!isWireguardKey(privateKey)) throw new RangeError('not the base64 of 32 bytes'); // never quote a private key
  const key = createPrivateKey(
    { key: Buffer.concat([PKCS8_PREFIX, Buffer.from(privateKey, 'base64')]), format: 'der', type: 'pkcs8' },
  );
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return Buffer.from(x, 'base64url').toString('base64');
}

/** The form of the configuration protocol. */
export function toHex(key: string): string {
  return Buffer.from(key, 'base64').toString('hex');
}

/** The reverse of {@link toHex}. */
export function fromHex(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}

// Messages encrypted for one receiver (JWE, RFC 7516) with jose: ECDH-ES on P-256 with AES-256-GCM.
import { CompactEncrypt, compactDecrypt, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';

const AGREEMENT = 'ECDH-ES';
const CIPHER = 'A256GCM';

/** A receiver of messages encrypted for its public key. */
export interface Receiver {
  /** JWK as JSON. */
  readonly publicKey: string;
  /** JWK as JSON, for {@link restoreReceiver} only: anyone who has it can read the messages. */
  readonly privateKey: string;
  /** Decrypts a message; rejects one that was encrypted for another key or modified. */
  open(sealed: string): Promise<string>;
}

/** A receiver with a new key. */
export async function createReceiver(): Promise<Receiver> {
  const { privateKey } = await generateKeyPair(AGREEMENT, { crv: 'P-256', extractable: true });
  return receiverOf(await exportJWK(privateKey));
}

/** The receiver of this {@link Receiver.privateKey}; undefined when the key is invalid. */
export async function restoreReceiver(privateKey: string): Promise<Receiver | undefined> {
  try {
    const { kty, crv, x, y, d } = JSON.parse(privateKey) as JWK;
    const isPrivateKey = kty === 'EC' && crv === 'P-256' && typeof d === 'string';
    return isPrivateKey ? await receiverOf({ kty, crv, x, y, d } as JWK) : undefined;
  } catch {
    return undefined;
  }
}

async function receiverOf({ kty, crv, x, y, d }: JWK): Promise<Receiver> {
  const key = await importJWK({ kty, crv, x, y, d } as JWK, AGREEMENT);
  return {
    publicKey: JSON.stringify({ kty, crv, x, y }),
    privateKey: JSON.stringify({ kty, crv, x, y, d }),
    open: async (sealed) => {
      const { plaintext } = await compactDecrypt(
        sealed, key, { keyManagementAlgorithms: [AGREEMENT], contentEncryptionAlgorithms: [CIPHER] },
      );
      return new TextDecoder().decode(plaintext);
    },
  };
}

/** Encrypts texts for the receiver of the key. Undefined when the key is not usable. */
export async function sealerFor(publicKey: string): Promise<((text: string) => Promise<string>) | undefined> {
  const key = await publicKeyOf(publicKey);
  if (key === undefined) return undefined;
  return (text) => new CompactEncrypt(new TextEncoder().encode(text))
    .setProtectedHeader({ alg: AGREEMENT, enc: CIPHER })
    .encrypt(key);
}

/** Accepts only P-256 points without a private part: no other JWK is encrypted for. */
async function publicKeyOf(json: string): Promise<Awaited<ReturnType<typeof importJWK>> | undefined> {
  try {
    const { kty, crv, x, y } = JSON.parse(json) as JWK;
    if (kty !== 'EC' || crv !== 'P-256' || typeof x !== 'string' || typeof y !== 'string') return undefined;
    return await importJWK({ kty, crv, x, y }, AGREEMENT);
  } catch {
    return undefined;
  }
}

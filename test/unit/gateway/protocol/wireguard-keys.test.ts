import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromHex, isWireguardKey, publicKeyOf, toHex } from '../../../../gateway/protocol/wireguard-keys.ts';

// RFC 7748, §6.1: Bob's keys.
const PRIVATE = Buffer.from('5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb', 'hex')
  .toString('base64');
const PUBLIC = 'de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f';

describe('keys of WireGuard', () => {
  it('give the public key that RFC 7748 gives', () => assert.equal(toHex(publicKeyOf(PRIVATE)), PUBLIC));
  it('are recognised by their form', () => {
    assert.deepEqual([PRIVATE, '', 'x'.repeat(44), `${'A'.repeat(43)}=`, `${'A'.repeat(42)}B=`].map(isWireguardKey), [
      true, false, false, true, false,
    ]);
  });
  it('never stand in the words of an error', () => assert.throws(
    () => publicKeyOf('secret'), (error: Error) => !error.message.includes('secret'),
  ));
  it('keep their bytes in either form', () => assert.equal(fromHex(toHex(PRIVATE)), PRIVATE));
});

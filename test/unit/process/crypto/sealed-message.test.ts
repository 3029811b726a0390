import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { exportJWK, generateKeyPair } from 'jose';
import { createReceiver, restoreReceiver, sealerFor } from '../../../../process/crypto/sealed-message.ts';

describe('a sealed message', () => {
  it('is opened by whom it was sealed for, whatever it says', async () => {
    const receiver = await createReceiver();
    await fc.assert(fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (text) => {
      assert.equal(await receiver.open((await (await sealerFor(receiver.publicKey))?.(text)) ?? ''), text);
    }), { numRuns: 20 });
  });

  it('is not opened by another receiver, nor when it was changed', async () => {
    const [receiver, other] = await Promise.all([createReceiver(), createReceiver()]);
    const sealed = (await (await sealerFor(receiver.publicKey))?.('secret')) ?? '';
    await assert.rejects(other.open(sealed));
    const at = sealed.length - 10; // a character of the tag all of whose bits count
    const other64 = sealed[at] === 'A' ? 'B' : 'A';
    await assert.rejects(receiver.open(`${sealed.slice(0, at)}${other64}${sealed.slice(at + 1)}`));
    await assert.rejects(receiver.open(''));
    assert.ok(!sealed.includes(Buffer.from('secret').toString('base64url')));
  });

  it('is opened by the receiver that was put away and taken out again', async () => {
    const before = await createReceiver();
    const sealed = (await (await sealerFor(before.publicKey))?.('secret')) ?? '';
    const after = await restoreReceiver(before.privateKey);
    assert.deepEqual([after?.publicKey, await after?.open(sealed)], [before.publicKey, 'secret']);
  });

  for (
    const [what, text] of [
      ['nothing', ''], ['no JSON', '{'], ['null', 'null'],
      ['a public key', '{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}'],
      ['a broken key', '{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"AA"}'],
    ] as const
  ) {
    it(`has no receiver in ${what}`, async () => assert.equal(await restoreReceiver(text), undefined));
  }

  it('names no private part in the public key', async () => {
    assert.deepEqual(
      Object.keys(JSON.parse((await createReceiver()).publicKey) as object).toSorted(), ['crv', 'kty', 'x', 'y'],
    );
  });

  const rsa = async () => JSON.stringify(await exportJWK((await generateKeyPair('RSA-OAEP')).publicKey));
  const unusable: readonly [string, () => Promise<string>][] = [
    ['nothing', async () => ''],
    ['no JSON', async () => '{'],
    ['null', async () => 'null'],
    ['an RSA key', rsa],
    ['a symmetric key', async () => '{"kty":"oct","k":"AAAA"}'],
    ['another curve', async () => '{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}'],
    ['a point that is not on the curve', async () => JSON.stringify(
      {
        kty: 'EC', crv: 'P-256', x: Buffer.alloc(32, 1).toString('base64url'),
        y: Buffer.alloc(32, 2).toString('base64url'),
      },
    )],
  ];
  for (const [what, key] of unusable) {
    it(`cannot be sealed for ${what}`, async () => assert.equal(await sealerFor(await key()), undefined));
  }
});

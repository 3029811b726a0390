import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { compactVerify, CompactSign } from 'jose';
import { signClaims, toSigningKeys, verifyClaims } from '../../../model/manifest-signature.ts';
import { openSourceManifest, sealSourceManifest, type ManifestHolder } from '../../../model/sealed-manifest.ts';
import { compressSourceManifest, restoreSourcePod } from '../../../model/source-manifest.ts';
import { keysOf, KEYS } from '../../support/admission.ts';

const HOLDER: ManifestHolder = { namespace: 'team-a', name: 'web', generateName: '', owner: 'owner-uid' };
const GENERATED: ManifestHolder = { namespace: 'team-a', name: '', generateName: 'web-', owner: 'owner-uid' };
const MANIFEST = '{"metadata":{},"spec":{"containers":[]}}';
const CLAIMS = { manifest: 'digest', ...HOLDER, user: 'user' };
const bytesOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

describe('a signature', () => {
  it('is a JWS that another implementation verifies', async () => {
    const { payload, protectedHeader } = await compactVerify(signClaims(CLAIMS, KEYS.signer), bytesOf(2), { algorithms: ['HS256'] });
    assert.deepEqual(JSON.parse(new TextDecoder().decode(payload)), CLAIMS);
    assert.deepEqual(protectedHeader, { alg: 'HS256', typ: 'isthmus-source-manifest', kid: 'key-0002' });
  });

  it('of another implementation is verified when it is of our type, and refused when it is not', async () => {
    const sign = (typ: string): Promise<string> =>
      new CompactSign(new TextEncoder().encode(JSON.stringify(CLAIMS))).setProtectedHeader({ alg: 'HS256', kid: 'key-0001', typ }).sign(bytesOf(1));
    assert.deepEqual(verifyClaims(await sign('isthmus-source-manifest'), KEYS), { kind: 'verified', claims: CLAIMS });
    assert.equal(verifyClaims(await sign('JWT'), KEYS).kind, 'refused');
  });

  it('is made by the latest key, and verified by all that are left', () => {
    const old = signClaims(CLAIMS, keysOf({ 'key-0001': 1 }).signer);
    assert.equal(verifyClaims(old, KEYS).kind, 'verified');
    assert.deepEqual(verifyClaims(old, keysOf({ 'key-0002': 2 })), { kind: 'refused', why: 'its key is not in use any more' });
    assert.deepEqual(verifyClaims(old, keysOf({ 'key-0001': 9 })), { kind: 'refused', why: 'it was not made with the key of the webhook' });
  });

  const [header = '', payload = '', tag = ''] = signClaims(CLAIMS, KEYS.signer).split('.');
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const refused: Readonly<Record<string, string>> = {
    'nothing': '',
    'no JWS': 'abc',
    'without a tag': `${header}.${payload}.`,
    'with one part more': `${header}.${payload}.${tag}.x`,
    'that wants no algorithm': `${encode({ alg: 'none', typ: 'isthmus-source-manifest', kid: 'key-0002' })}.${payload}.`,
    'with another payload': `${header}.${encode({ ...CLAIMS, namespace: 'kube-system' })}.${tag}`,
    'whose key is a property of objects': `${encode({ alg: 'HS256', typ: 'isthmus-source-manifest', kid: '__proto__' })}.${payload}.${tag}`,
    'too long to look at': `${header}.${'x'.repeat(5_000)}.${tag}`,
  };
  for (const [what, signature] of Object.entries(refused)) {
    it(`${what} is refused`, () => assert.equal(verifyClaims(signature, KEYS).kind, 'refused'));
  }
});

describe('keys', () => {
  it('of the wrong length are passed over, and none at all are none', () => {
    const data = { short: Buffer.alloc(8).toString('base64'), good: Buffer.alloc(32, 1).toString('base64'), zz: 'not base64!' };
    assert.deepEqual([...(toSigningKeys(data)?.byId.keys() ?? [])], ['good']);
    assert.equal(toSigningKeys({}), undefined);
  });

  it('do not show themselves when printed', () => {
    const secret = Buffer.alloc(32, 2);
    for (const text of [JSON.stringify(KEYS.signer), inspect(KEYS, { depth: 9 })]) {
      assert.ok(!text.includes(secret.toString('base64')) && !text.includes(secret.toString('hex')), text);
    }
  });
});

describe('a sealed manifest', () => {
  const sealed = sealSourceManifest(MANIFEST, HOLDER, 'alice', KEYS);
  const generated = sealSourceManifest(MANIFEST, GENERATED, 'alice', KEYS);

  const accepted: Readonly<Record<string, readonly [typeof sealed, ManifestHolder]>> = {
    'the pod that it was made for': [sealed, HOLDER],
    'that pod without its owner, which has left it': [sealed, { ...HOLDER, owner: '' }],
    'a pod whose name the API server made up': [generated, { ...GENERATED, name: 'web-x7k2p' }],
    'that pod before it has a name': [generated, GENERATED],
    'a pod that an owner adopted': [sealSourceManifest(MANIFEST, { ...HOLDER, owner: '' }, 'alice', KEYS), HOLDER],
    'a generated name of a prefix that was cut': [
      sealSourceManifest(MANIFEST, { ...GENERATED, generateName: 'x'.repeat(60) }, 'alice', KEYS),
      { ...GENERATED, generateName: 'x'.repeat(60), name: `${'x'.repeat(58)}abcde` },
    ],
  };
  for (const [who, [given, holder]] of Object.entries(accepted)) {
    it(`opens for ${who}`, () => assert.equal(openSourceManifest(given, holder, KEYS).kind, 'restored'));
  }

  const refused: Readonly<Record<string, readonly [typeof sealed, ManifestHolder, RegExp]>> = {
    'another namespace': [sealed, { ...HOLDER, namespace: 'team-b' }, /another pod, in namespace team-a/],
    'another name': [sealed, { ...HOLDER, name: 'other' }, /another pod, named web/],
    'another prefix': [generated, { ...GENERATED, generateName: 'api-', name: 'api-x7k2p' }, /generated from web-/],
    'a name that was not generated from the prefix': [generated, { ...GENERATED, name: 'other' }, /generated from web-/],
    'another owner': [sealed, { ...HOLDER, owner: 'other-uid' }, /owner with UID owner-uid/],
    'another text': [{ ...sealed, manifest: `${MANIFEST} ` }, HOLDER, /was changed/],
    'a text that is no pod, though signed': [sealSourceManifest('[]', HOLDER, 'alice', KEYS), HOLDER, /holds no pod/],
  };
  for (const [what, [given, holder, message]] of Object.entries(refused)) {
    it(`does not open for ${what}, and says so`, () => {
      const opened = openSourceManifest(given, holder, KEYS);
      assert.match(opened.kind === 'invalid' ? opened.message : '', message);
    });
  }
});

describe('a compressed manifest', () => {
  it('is restored like any other', () => {
    const pod = { metadata: { name: 'web' }, spec: { containers: [] } };
    assert.deepEqual(restoreSourcePod(compressSourceManifest(JSON.stringify(pod))), { kind: 'restored', pod });
  });

  it('that would expand without end, or is cut, is refused', () => {
    const bomb = compressSourceManifest(`{"x":"${' '.repeat(9 * 1024 * 1024)}"}`);
    assert.equal(restoreSourcePod(bomb).kind, 'invalid');
    assert.equal(restoreSourcePod(compressSourceManifest(MANIFEST).slice(0, -10)).kind, 'invalid');
  });
});

// Pairs of other makers than ourselves: keys of every kind, chains, and what people put into Secrets and files.
import assert from 'node:assert/strict';
import { KeyObject, webcrypto } from 'node:crypto';
import { before, describe, it } from 'node:test';
import '../../../../process/crypto/reflect-metadata.ts';
import * as x509 from '@peculiar/x509';
import { createAuthority, type CertificateAuthority, type KeyPair } from
  '../../../../process/crypto/certificate-authority.ts';
import {
  expiryOf, fromSecret, planCertificates, problemOf, servedPairOf, textOf, toSecretData, trustBundle,
  type CertificatePair,
} from '../../../../webhook/certificates/serving-certificate.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const DAY = 86_400_000;
const UNREADABLE = 'certificate or key is not whole PEM, or the key has a passphrase';
const MISMATCH = 'the key does not match the certificate';
type Algorithm = webcrypto.RsaHashedKeyGenParams | webcrypto.EcKeyGenParams | { readonly name: string };

/** A self-signed pair with a key of this kind. */
async function selfSigned(
  algorithm: Algorithm, signingAlgorithm: Algorithm | webcrypto.EcdsaParams = algorithm,
): Promise<CertificatePair> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as webcrypto.CryptoKeyPair;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=w', keys, notBefore: NOW, notAfter: new Date(NOW.getTime() + DAY), serialNumber: '01',
    signingAlgorithm: signingAlgorithm as webcrypto.EcdsaParams,
  }, webcrypto);
  return { certificate: `${certificate.toString('pem')}\n`, key: pem(KeyObject.from(keys.privateKey)) };
}

const pem = (key: KeyObject, passphrase?: string): string => key.export({
  type: 'pkcs8', format: 'pem', ...(passphrase !== undefined && { cipher: 'aes-256-cbc', passphrase }),
}) as string;

let authority: CertificateAuthority;
let leaf: KeyPair;
let kinds: Readonly<Record<string, CertificatePair>>;
before(async () => {
  authority = await createAuthority('ca', 730, NOW);
  leaf = await authority.issue({ commonName: 'w', dnsNames: ['localhost'], days: 90 }, NOW);
  kinds = {
    'RSA': await selfSigned({
      name: 'RSASSA-PKCS1-v1_5', modulusLength: 1_024, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256',
    }),
    'ECDSA P-384': await selfSigned({ name: 'ECDSA', namedCurve: 'P-384' }, { name: 'ECDSA', hash: 'SHA-384' }),
    'Ed25519': await selfSigned({ name: 'Ed25519' }),
    'ECDSA P-256': leaf,
  };
});

describe('a pair with a key of any kind', () => {
  it('has no problem with its own key, and with every other kind of key the same one', () => {
    for (const [kind, { certificate }] of Object.entries(kinds)) {
      for (const [other, { key }] of Object.entries(kinds)) {
        assert.equal(problemOf({ certificate, key }), kind === other ? undefined : MISMATCH, `${kind} with ${other}`);
      }
    }
  });
  it('expires when its certificate says so, however its issuer signs', () => {
    for (const kind of ['RSA', 'ECDSA P-384', 'Ed25519']) {
      assert.equal(expiryOf(kinds[kind] ?? leaf), NOW.getTime() + DAY, kind);
    }
  });
});

describe('what is in a Secret or a file', () => {
  const crlf = (text: string): string => text.replaceAll('\n', '\r\n');
  const rows: Readonly<Record<string, readonly [pair: () => CertificatePair, problem: string | undefined]>> = {
    'a chain, the leaf first':
      [() => ({ ...leaf, certificate: leaf.certificate + authority.keyPair.certificate }), undefined],
    'a chain, the CA first':
      [() => ({ ...leaf, certificate: authority.keyPair.certificate + leaf.certificate }), MISMATCH],
    'a chain whose second certificate is half there': [() => ({
      ...leaf, certificate: leaf.certificate + authority.keyPair.certificate.slice(0, 200),
    }), UNREADABLE],
    'a chain whose second certificate is something else': [() => ({
      ...leaf, certificate: `${leaf.certificate}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
    }), UNREADABLE],
    'a chain of a hundred': [() => ({ ...leaf, certificate: leaf.certificate.repeat(100) }), undefined],
    'lines that end as on Windows':
      [() => ({ certificate: crlf(leaf.certificate), key: crlf(leaf.key) }), undefined],
    'a note before each block': [() => ({
      certificate: `subject=CN = w\n${leaf.certificate}`, key: `Bag Attributes\n${leaf.key}`,
    }), undefined],
    'no line break at the end': [() => ({ certificate: leaf.certificate.trim(), key: leaf.key.trim() }), undefined],
    'the key in the certificate\'s place': [() => ({ certificate: leaf.key, key: leaf.key }), UNREADABLE],
    'the certificate in the key\'s place': [() => ({ ...leaf, key: leaf.certificate }), UNREADABLE],
    'certificate and key in one text, twice': [() => ({
      certificate: leaf.key + leaf.certificate, key: leaf.certificate + leaf.key,
    }), undefined],
    'a public key':
      [() => ({ ...leaf, key: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n' }), UNREADABLE],
    'base64 without a frame':
      [() => ({ ...leaf, certificate: leaf.certificate.replaceAll(/-----.*-----/g, '') }), UNREADABLE],
    'base64 once more':
      [() => ({ ...leaf, certificate: Buffer.from(leaf.certificate).toString('base64') }), UNREADABLE],
  };
  for (const [what, [pair, problem]] of Object.entries(rows)) {
    it(`${what}: ${problem ?? 'is served'}`, () => assert.equal(problemOf(pair()), problem));
  }

  it('a key with a passphrase, which nobody could enter: says so, and quotes nothing of it', async () => {
    const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
    assert.equal(problemOf({ ...leaf, key: pem(KeyObject.from(keys.privateKey), 'secret') }), UNREADABLE);
  });
});

describe('the data of a Secret', () => {
  it('is empty text where there is no such key, and what decodes where it is no base64', () => {
    assert.deepEqual(servedPairOf({}), { certificate: '', key: '' });
    assert.equal(textOf({ 'tls.crt': '%%%' }, 'tls.crt'), '');
    assert.equal(textOf({ 'tls.crt': 'w6k=' }, 'tls.crt'), 'é');
  });
  it('keeps the CAs that can be used of those that are stored, in their order', () => {
    const { keyPair } = authority;
    const others = [{ ...keyPair, key: leaf.key }, 7, { certificate: null }, [keyPair]];
    const stored = [...others, { ...keyPair, comment: 'ours' }];
    const text = Buffer.from(JSON.stringify(stored)).toString('base64');
    assert.deepEqual(fromSecret({ metadata: {}, data: { 'authorities.json': text } }), { authorities: [keyPair] });
  });
  it('has no leaf where only half of it is stored', () => {
    const { 'tls.key': _key, ...data } = toSecretData({ authorities: [authority.keyPair], leaf });
    assert.deepEqual(fromSecret({ metadata: {}, data }), { authorities: [authority.keyPair] });
  });
  it('is valid for a Secret of type kubernetes.io/tls, also before there is a leaf', () => assert.deepEqual(
    [toSecretData({ authorities: [] })['tls.crt'], toSecretData({ authorities: [] })['tls.key']], ['', ''],
  ));
  it('has no private key among what API servers get', () => {
    const bundle = trustBundle([authority.keyPair, leaf]);
    assert.equal(bundle, authority.keyPair.certificate + leaf.certificate);
    assert.equal(bundle.includes('PRIVATE KEY'), false);
  });
});

describe('hosts that a leaf must cover', () => {
  const covered: readonly string[] = [
    'isthmus-webhook.isthmus-system.svc', 'localhost', '127.0.0.1', '::1', '2001:db8::1', '::ffff:7f00:1',
    'webhook.example.', 'xn--80ak6aa92e.example', 'web_hook.example', 'a', `${'b'.repeat(63)}.${'c'.repeat(63)}.svc`,
  ];
  for (const host of covered) {
    it(`${host}: one leaf is enough`, async () => {
      const isAddress = host.includes(':') || /^[0-9.]+$/.test(host);
      const own = await authority.issue(
        { commonName: 'w', ...(isAddress ? { ipAddresses: [host] } : { dnsNames: [host] }), days: 90 }, NOW,
      );
      const state = { authorities: [authority.keyPair], hosts: [host], newestTrustedSince: NOW.getTime() };
      const times = { trustFirstMs: 0, trustLongerMs: 0 };
      const decide = (pair: KeyPair) => planCertificates({ ...state, leaf: pair }, times, NOW.getTime()).kind;
      assert.deepEqual([decide(own), decide(leaf)], ['keep', host === 'localhost' ? 'keep' : 'issue-leaf']);
    });
  }
});

// Certificates as a TLS peer and Kubernetes see them: read back with Node's own parser, and used in a handshake.
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, sign, verify, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { createAuthority, createSigningKey, loadAuthority } from '../../../../process/crypto/certificate-authority.ts';

const now = new Date('2030-01-02T03:04:05Z');
const day = 86_400_000;

describe('createAuthority', () => {
  it('makes a self-signed authority that may sign certificates', async () => {
    const { keyPair } = await createAuthority('test-ca', 10, now);
    const certificate = new X509Certificate(keyPair.certificate);
    assert.equal(certificate.ca, true);
    assert.equal(certificate.subject, 'CN=test-ca');
    assert.ok(certificate.verify(certificate.publicKey));
    assert.ok(certificate.checkPrivateKey(createPrivateKey(keyPair.key)));
  });

  it('begins 70 minutes before now and ends after the given days', async () => {
    const certificate = new X509Certificate((await createAuthority('test-ca', 10, now)).keyPair.certificate);
    assert.equal(Date.parse(certificate.validFrom), now.getTime() - 70 * 60_000);
    assert.equal(Date.parse(certificate.validTo), now.getTime() + 10 * day);
  });
});

describe('CertificateAuthority.issue', () => {
  it('signs what was asked for, with the user and its groups in the subject', async () => {
    const authority = await createAuthority('test-ca', 10, now);
    const pair = await authority.issue(
      { commonName: 'kubernetes-admin', organizations: ['system:masters', 'a, O=b'], days: 1 }, now,
    );
    const certificate = new X509Certificate(pair.certificate);
    assert.ok(certificate.verify(new X509Certificate(authority.keyPair.certificate).publicKey));
    assert.equal(certificate.ca, false);
    const subject =
      certificate.toLegacyObject().subject as unknown as { readonly CN: string; readonly O: readonly string[] };
    assert.equal(subject.CN, 'kubernetes-admin');
    assert.deepEqual(
      [...subject.O].toSorted(), ['a, O=b', 'system:masters'], 'a comma in a name forges no second name',
    );
  });

  it('names the server in the alternative names', async () => {
    const authority = await createAuthority('test-ca', 10, now);
    const request = {
      commonName: 'server', dnsNames: ['localhost', 'webhook.isthmus.svc'], ipAddresses: ['127.0.0.1', '::1'], days: 1,
    };
    const certificate = new X509Certificate((await authority.issue(request, now)).certificate);
    assert.equal(
      certificate.subjectAltName,
      'DNS:localhost, DNS:webhook.isthmus.svc, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
    );
  });

  it('restricts the use when asked to', async () => {
    const authority = await createAuthority('test-ca', 10, now);
    const usageOf = async (usages: readonly ('server' | 'client')[]): Promise<readonly string[]> =>
      new X509Certificate((await authority.issue({ commonName: 'x', usages, days: 1 }, now)).certificate).keyUsage;
    assert.deepEqual(await usageOf(['client']), ['1.3.6.1.5.5.7.3.2']);
    assert.deepEqual(await usageOf(['server']), ['1.3.6.1.5.5.7.3.1']);
  });

  it('never outlives the authority', async () => {
    const authority = await createAuthority('test-ca', 2, now);
    const certificate = new X509Certificate((await authority.issue({ commonName: 'x', days: 100 }, now)).certificate);
    assert.equal(Date.parse(certificate.validTo), now.getTime() + 2 * day);
  });

  it('gives every certificate a serial number of its own, positive and at most 16 octets', async () => {
    const authority = await createAuthority('test-ca', 2, now);
    const issued = await Promise.all([1, 2, 3].map(() => authority.issue({ commonName: 'x', days: 1 }, now)));
    const serials = issued.map((pair) => new X509Certificate(pair.certificate).serialNumber);
    assert.equal(new Set(serials).size, 3);
    for (const serial of serials) assert.match(serial, /^[4-7][0-9A-F]{31}$/);
  });

  it('is accepted in a mutual TLS handshake', async () => {
    const present = new Date();
    const authority = await createAuthority('test-ca', 1, present);
    const serving =
      await authority.issue({ commonName: 'server', dnsNames: ['localhost'], usages: ['server'], days: 1 }, present);
    const client = await authority.issue({ commonName: 'client', usages: ['client'], days: 1 }, present);
    const ca = authority.keyPair.certificate;
    const server =
      createServer({ cert: serving.certificate, key: serving.key, ca, requestCert: true, rejectUnauthorized: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket =
      connect({ host: '127.0.0.1', port, servername: 'localhost', ca, cert: client.certificate, key: client.key });
    const [[accepted]] =
      (await Promise.all([once(server, 'secureConnection'), once(socket, 'secureConnect')])) as [[TLSSocket], unknown];
    assert.equal(accepted.getPeerCertificate().subject.CN, 'client');
    assert.ok(socket.authorized);
    socket.destroy();
    accepted.destroy();
    server.close();
  });
});

describe('loadAuthority', () => {
  it('goes on signing for an authority that was stored', async () => {
    const { keyPair } = await createAuthority('test-ca', 10, now);
    const pair = await (await loadAuthority(keyPair)).issue({ commonName: 'later', days: 1 }, now);
    assert.ok(new X509Certificate(pair.certificate).checkIssued(new X509Certificate(keyPair.certificate)));
    assert.ok(new X509Certificate(pair.certificate).verify(new X509Certificate(keyPair.certificate).publicKey));
  });

  it('refuses a key that is none', async () => {
    const { keyPair } = await createAuthority('test-ca', 10, now);
    await assert.rejects(loadAuthority({ ...keyPair, key: 'no key' }));
  });
});

describe('createSigningKey', () => {
  it('gives two halves of one P-256 key', async () => {
    const { privateKey, publicKey } = await createSigningKey();
    const signature = sign('sha256', Buffer.from('token'), createPrivateKey(privateKey));
    assert.ok(verify('sha256', Buffer.from('token'), createPublicKey(publicKey), signature));
    assert.equal(createPublicKey(publicKey).asymmetricKeyDetails?.namedCurve, 'prime256v1');
  });
});

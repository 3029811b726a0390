// The handshake of the webhook as clients of every age meet it, over streams in memory.
import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { before, describe, it } from 'node:test';
import { connect, createServer, type ConnectionOptions } from 'node:tls';
import { createAuthority, type CertificateAuthority, type KeyPair } from
  '../../../../process/crypto/certificate-authority.ts';
import { DEADLINES, HANDSHAKE_LIMITS, OWN_DEADLINES, tlsSettings } from '../../../../webhook/server/tls-server.ts';

let authority: CertificateAuthority;
let stranger: CertificateAuthority;
let pair: KeyPair;
before(async () => {
  const now = new Date();
  [authority, stranger] = await Promise.all([createAuthority('ca', 1, now), createAuthority('other', 1, now)]);
  pair = await authority.issue({ commonName: 'w', dnsNames: ['w.ns.svc'], days: 1, usages: ['server'] }, now);
});

const clientOf = (by: CertificateAuthority, usages: readonly ('server' | 'client')[] = ['client']): Promise<KeyPair> =>
  by.issue({ commonName: 'kube-apiserver', days: 1, usages }, new Date());

interface Met {
  readonly error?: string;
  readonly protocol?: string | null;
  readonly cipher?: string;
  readonly subject?: string;
}

/** What comes of a handshake. The server tells: TLS 1.3 clients learn last that they were refused. */
async function meet(options: ConnectionOptions, clientAuthority?: string): Promise<Met> {
  const [near, far] = duplexPair();
  const server = createServer(tlsSettings(pair, clientAuthority));
  server.emit('connection', far);
  const client = connect({ socket: near, ca: authority.keyPair.certificate, servername: 'w.ns.svc', ...options });
  const failures: string[] = [];
  const failed = (error: NodeJS.ErrnoException): void => void failures.push(error.code ?? error.message);
  const met = await new Promise<Met>((resolve) => {
    server.once('secureConnection', (socket) => resolve({
      protocol: socket.getProtocol(), cipher: socket.getCipher().name,
      subject: socket.getPeerCertificate().subject?.CN ?? '',
    }));
    server.on('tlsClientError', failed);
    client.on('error', failed);
    client.once('close', () => resolve({ error: failures.join(' ') }));
    server.once('tlsClientError', () => resolve({ error: failures.join(' ') }));
  });
  client.destroy();
  far.destroy();
  return met;
}

describe('a client of the webhook', { timeout: 30_000 }, () => {
  it('of today gets TLS 1.3, whatever host name it asks for', async () => {
    assert.equal((await meet({})).protocol, 'TLSv1.3');
    assert.equal((await meet({ servername: 'any.example', checkServerIdentity: () => undefined })).protocol, 'TLSv1.3');
  });
  it('of ten years ago gets TLS 1.2 with forward secrecy and authenticated encryption', async () => {
    const { protocol, cipher = '' } = await meet({ maxVersion: 'TLSv1.2' });
    assert.equal(protocol, 'TLSv1.2');
    assert.match(cipher, /^ECDHE-ECDSA-(?:AES(?:128|256)-GCM-SHA(?:256|384)|CHACHA20-POLY1305)$/);
  });
  const refused: Readonly<Record<string, ConnectionOptions>> = {
    'that speaks TLS 1.1 alone': { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    'without forward secrecy': { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' },
    'with a cipher of blocks': { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256' },
    'that trusts another CA': { ca: '' },
  };
  for (const [what, options] of Object.entries(refused)) {
    it(`${what} gets no connection`, async () => assert.notEqual((await meet(options)).error, undefined));
  }
});

describe('a client that must have a certificate', { timeout: 30_000 }, () => {
  const shown = async (by: CertificateAuthority, usages?: readonly ('server' | 'client')[]): Promise<Met> => {
    const { certificate, key } = await clientOf(by, usages);
    return meet({ cert: certificate, key }, authority.keyPair.certificate);
  };

  it('is let in with one of the CA, and known by its name', async () =>
    assert.equal((await shown(authority)).subject, 'kube-apiserver'));
  it('is turned away without one, in either version of TLS', async () => {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const { error = '' } = await meet({ maxVersion }, authority.keyPair.certificate);
      assert.match(error, /PEER_DID_NOT_RETURN_A_CERTIFICATE/, maxVersion);
    }
  });
  it('is turned away with one of another CA', async () => assert.notEqual((await shown(stranger)).error, undefined));
  it('is turned away with one for servers', async () =>
    assert.notEqual((await shown(authority, ['server'])).error, undefined));
  it('is let in by any of several CAs: a rotation must not lock API servers out', async () => {
    const both = stranger.keyPair.certificate + authority.keyPair.certificate;
    for (const by of [authority, stranger]) {
      const { certificate, key } = await clientOf(by);
      assert.equal((await meet({ cert: certificate, key }, both)).subject, 'kube-apiserver');
    }
  });
});

describe('limits in time', () => {
  it('give a connection that an API server keeps longer than the API server does', () =>
    assert.ok(DEADLINES.unused > 90_000));
  it('are never cut short by those of Node.js, which know nothing of crowds', () => {
    for (const own of [OWN_DEADLINES.headersTimeout, OWN_DEADLINES.requestTimeout, OWN_DEADLINES.keepAliveTimeout]) {
      assert.ok(own > Math.max(DEADLINES.headers, DEADLINES.request, DEADLINES.unused));
    }
  });
  it('let one address that is not known take a part of what all of them may, and less than one that is', () => {
    const { stranger: one, strangers: all, known } = HANDSHAKE_LIMITS;
    assert.ok(one.open < all.open && one.burst < all.burst && one.open < known.open && one.burst < known.burst);
  });
});

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { followCertificate, readCertificate } from '../../../dashboard/page-certificate.ts';
import { startPageServer, type PageServer } from '../../../dashboard/server/page-server.ts';
import { Session } from '../../../dashboard/server/session.ts';
import {
  createAuthority, type CertificateAuthority, type KeyPair,
} from '../../../process/crypto/certificate-authority.ts';
import { AppError } from '../../../process/errors.ts';
import { SILENT } from '../../support/doubles/scripted-api-server.ts';
import { ScriptedScreens } from '../../support/page/scripted-screens.ts';

const NAME = 'pages.example.com';

describe('a page with a certificate', () => {
  let [folder, authority]: [string, CertificateAuthority] = ['', undefined as never];
  let server: PageServer;

  const write = async ({ certificate, key }: KeyPair): Promise<void> => {
    await Promise.all([writeFile(join(folder, 'tls.crt'), certificate), writeFile(join(folder, 'tls.key'), key)]);
  };
  const issued = (): Promise<KeyPair> =>
    authority.issue({ commonName: 'page', dnsNames: [NAME], days: 1, usages: ['server'] }, new Date());

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'isthmus-tls-'));
    authority = await createAuthority('test', 2, new Date());
    await write(await issued());
    const access = new Session({ key: 'key', token: 'token' }, new ScriptedScreens());
    server = await startPageServer({
      port: 0, access, tlsListener: { host: '127.0.0.1', names: [NAME], certificate: await readCertificate(folder) },
    });
  });
  after(async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The answer to a request under this name, and the serial number of the certificate. */
  async function asked(host: string): Promise<{ readonly status: number | undefined; readonly serial: string }> {
    const sent = request({
      host: '127.0.0.1', port: server.port, path: '/', servername: NAME, headers: { host }, agent: false,
      ca: authority.keyPair.certificate,
    }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    return { status: answer.statusCode, serial: (answer.socket as TLSSocket).getPeerCertificate().serialNumber };
  }

  it('answers under its names only, at any port', async () => {
    assert.equal((await asked(NAME)).status, 200);
    assert.equal((await asked(`${NAME}:8443`)).status, 200);
    for (const other of ['127.0.0.1', 'evil.example', `x.${NAME}`]) assert.equal((await asked(other)).status, 421);
  });

  it('answers nothing without TLS', async () => {
    const socket = connectPlain(server.port, '127.0.0.1');
    const parts: Buffer[] = [];
    socket.on('data', (part) => void parts.push(part));
    socket.on('error', () => undefined);
    socket.write(`GET / HTTP/1.1\r\nhost: ${NAME}\r\n\r\n`);
    await once(socket, 'close');
    assert.ok(!Buffer.concat(parts).toString('latin1').includes('HTTP/1.1 200'));
  });

  it('serves a certificate that was renewed, keeps the one it has while the new one is broken, and needs no restart',
    async () => {
    const [stopped, before] = [new AbortController(), await asked(NAME)];
    const renewals: string[] = [];
    const wanted = await issued();
    let told: () => void = () => undefined;
    const renewed = new Promise<void>((resolve) => (told = resolve));
    let broken: () => void = () => undefined;
    const seenBroken = new Promise<void>((resolve) => (broken = resolve));
    await writeFile(join(folder, 'tls.crt'), 'garbage');
    const following = followCertificate({
      folder, certificate: await issued(), everyMs: 1,
      server: { renew: (pair) => {
        server.renew(pair);
        renewals.push(pair.certificate);
        told();
      } },
      logger: Object.assign(Object.create(SILENT) as typeof SILENT, { warn: () => broken() }),
    }, stopped.signal);
    await seenBroken;
    assert.equal((await asked(NAME)).serial, before.serial);
    assert.deepEqual(renewals, []);
    await writeFile(join(folder, 'tls.key'), wanted.key);
    await writeFile(join(folder, 'tls.crt'), wanted.certificate);
    await renewed;
    assert.deepEqual(renewals, [wanted.certificate]);
    assert.notEqual((await asked(NAME)).serial, before.serial);
    stopped.abort();
    await following;
  });

  it('is not read from a folder without one, or with a key of another', async () => {
    const isTold = (error: unknown): boolean =>
      error instanceof AppError && error.code === 'StartFailed' && error.message.includes('tls.key');
    await assert.rejects(readCertificate(join(folder, 'nothing')), isTold);
    await write({ ...(await issued()), key: (await issued()).key });
    await assert.rejects(readCertificate(folder), isTold);
  });
});

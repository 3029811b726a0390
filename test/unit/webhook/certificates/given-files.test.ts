// Certificates from files: looked at again and again, since kubelets swap mounted Secrets in a way that a watch misses.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { followCertificateFiles } from '../../../../webhook/certificates/external-certificate-controller.ts';
import type { CertificatePair } from '../../../../webhook/certificates/serving-certificate.ts';

const POLLED_EVERY_MS = 2_000;

/** Files that are followed; the pauses between two looks end when the test says so. */
async function follow(t: TestContext, takes: (pair: CertificatePair) => boolean = () => true) {
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-files-'));
  const files = { certificate: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
  const looks = new EventEmitter();
  let lookAgain: () => void = () => undefined;
  const setTimeout: (callback: () => void, ms: number) => NodeJS.Timeout = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (callback: () => void, ms: number) => {
    if (ms !== POLLED_EVERY_MS) return setTimeout(callback, ms);
    lookAgain = callback;
    looks.emit('look');
    return setTimeout(() => undefined, 0);
  });
  const ending = new AbortController();
  const served: CertificatePair[] = [];
  const warnings: string[] = [];
  const logger = pino({}, { write: (line: string) => void warnings.push(line) });
  const serve = (pair: CertificatePair): boolean => {
    served.push(pair);
    return takes(pair);
  };
  let ended: Promise<void> | undefined;
  t.after(async () => {
    ending.abort();
    await ended;
    await rm(folder, { recursive: true });
  });
  const write = (certificate: string, key: string): Promise<unknown> =>
    Promise.all([writeFile(files.certificate, certificate), writeFile(files.key, key)]);
  /** Looks once, and resolves when that is over. */
  const look = async (): Promise<void> => {
    const over = once(looks, 'look');
    if (ended === undefined) ended = followCertificateFiles(files, serve, logger, ending.signal);
    else lookAgain();
    await over;
  };
  return { files, served, warnings, write, look, end: () => { ending.abort(); return ended; } };
}

describe('the files of a certificate', { timeout: 20_000 }, () => {
  it('are served as they are, and again only when one of the two has changed', async (t) => {
    const { served, write, look } = await follow(t);
    await write('cert-1', 'key-1');
    for (let looks = 0; looks < 3; looks += 1) await look();
    assert.deepEqual(served, [{ certificate: 'cert-1', key: 'key-1' }]);
    await write('cert-1', 'key-2');
    await look();
    await write('cert-2', 'key-2');
    await look();
    assert.deepEqual(served.slice(1), [
      { certificate: 'cert-1', key: 'key-2' }, { certificate: 'cert-2', key: 'key-2' },
    ]);
  });
  it('that were refused are not offered again before they change', async (t) => {
    const { served, write, look } = await follow(t, ({ key }) => key === 'key-2');
    await write('cert-2', 'key-1');
    await look();
    await look();
    assert.equal(served.length, 1);
    await write('cert-2', 'key-2');
    await look();
    assert.equal(served.length, 2);
  });
  it('that are missing are logged once, by their path, and served as soon as they are there', async (t) => {
    const { files, served, warnings, write, look } = await follow(t);
    await look();
    await look();
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /cannot be read/);
    assert.ok([files.certificate, files.key].some((path) => warnings[0]?.includes(path)), warnings[0]);
    await write('cert-1', 'key-1');
    await look();
    assert.equal(served.length, 1);
  });
  it('of which one is missing are not served by halves, and are logged anew after they had been well', async (t) => {
    const { files, served, warnings, write, look } = await follow(t);
    await write('cert-1', 'key-1');
    await look();
    await rm(files.key);
    await look();
    await write('cert-1', 'key-1');
    await look();
    await rm(files.certificate);
    await look();
    assert.deepEqual(served.map(({ certificate, key }) => `${certificate} ${key}`), ['cert-1 key-1', 'cert-1 key-1']);
    assert.equal(warnings.length, 2);
  });
  it('show nothing of the key in the log, also when a server fails at them', async (t) => {
    const { warnings, write, look } = await follow(t, () => assert.fail('the server fails'));
    await write('cert-1', 'secret-key');
    await look();
    assert.equal(warnings.length, 1);
    assert.equal(warnings[0]?.includes('secret-key'), false);
  });
  it('are not looked at any more when the process ends', async (t) => {
    const { served, write, look, end } = await follow(t);
    await write('cert-1', 'key-1');
    await look();
    await end();
    assert.equal(served.length, 1);
  });
});

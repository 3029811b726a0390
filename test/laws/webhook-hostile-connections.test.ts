// Attacks (docs/results/attacks.md) and faults (docs/results/faults.md) that need a server to show, each under its
// number.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { Pool } from 'undici';
import { ELECT_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION } from '../../api/objects/keys.ts';
import {
  createAuthority, type CertificateAuthority, type KeyPair,
} from '../../process/crypto/certificate-authority.ts';
import { AdmissionMetrics } from '../../webhook/server/admission-metrics.ts';
import type { AdmissionResponse } from '../../webhook/review/admission-review.ts';
import {
  startAdmissionServer, type AdmissionServer, type AdmissionServerOptions,
} from '../../webhook/server/admission-server.ts';
import { NAMESPACE_PATH } from '../../api/admission-rules.ts';
import { ELECTED_POD, reviewOf } from '../support/objects/admission.ts';
import { SILENT } from '../support/doubles/scripted-api-server.ts';

const GOOD = JSON.stringify(reviewOf(ELECTED_POD));
const HEAD = 'POST /mutate--v1-pod HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';

let authority: CertificateAuthority;
let pair: KeyPair;
let metrics: AdmissionMetrics;
let server: AdmissionServer;
let pool: Pool;

const start = (options: Partial<AdmissionServerOptions> = {}): Promise<AdmissionServer> =>
  startAdmissionServer({ host: '127.0.0.1', port: 0, certificate: pair, metrics, logger: SILENT, ...options });
const issue = (usage: 'server' | 'client' = 'server'): Promise<KeyPair> =>
  authority.issue({ commonName: 'w', ipAddresses: ['127.0.0.1'], days: 1, usages: [usage] }, new Date());
const poolTo = ({ port }: AdmissionServer, more: object = {}): Pool =>
  new Pool(`https://127.0.0.1:${port}`, { connections: 1, connect: { ca: authority.keyPair.certificate, ...more } });

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly response?: AdmissionResponse | undefined;
}

async function post(to: Pool, body: string | Uint8Array): Promise<Answer> {
  const { statusCode, headers, body: stream } = await to.request(
    { method: 'POST', path: '/mutate--v1-pod', headers: { 'content-type': 'application/json' }, body },
  );
  const text = await stream.text();
  return {
    status: statusCode, text, headers,
    response: statusCode === 200 ? (JSON.parse(text) as { response: AdmissionResponse }).response : undefined,
  };
}

/** A connection by itself; the test ends it. */
async function open({ port }: AdmissionServer, more: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: authority.keyPair.certificate, ...more });
  await once(socket, 'secureConnect');
  return socket;
}

before(async () => {
  authority = await createAuthority('ca', 1, new Date());
  pair = await issue();
  metrics = new AdmissionMetrics();
  server = await start();
  pool = poolTo(server);
});
after(async () => {
  await pool.close();
  await server.close();
});

describe('who may ask', () => {
  it('C2-18: with an authority for clients, those without a certificate of it get no connection, also after a new ' +
    'serving certificate', async () => {
    const guarded = await start({ clientAuthority: authority.keyPair.certificate });
    const client = await issue('client');
    const stranger = await (await createAuthority('other', 1, new Date())).issue(
      { commonName: 'w', days: 1, usages: ['client'] }, new Date(),
    );
    const allowed = { cert: client.certificate, key: client.key };
    for (const round of ['at first', 'after a new certificate']) {
      const [known, nobody, other] =
        [poolTo(guarded, allowed), poolTo(guarded), poolTo(guarded, { cert: stranger.certificate, key: stranger.key })];
      assert.equal((await post(known, GOOD)).response?.allowed, true, round);
      await assert.rejects(post(nobody, GOOD), round);
      await assert.rejects(post(other, GOOD), round);
      await Promise.all([known, nobody, other].map((each) => each.destroy()));
      assert.equal(guarded.useCertificate(await issue()), true);
    }
    await guarded.close();
  });

  it('C2-18: without one, strangers learn nothing but that they are wrong, and take no more room than others',
    async () => {
    assert.deepEqual(JSON.parse((await post(pool, '{"spec":"secret"}')).text), {
      message:
        'the body is not an AdmissionReview of admission.k8s.io/v1 or admission.k8s.io/v1beta1 with a request and ' +
          'its uid',
    });
    const { statusCode, body } = await pool.request(
      { method: 'POST', path: '/elsewhere?secret', body: '{}', headers: { 'content-type': 'application/json' } },
    );
    assert.equal(statusCode, 404);
    assert.ok(!/node_modules|at .*\.js|127\.0\.0\.1/.test(await body.text()), 'no trace of the program');
  });
});

describe('connections that are kept', () => {
  // A Go client opens one for each request that finds none free, and goes on with whichever is free first: the other
  // one is spare.
  it('one that has said nothing for longer than a request may take is not told so, and its first request is answered',
    { timeout: 30_000 }, async () => {
    const spare = await open(server);
    let said = '';
    spare.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await sleep(8_000);
    assert.deepEqual([said, spare.destroyed], ['', false]);
    spare.write(`${HEAD}content-length: ${Buffer.byteLength(GOOD)}\r\n\r\n${GOOD}`);
    while (!said.includes('\r\n')) await once(spare, 'data');
    assert.match(said, /^HTTP\/1\.1 200 /);
    spare.destroy();
  });
});

describe('a second request before the first was answered', () => {
  it('ends the connection, and neither of them keeps its place', { timeout: 20_000 }, async () => {
    let refuse: (error: Error) => void = () => undefined;
    const asked = new Promise<never>((_resolve, reject) => (refuse = reject));
    const small = await start({ limits: { requests: 2, bytes: 1_000_000 }, elections: () => asked });
    const both = await open(small);
    both.on('error', () => undefined);
    both.resume();
    const body = JSON.stringify(reviewOf(ELECTED_POD, { namespace: 'default' }));
    const head = `POST ${NAMESPACE_PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`;
    both.write(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}${HEAD}content-length: 8000\r\n\r\n`);
    await once(both, 'close');
    const to = poolTo(small, {});
    let status = 503;
    while (status === 503) status = (await post(to, GOOD)).status;
    assert.equal(status, 200);
    refuse(new Error('the API server cannot be asked'));
    await to.close();
    await small.close();
  });
});

describe('bodies', () => {
  it('C2-19: a review with an object and an old one of 3 MiB each is read', async () => {
    const large = { ...ELECTED_POD, spec: { ...ELECTED_POD.spec, filler: 'x'.repeat(3 * 1024 * 1024) } };
    const { response } = await post(pool, JSON.stringify(reviewOf(large, { oldObject: large, operation: 'UPDATE' })));
    assert.deepEqual(response, { uid: 'review-uid', allowed: true });
  });

  it('C2-19: 100 MB are refused by their announcement, before they come', async () => {
    const socket = await open(server);
    socket.write(`${HEAD}content-length: 100000000\r\n\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it('C2-19: a body that trickles in is given up after seconds, and holds no place afterwards',
    { timeout: 20_000 }, async () => {
    const small = await start({ limits: { requests: 1, bytes: 1_000_000 } });
    const slow = await open(small);
    slow.on('error', () => undefined);
    slow.write(`${HEAD}content-length: 1000\r\n\r\n`);
    const trickle = setInterval(() => slow.write(' '), 200);
    slow.resume();
    await once(slow, 'close');
    clearInterval(trickle);
    const to = poolTo(small);
    let status = 503;
    while (status === 503) status = (await post(to, GOOD)).status;
    assert.equal(status, 200);
    await to.close();
    await small.close();
  });

  const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  const withSpec = (spec: string, annotations = ''): string => GOOD.replace('"spec":{', `"spec":{${spec},`)
    .replace(`"${ELECT_ANNOTATION}":""`, `"${ELECT_ANNOTATION}":""${annotations}`);
  const bytes = (text: string, ...inserted: readonly number[]): Uint8Array => {
    const [head = '', tail = ''] = text.split('@');
    return Buffer.concat([Buffer.from(head), Buffer.from(inserted), Buffer.from(tail)]);
  };
  const named = GOOD.replace('"image":"i"', '"image":"i@"');
  const bodies: Readonly<
    Record<string, readonly [body: string | Uint8Array, answer: 'allowed' | 'denied' | 400 | 413]>
  > = {
    '100,000 levels in a field that nobody knows': [withSpec(`"deep":${nested(100_000)}`), 'denied'],
    '100,000 levels where the patch must repeat them':
      [withSpec(`"tolerations":[${nested(100_000)}]`, `,"${USE_SPEC_CONSTRAINTS_ANNOTATION}":""`), 'denied'],
    '100,000 levels of nothing': ['['.repeat(100_000), 400],
    '700,000 keys': [
      withSpec(`"many":{${Array.from({ length: 700_000 }, (_, index) => `"${index.toString(36)}":0`).join(',')}}`),
      'denied',
    ],
    'a million keys, which are more than 8 MiB': [
      withSpec(`"many":{${Array.from({ length: 1_000_000 }, (_, index) => `"${index.toString(36)}":0`).join(',')}}`),
      413,
    ],
    'the same key twice': [withSpec('"x":1,"x":2,"containers":[]'), 'allowed'],
    'the object twice':
      [GOOD.replace('"oldObject":null', `"object":{"metadata":{},"spec":{}},"oldObject":null`), 'allowed'],
    'a lone surrogate, escaped': [GOOD.replace('"image":"i"', '"image":"\\ud800"'), 'allowed'],
    'a lone surrogate in UTF-8': [bytes(named, 0xed, 0xa0, 0x80), 400],
    'NUL, escaped': [GOOD.replace('"image":"i"', '"image":"\\u0000"'), 'allowed'],
    'NUL as it is': [bytes(named, 0), 400],
    'bytes that are no UTF-8': [bytes(named, 0xff, 0xfe), 400],
    'a character that is cut off': [bytes(named, 0xe2, 0x82), 400],
    'a byte order mark': [`\ufeff${GOOD}`, 400],
    'UTF-16': [Buffer.from(GOOD, 'utf16le'), 400],
  };
  for (const [what, [body, answer]] of Object.entries(bodies)) {
    it(`C2-20: ${what}: ${answer}, and the next one is served`, async () => {
      const { status, response } = await post(pool, body);
      assert.equal(response === undefined ? status : response.allowed ? 'allowed' : 'denied', answer);
      if (answer === 'denied') assert.notEqual(response?.status?.message, undefined);
      assert.equal((await post(pool, GOOD)).response?.allowed, true);
    });
  }
});

describe('TLS', () => {
  const refused: Readonly<Record<string, ConnectionOptions>> = {
    'TLS 1.0': { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' },
    'TLS 1.1': { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    'a suite without forward secrecy': { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' },
    'a suite with CBC': { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA' },
  };
  for (const [what, options] of Object.entries(refused)) {
    it(`C2-42: ${what} is refused`, () => assert.rejects(
      open(server, options), /protocol|alert|version|handshake|cipher/i,
    ));
  }

  it('C2-42: a client cannot have the handshake made again on its connection', async () => {
    const socket = await open(server, { maxVersion: 'TLSv1.2' });
    const error = await new Promise<Error | null>((resolve) => {
      socket.once('error', resolve);
      socket.renegotiate({}, resolve);
    });
    assert.ok(error instanceof Error);
    socket.destroy();
  });

  it('C2-42: a session of the old certificate is not resumed with the new one', async () => {
    const rotated = await start();
    const resume =
      async (session?: Buffer): Promise<{ readonly session: Buffer | undefined; readonly isReused: boolean }> => {
      const socket = await open(rotated, { maxVersion: 'TLSv1.2', ...(session && { session }) });
      const answer = { session: socket.getSession(), isReused: socket.isSessionReused() };
      socket.destroy();
      return answer;
    };
    const { session } = await resume();
    assert.equal((await resume(session)).isReused, true, 'sessions are resumed as a rule');
    rotated.useCertificate(await issue());
    assert.equal((await resume(session)).isReused, false);
    await rotated.close();
  });
});

describe('faults', () => {
  it('fault 35: a connection that began with the old certificate ends with its next answer, and the one after it has ' +
    'the new certificate', async () => {
    const rotated = await start();
    const to = poolTo(rotated);
    assert.notEqual((await post(to, GOOD)).headers['connection'], 'close');
    const next = await issue();
    rotated.useCertificate(next);
    const last = await post(to, GOOD);
    assert.deepEqual([last.status, last.headers['connection']], [200, 'close'], 'what was under way is answered');
    assert.notEqual((await post(to, GOOD)).headers['connection'], 'close');
    const socket = await open(rotated);
    assert.equal(socket.getPeerX509Certificate()?.toString(), next.certificate.trimEnd().concat('\n'));
    socket.destroy();
    await to.close();
    await rotated.close();
  });

  it('fault 36: half a pair, garbage and a key of another certificate leave the old one in use, and are counted',
    async () => {
    const [other, kept] = [await issue(), await open(server)];
    const refusals = async (): Promise<number> =>
      Number(/certificates_total\{outcome="refused"\} (\d+)/.exec(await metrics.registry.metrics())?.[1] ?? 0);
    const before = await refusals();
    const broken = [
      { certificate: other.certificate.slice(0, 200), key: other.key }, { certificate: other.certificate, key: '' },
      { certificate: 'garbage', key: 'garbage' }, { certificate: other.certificate, key: pair.key },
    ];
    for (const bad of broken) assert.equal(server.useCertificate(bad), false);
    assert.equal(await refusals(), before + broken.length);
    const socket = await open(server);
    assert.equal(socket.getPeerX509Certificate()?.toString(), pair.certificate.trimEnd().concat('\n'));
    socket.destroy();
    kept.destroy();
    assert.equal(server.useCertificate(pair), true, 'a good one is taken when it comes');
  });
});

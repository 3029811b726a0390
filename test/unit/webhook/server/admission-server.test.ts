// The server as clients meet it that mean it well or ill. It runs in this process on a free port.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect as connectPlain, Socket } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { connect } from 'node:tls';
import { Pool } from 'undici';
import { pino } from 'pino';
import {
  createAuthority, type CertificateAuthority, type KeyPair,
} from '../../../../process/crypto/certificate-authority.ts';
import { AdmissionMetrics } from '../../../../webhook/server/admission-metrics.ts';
import {
  startAdmissionServer, type AdmissionServer, type AdmissionServerOptions,
} from '../../../../webhook/server/admission-server.ts';
import { DEADLINES } from '../../../../webhook/server/tls-server.ts';
import type { AdmissionResponse } from '../../../../webhook/review/admission-review.ts';
import { probeEvent } from '../../../../webhook/registration/missing-rules.ts';
import { ELECTED_POD, reviewOf } from '../../../support/objects/admission.ts';
import { closedSocket } from '../../../support/faults/closed-socket.ts';

const GOOD = JSON.stringify(reviewOf(ELECTED_POD));

let authority: CertificateAuthority;
let pair: KeyPair;
let metrics: AdmissionMetrics;
let server: AdmissionServer;
let pool: Pool;

const issue = (): Promise<KeyPair> =>
  authority.issue({ commonName: 'w', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
const start = (options: Partial<AdmissionServerOptions> = {}): Promise<AdmissionServer> =>
  startAdmissionServer(
    { host: '127.0.0.1', port: 0, certificate: pair, metrics, logger: pino({ level: 'silent' }), ...options },
  );
const poolTo = (port: number): Pool =>
  new Pool(`https://127.0.0.1:${port}`, { connections: 8, connect: { ca: authority.keyPair.certificate } });

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly response?: AdmissionResponse;
}

async function post(
  to: Pool, body: string | Uint8Array, path = '/mutate--v1-pod', type = 'application/json',
): Promise<Answer> {
  const { statusCode, body: stream } =
    await to.request({ method: 'POST', path, headers: { 'content-type': type }, body });
  const text = await stream.text();
  const response = statusCode === 200 ? (JSON.parse(text) as { response: AdmissionResponse }).response : undefined;
  return { status: statusCode, text, ...(response && { response }) };
}

/** No other timer is set for as long. */
const DRAIN_MS = 123_456;

/** Holds timers that are set for so long; gives what lets them end. */
function heldTimer(t: TestContext, held: number): () => void {
  const callbacks: (() => void)[] = [];
  const later: (callback: () => void, ms: number, ...rest: unknown[]) => NodeJS.Timeout = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (callback: () => void, ms: number, ...rest: unknown[]) => {
    if (ms !== held) return later(callback, ms, ...rest);
    callbacks.push(callback);
    return later(() => undefined, 0);
  });
  return () => {
    for (const callback of callbacks.splice(0)) callback();
  };
}

before(async () => {
  authority = await createAuthority('ca', 1, new Date());
  pair = await issue();
  metrics = new AdmissionMetrics();
  server = await start();
  pool = poolTo(server.port);
});
after(async () => {
  await pool.close();
  await server.close();
});

describe('the admission server', () => {
  it('says which option to change when its port is taken', async () => {
    const first = await start();
    try {
      await assert.rejects(
        start({ port: first.port }), /cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*choose another --webhook-port/,
      );
    } finally {
      await first.close();
    }
  });

  it('answers the question whether it is reached, which is an Event and has no spec', async () => {
    const asked = probeEvent({ installNamespace: 'ns', instance: 'host', at: new Date() });
    const { response } = await post(pool, JSON.stringify(reviewOf(asked)), '/mutate--reached');
    const patch: unknown = JSON.parse(Buffer.from(response?.patch ?? '', 'base64').toString());
    assert.deepEqual([response?.allowed, patch], [
      true, [{ op: 'add', path: '/metadata/annotations', value: { 'isthmus.dev/answered': 'true' } }],
    ]);
    assert.equal(
      (await post(pool, JSON.stringify(reviewOf(asked)))).response?.status?.reason, 'BadRequest', 'pods need a spec',
    );
  });

  it('answers reviews with their uid, and counts them', async () => {
    const { response } = await post(pool, GOOD);
    assert.ok(response?.uid === 'review-uid' && response.allowed && response.patch !== undefined);
    const withNode = { ...ELECTED_POD, spec: { ...ELECTED_POD.spec, nodeName: 'n' } };
    const denied = await post(pool, JSON.stringify(reviewOf(withNode)));
    assert.equal(denied.response?.status?.reason, 'NodeNameSet');
    const { body } = await pool.request({ method: 'GET', path: '/metrics' });
    const text = await body.text();
    assert.match(text, /isthmus_webhook_review_duration_seconds_count\{outcome="patched"\} [1-9]/);
    assert.match(text, /isthmus_webhook_denied_total\{reason="NodeNameSet"\} 1/);
    assert.match(text, /isthmus_webhook_certificate_expiry_timestamp_seconds \d/);
  });

  it('answers with the uid also when something of ours fails', async () => {
    const { response } =
      await post(pool, JSON.stringify(reviewOf({
        ...ELECTED_POD, metadata: { ...ELECTED_POD.metadata, finalizers: [7] },
      })));
    assert.deepEqual([response?.uid, response?.allowed, response?.status?.code], ['review-uid', false, 500]);
  });

  it('reviews targets on their own path', async () => {
    const target = { metadata: { name: 't' }, spec: { excludedLabelsRegexp: '(' } };
    assert.equal(
      (await post(pool, JSON.stringify(reviewOf(target)), '/validate--targets')).response?.status?.reason,
      'BadLabelPattern',
    );
  });

  it('looks at what came and not at what it is called, and knows no other paths', async () => {
    assert.equal((await post(pool, GOOD, '/mutate--v1-pod', 'text/yaml')).response?.allowed, true);
    assert.equal((await post(pool, GOOD, '/other')).status, 404);
    assert.equal((await post(pool, '{')).status, 400);
  });

  it('C2-19: takes 7 MB and turns 9 MB away', async () => {
    const large = (bytes: number): string =>
      JSON.stringify(reviewOf({ ...ELECTED_POD, spec: { ...ELECTED_POD.spec, filler: 'x'.repeat(bytes) } }));
    assert.equal((await post(pool, large(7_000_000))).response?.allowed, true);
    assert.equal((await post(pool, large(9_000_000))).status, 413);
  });

  it('fault 33: turns away what is too much, at once, and goes on', async () => {
    const small = await start({ limits: { requests: 1, bytes: 1_000_000 } });
    const holder = connect({ port: small.port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(holder, 'secureConnect');
    holder.write('POST /mutate--v1-pod HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{');
    const to = poolTo(small.port);
    let answer = await post(to, GOOD);
    while (answer.status !== 503) answer = await post(to, GOOD); // until the server has seen the slow one
    holder.destroy();
    while (answer.status === 503) answer = await post(to, GOOD);
    assert.equal(answer.status, 200, 'and takes on again what it has room for');
    await to.close();
    await small.close();
  });

  it('gives new connections the new certificate, refuses one that does not fit, and keeps open connections',
    async () => {
    const swapped = await start();
    const to = poolTo(swapped.port);
    assert.equal((await post(to, GOOD)).status, 200);
    const next = await issue();
    assert.equal(swapped.useCertificate({ certificate: next.certificate, key: pair.key }), false);
    assert.equal(swapped.useCertificate(next), true);
    assert.equal((await post(to, GOOD)).status, 200);
    const socket = connect({ port: swapped.port, host: '127.0.0.1', ca: authority.keyPair.certificate });
    await once(socket, 'secureConnect');
    assert.equal(socket.getPeerX509Certificate()?.toString(), next.certificate.trimEnd().concat('\n'));
    socket.destroy();
    await to.close();
    await swapped.close();
  });

  it('goes on while it drains, calls itself not ready, answers what has begun, then ends', async (t) => {
    const drained = heldTimer(t, DRAIN_MS);
    const draining = await start({ drainMs: DRAIN_MS });
    const to = poolTo(draining.port);
    assert.equal((await post(to, GOOD)).status, 200);
    const closing = draining.close();
    assert.equal((await to.request({ method: 'GET', path: '/readyz' })).statusCode, 503);
    assert.equal((await post(to, GOOD)).status, 200);
    drained();
    await closing;
    await assert.rejects(post(to, GOOD));
    await to.destroy();
  });

  /** Who connects and says nothing more, and the event after which it does not. */
  const silent: Readonly<Record<string, readonly [event: string, connectTo: (port: number) => Socket]>> = {
    'a spare connection, as Go\'s client opens them':
      ['secureConnect', (port) => connect({ port, host: '127.0.0.1', rejectUnauthorized: false })],
    'a handshake that does not come to its end': ['connect', (port) => connectPlain(port, '127.0.0.1')],
  };
  for (const [what, [event, connectTo]] of Object.entries(silent)) it('waits for no more than a moment for ' +
    `${what}, when it ends`, { timeout: 20_000 }, async (t) => {
    // Time does not go on by itself, for Node.js' own timeouts either: nothing else can end the connection.
    t.mock.method(Socket.prototype, 'setTimeout', function (this: Socket) { return this; });
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    const ending = await start();
    const socket = connectTo(ending.port).on('error', () => undefined);
    t.after(() => void socket.destroy());
    await once(socket, event);
    socket.resume();
    const ended = Promise.all([ending.close(), closedSocket(socket)]);
    t.mock.timers.tick(DEADLINES.unusedAtEnd);
    await ended;
  });

  it('ends a connection with the answer to a request that was under way when it began to end',
    { timeout: 20_000 }, async () => {
    const steps = new EventEmitter();
    const ending = await start({ elections: async () => {
      setImmediate(() => steps.emit('looked for'));
      await once(steps, 'found');
      return { spec: { strategy: 'Local' }, selfTargets: [] };
    } });
    const to = poolTo(ending.port);
    const answer = to.request({
      method: 'POST', path: '/mutate--v1-pod--namespace', headers: { 'content-type': 'application/json' }, body: GOOD,
    });
    await once(steps, 'looked for');
    const closed = ending.close();
    steps.emit('found');
    const { statusCode, headers, body } = await answer;
    assert.deepEqual([statusCode, headers['connection']], [200, 'close']);
    await Promise.all([body.dump(), closed]);
    await to.close();
  });

  it('C2-19: ends a connection that does not send what it announced', { timeout: 20_000 }, async () => {
    const slow = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(slow, 'secureConnect');
    slow.write('POST /mutate--v1-pod HTTP/1.1\r\nhost: x\r\ncontent-len');
    slow.resume();
    await once(slow, 'close'); // by itself Node would wait for longer than this test may take
  });

  it('survives bytes that are not even TLS', async () => {
    const socket = connectPlain(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.end(Buffer.from('GET / HTTP/1.0\r\n\r\n'));
    await once(socket, 'close');
    assert.equal((await post(pool, GOOD)).status, 200);
  });
});

// A server among thousands of bodies that nobody meant: too long for the unit suites, and it needs no API server.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { Pool } from 'undici';
import { pino } from 'pino';
import { ELECT_ANNOTATION } from '../../api/objects/keys.ts';
import { createAuthority, type CertificateAuthority } from '../../process/crypto/certificate-authority.ts';
import { AdmissionMetrics } from '../../webhook/server/admission-metrics.ts';
import { startAdmissionServer, type AdmissionServer } from '../../webhook/server/admission-server.ts';
import type { AdmissionResponse } from '../../webhook/review/admission-review.ts';
import { ELECTED_POD, reviewOf } from '../support/objects/admission.ts';

const GOOD = JSON.stringify(reviewOf(ELECTED_POD));

/**
 * Most bytes that the heap may grow by over 5,000 bad bodies and 250 reviews: one kept string of 400 bytes for each
 * would be more.
 */
const MOST_GROWTH = 2 * 1024 * 1024;

/** Bytes that are reachable on this process's heap. Collected twice, for what finalizers let go. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

let authority: CertificateAuthority;
let server: AdmissionServer;
let pool: Pool;

const openPool = (): Pool =>
  new Pool(`https://127.0.0.1:${server.port}`, { connections: 8, connect: { ca: authority.keyPair.certificate } });

interface Answer {
  readonly status: number;
  readonly response?: AdmissionResponse;
}

async function post(to: Pool, body: string | Uint8Array): Promise<Answer> {
  const { statusCode, body: stream } = await to.request(
    { method: 'POST', path: '/mutate--v1-pod', headers: { 'content-type': 'application/json' }, body },
  );
  const text = await stream.text();
  return statusCode === 200
    ? { status: statusCode, response: (JSON.parse(text) as { response: AdmissionResponse }).response }
    : { status: statusCode };
}

before(async () => {
  authority = await createAuthority('ca', 1, new Date());
  const certificate = await authority.issue({ commonName: 'w', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
  server = await startAdmissionServer(
    { host: '127.0.0.1', port: 0, certificate, metrics: new AdmissionMetrics(), logger: pino({ level: 'silent' }) },
  );
  pool = openPool();
});
after(async () => {
  await pool.close();
  await server.close();
});

describe('the admission server among 10,000 random and mutated bodies', { timeout: 120_000 }, () => {
  const PARTS = [
    '"object":', '"oldObject":', '__proto__', 'constructor', '\ud800', '\u0000', '\ufeff', '[[[[', '}', '"', '1e309',
    '-1', 'null', '{"a":'.repeat(200), ELECT_ANNOTATION,
  ];
  const mutated = fc
    .array(fc.tuple(fc.nat(GOOD.length), fc.nat(12), fc.oneof(fc.constantFrom(...PARTS), fc.string())), {
      minLength: 1, maxLength: 4,
    })
    .map((edits) => edits.reduce((text, [at, length, by]) => text.slice(0, at) + by + text.slice(at + length), GOOD));
  const bodies = fc.oneof(
    { weight: 40, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 50, arbitrary: mutated.map((text) => Buffer.from(text)) },
    {
      weight: 20,
      arbitrary: fc.jsonValue({ maxDepth: 4 }).map((object) => Buffer.from(JSON.stringify(reviewOf(object)))),
    },
    {
      weight: 1,
      arbitrary: fc.constant(Buffer.from(
        JSON.stringify(reviewOf(ELECTED_POD))
          .replace('"containers"', `"x":${'['.repeat(50_000)}${']'.repeat(50_000)},"containers"`),
      )),
    },
  );

  it('C2-20: answers each of them, goes on answering good ones, and holds no memory', async () => {
    const samples = fc.sample(bodies, { numRuns: 10_000, seed: 20_261_120 });
    const statuses = new Set<number>();
    const flood = async (part: readonly Uint8Array[]): Promise<void> => {
      const to = openPool();
      const queue = part.values();
      const worker = async (): Promise<void> => {
        for (const body of queue) {
          const { status, response } = await post(to, body);
          statuses.add(status);
          if (status === 200) assert.equal(typeof response?.uid, 'string');
        }
      };
      const good = async (): Promise<void> => {
        for (let count = 0; count < 250; count += 1) assert.equal((await post(pool, GOOD)).response?.allowed, true);
      };
      await Promise.all([...Array.from({ length: 4 }, worker), good()]);
      await to.close();
    };
    await flood(samples.slice(0, 5_000));
    const first = heapInUse();
    await flood(samples.slice(5_000));
    const grown = heapInUse() - first;
    assert.deepEqual([...statuses].filter((status) => ![200, 400].includes(status)), []);
    assert.ok(grown < MOST_GROWTH, `the heap grew by ${grown} bytes`);
    assert.equal((await post(pool, GOOD)).response?.allowed, true);
  });
});

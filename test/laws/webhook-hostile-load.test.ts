// Honest reviews while others mean the webhook ill in every way at once. The soak `webhook-hostile-load` does the same
// for ten minutes with an API server in between; here it is seconds, and what is counted is what strangers got out of
// it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Pool } from 'undici';
import { createAuthority, type KeyPair } from '../../process/crypto/certificate-authority.ts';
import { AdmissionMetrics } from '../../webhook/server/admission-metrics.ts';
import { startAdmissionServer, type AdmissionServer } from '../../webhook/server/admission-server.ts';
import { ELECTED_POD, reviewOf } from '../support/objects/admission.ts';
import { ATTACKS } from '../support/attackers/hostile-clients.ts';
import { startHostileProcess } from '../support/attackers/hostile-process.ts';
import { SILENT } from '../support/doubles/scripted-api-server.ts';

const SEGMENT = '0123456789abcdef'.repeat(3);
const GOOD = JSON.stringify(reviewOf(ELECTED_POD));
const REVIEWS = 400;

let pair: KeyPair;
let server: AdmissionServer;
let metrics: AdmissionMetrics;
let pool: Pool;

before(async () => {
  const authority = await createAuthority('ca', 1, new Date());
  pair = await authority.issue({ commonName: 'w', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
  metrics = new AdmissionMetrics();
  server = await startAdmissionServer(
    { host: '127.0.0.1', port: 0, certificate: pair, metrics, logger: SILENT, openSegments: () => [SEGMENT] },
  );
  // As API servers do: five seconds for each review, connections that are kept.
  pool = new Pool(`https://127.0.0.1:${server.port}`, {
    connections: 4, headersTimeout: 5_000, connect: { ca: authority.keyPair.certificate, timeout: 5_000 },
  });
});
after(async () => {
  await pool.destroy();
  await server.close();
});

async function review(path = `/${SEGMENT}/mutate--v1-pod?timeout=5s`): Promise<number> {
  const { statusCode, body } =
    await pool.request({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body: GOOD });
  await body.dump();
  return statusCode;
}

const rejected = async (cause: string): Promise<number> =>
  Number(
    new RegExp(`requests_rejected_total\\{cause="${cause}"\\} (\\d+)`).exec(await metrics.registry.metrics())?.[1] ?? 0,
  );

describe('while others mean it ill in every way that there is', () => {
  it('each honest review is answered, and nobody else gets one', { timeout: 100_000 }, async () => {
    const hostile =
      startHostileProcess({ port: server.port, from: '127.0.0.66', attacks: ATTACKS, connections: 8, pauseMs: 2 });
    while ((await rejected('no-path')) < 10) assert.equal(await review(), 200);
    const statuses = new Set<number>();
    for (let count = 0; count < REVIEWS; count += 1) {
      statuses.add(await review());
      await new Promise((resolve) => { setTimeout(resolve, 5); });
    }
    const counts = await hostile.stop();
    assert.deepEqual([...statuses], [200]);
    for (const [attack, { begun, reviewed }] of Object.entries(counts)) {
      assert.ok(begun > 0, attack);
      assert.equal(reviewed, 0, attack);
    }
  });

  it('its own API server is told the same as others on a plain path, and is let in again on its own', async () => {
    assert.equal(await review('/mutate--v1-pod'), 404);
    assert.equal(await review(), 200);
  });
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readClusterId, readClusterIdWithRetry } from '../../../../kubernetes/client/cluster-id.ts';
import { ScriptedApiServer, skipBackoff, status } from '../../../support/doubles/scripted-api-server.ts';

it('reads the ID of a cluster whose API server is busy, waiting longer and longer', async (t) => {
  const server = await ScriptedApiServer.start();
  t.after(() => server.stop());
  const waits = skipBackoff(t);
  const read = readClusterIdWithRetry(server.client.withoutRateLimit(5_000), new AbortController().signal);
  for (let i = 0; i < 3; i += 1) (await server.next()).answer(429, status(429, 'TooManyRequests', 'busy'));
  (await server.next()).answer(200, { metadata: { name: 'kube-system', uid: 'u' } });
  assert.deepEqual([await read, waits], ['u', [500, 1_000, 2_000]]);
});

it('does not ask again for an ID that may not be read', async (t) => {
  const server = await ScriptedApiServer.start();
  t.after(() => server.stop());
  const read = readClusterIdWithRetry(server.client, new AbortController().signal);
  const refused = assert.rejects(read, { status: 403 });
  (await server.next()).answer(403, status(403, 'Forbidden', 'no'));
  await refused;
});

it('reads no ID that none can be: any server may be a target, and its ID is stored', async (t) => {
  const server = await ScriptedApiServer.start();
  t.after(() => server.stop());
  for (const uid of ['', 'x'.repeat(65), 'a b', 1, {}, ['u'], null]) {
    const refused = assert.rejects(readClusterId(server.client, new AbortController().signal), /no valid UID/);
    (await server.next()).answer(200, { metadata: { name: 'kube-system', uid } });
    await refused;
  }
});

// A webhook that is stopped before it has anything to serve.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startWebhook } from '../../../webhook/main.ts';
import { ScriptedApiServer, SILENT } from '../../support/doubles/scripted-api-server.ts';

it('a webhook that is stopped before it has a certificate ends with the reason, and with nothing else', async (t) => {
  const source = await ScriptedApiServer.start();
  t.after(() => source.stop());
  const stop = new AbortController();
  const starting = startWebhook({
    source: source.client, installNamespace: 'i', host: '127.0.0.1', port: 0, certificates: { kind: 'own' },
    logger: SILENT,
  }, stop.signal);
  const ended = assert.rejects(starting, /stopped/);
  await source.next();
  stop.abort(new Error('stopped'));
  await ended;
  await nextTurn(); // a rejection that nobody hears of fails this test
});

it('a webhook that was stopped before it is started ends, too', async (t) => {
  const source = await ScriptedApiServer.start();
  t.after(() => source.stop());
  const starting = startWebhook({
    source: source.client, installNamespace: 'i', host: '127.0.0.1', port: 0, certificates: { kind: 'own' },
    logger: SILENT,
  }, AbortSignal.abort(new Error('stopped')));
  await assert.rejects(Promise.race([starting, nextTurn()]).then(() => starting), /stopped/);
});

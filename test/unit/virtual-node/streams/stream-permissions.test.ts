// How a source comes to a right that it has not: against a scripted API server in the place of the target's.
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { openStream } from '../../../../virtual-node/streams/stream-permissions.ts';
import { ScriptedApiServer } from '../../../support/doubles/scripted-api-server.ts';

const LOG = { method: 'GET', path: '/api/v1/namespaces/shop/pods/a/log', query: [] } as const;
const chaperon = { mode: 'PodChaperon', namespace: 'shop', name: 'a', uid: 'u' } as const;
const denied = (why: string) =>
  ({ kind: 'Status', status: 'Failure', reason: 'Forbidden', message: `pods "a" is forbidden: ${why}` });
const NO_PERMISSION = denied('User "source" cannot get resource "pods/log" in API group "" in the namespace "shop"');

/**
 * Opens the log; `answers` has a status for each request in turn, the last one for all others. Gives the status at the
 * end and what was asked.
 */
async function opened(
  of: typeof chaperon
    | { readonly mode: 'Pod'; readonly namespace: string; readonly name: string; readonly uid: string } | undefined,
  answers: readonly number[], denial = NO_PERMISSION,
): Promise<readonly [number | undefined, readonly string[]]> {
  const server = await ScriptedApiServer.start();
  const asked: string[] = [];
  const stopped = new AbortController();
  const serving = (async () => {
    for (;;) {
      const exchange = await server.next();
      const status = answers[Math.min(asked.length, answers.length - 1)] ?? 200;
      asked.push(`${exchange.method} ${exchange.path.split('/').slice(-2).join('/')}`);
      exchange.answer(status, status >= 400 ? denial : {});
    }
  })();
  serving.catch(() => undefined);
  const { response } = await openStream({ transport: server.client.transport, chaperon: of }, LOG, stopped.signal);
  const result = [response.statusCode, [...asked]] as const;
  if ((response.statusCode ?? 0) >= 400) assert.equal(await text(response), JSON.stringify(denial));
  response.destroy();
  stopped.abort();
  await server.stop();
  return result;
}

describe('a stream in a target', () => {
  it('is opened at once where the source has the right', async () => assert.deepEqual(
    await opened(chaperon, [200]), [200, ['GET a/log']],
  ));

  it('is asked for on the source\'s own chaperon, and opened when the right is there', async () => {
    assert.deepEqual(await opened(chaperon, [403, 200, 403, 200]), [
      200, ['GET a/log', 'PATCH podchaperons/a', 'GET a/log', 'GET a/log'],
    ]);
  });

  it('is denied where the target takes no question', async () => assert.deepEqual(
    await opened(chaperon, [403, 403]), [403, ['GET a/log', 'PATCH podchaperons/a']],
  ));

  it('is denied where there is no chaperon to ask on', async () => {
    assert.deepEqual(await opened(undefined, [403]), [403, ['GET a/log']]);
    assert.deepEqual(await opened({ ...chaperon, mode: 'Pod' }, [403]), [403, ['GET a/log']]);
  });

  it('that admission denies is denied at once: no permission changes that', async () => {
    const byAdmission = denied('admission webhook "exec.example.com" denied the request: no shells here');
    assert.deepEqual(await opened(chaperon, [403], byAdmission), [403, ['GET a/log']]);
  });

  it('that is refused for another reason is not asked for', async () => assert.deepEqual(
    await opened(chaperon, [404]), [404, ['GET a/log']],
  ));
});

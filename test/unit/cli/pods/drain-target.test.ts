// What `isthmus drain` does when a budget lets no pod go: one limit of time counts for evictions and the end of pods.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PROVIDER_KEY, PROVIDER_VALUE } from '../../../../api/objects/keys.ts';
import { drainTarget } from '../../../../cli/pods/drain-target.ts';
import type { AppError } from '../../../../process/errors.ts';
import { ScriptedApiServer, status } from '../../../support/scripted-api-server.ts';

const target = { kind: 'ClusterTarget', name: 'eu' } as const;
const node = { metadata: { name: 'admiralty-eu', uid: 'n', labels: { [PROVIDER_KEY]: PROVIDER_VALUE } } };
const pod = (owners: readonly object[]) =>
  ({ metadata: { namespace: 'team-a', name: 'web-0', uid: 'p', ownerReferences: owners }, spec: {} });
const FORBIDDEN = status(429, 'TooManyRequests', 'a budget forbids it');
const MANAGED = [{ kind: 'StatefulSet', name: 'web', controller: true }];

/** Serves the node and one pod, and answers every eviction alike; resolves with the paths of all calls. */
async function serve(
  api: ScriptedApiServer, owners: readonly object[], ended: AbortSignal,
): Promise<readonly string[]> {
  const calls: string[] = [];
  for (;;) {
    const exchange = await Promise.race([api.next(), new Promise<undefined>((resolve) => {
      ended.addEventListener('abort', () => resolve(undefined));
    })]);
    if (exchange === undefined) return calls;
    calls.push(`${exchange.method} ${exchange.path}`);
    if (exchange.path.endsWith('/eviction')) exchange.answer(429, FORBIDDEN);
    else if (exchange.path.endsWith('/pods')) exchange.answer(200, { metadata: {}, items: [pod(owners)] });
    else exchange.answer(200, node);
  }
}

describe('isthmus drain', () => {
  async function drain(owners: readonly object[], forMs: number): Promise<{
    readonly error: AppError; readonly calls: readonly string[]
  }> {
    const api = await ScriptedApiServer.start();
    const ended = new AbortController();
    const calls = serve(api, owners, ended.signal);
    const progress = { tell: () => undefined, signal: AbortSignal.timeout(60_000) };
    const error = await drainTarget(api.client, target, { evictUnmanaged: false, forMs }, progress)
      .then(() => assert.fail('it is drained'), (thrown: unknown) => thrown as AppError);
    ended.abort();
    await api.stop();
    return { error, calls: await calls };
  }

  it('names the pods that a budget keeps, and waits no second time once its limit has passed', async () => {
    const { error, calls } = await drain(MANAGED, 600);
    assert.equal(error.code, 'Timeout');
    assert.match(error.message, /team-a\/web-0/);
    // which pods there are, whether they have gone, and which have not
    assert.equal(calls.filter((call) => call === 'GET /api/v1/pods').length, 3, calls.join('\n'));
  });

  it('evicts nothing when no controller would recreate a pod', async () => {
    const { error, calls } = await drain([], 600);
    assert.equal(error.code, 'BadInput');
    assert.match(error.message, /No controller would recreate these pods: team-a\/web-0/);
    assert.ok(!calls.some((call) => call.endsWith('/eviction')));
  });
});

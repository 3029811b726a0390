import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { NAMESPACE_ELECTION_NAME } from '../../../../api/kinds/namespace-election.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { followElections } from '../../../../webhook/server/election-cache.ts';

const logger = pino({ level: 'silent' });

/** An API server of which only single objects are asked; `asked` notes for how long, of what, and with which signal. */
function clientOf(answer: () => Promise<object>) {
  const asked: unknown[] = [];
  const client = {
    withoutRateLimit: (ms: number) => ({
      get: (_type: unknown, at: object, signal?: AbortSignal) => {
        asked.push({ ms, ...at, isAborted: signal?.aborted ?? false });
        return answer();
      },
    }),
  } as unknown as ClusterClient;
  return { client, asked };
}

describe('the election of a namespace that no cache has', () => {
  const ended = AbortSignal.abort('SIGTERM');
  const spec = { strategy: 'Local' };

  it('is asked of the API server, also while the process ends: its webhook serves until it has drained', async () => {
    const { client, asked } = clientOf(async () => ({ spec }));
    assert.deepEqual(await followElections({ client, logger }, ended)('shop'), { spec, selfTargets: [] });
    assert.deepEqual(asked, [{ ms: 3_000, namespace: 'shop', name: NAMESPACE_ELECTION_NAME, isAborted: false }]);
  });

  it('is the default where there is none', async () => {
    const { client } = clientOf(() => Promise.reject(new ApiError(404, 'NotFound', 'none')));
    assert.deepEqual(await followElections({ client, logger }, ended)('shop'), { spec: {}, selfTargets: [] });
  });

  it('is not guessed where the API server does not say', async () => {
    const { client } = clientOf(() => Promise.reject(new ApiError(503, 'ServiceUnavailable', 'later')));
    await assert.rejects(followElections({ client, logger }, ended)('shop'), /later/);
  });

  it('is asked for by sixteen pods at once, however many come', async () => {
    let [now, most] = [0, 0];
    const { client, asked } = clientOf(async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise(setImmediate);
      now -= 1;
      return { spec };
    });
    const electionOf = followElections({ client, logger }, ended);
    await Promise.all(Array.from({ length: 100 }, () => electionOf('shop')));
    assert.deepEqual([most, asked.length], [16, 100]);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PODS } from '../../../../api/resource-types.ts';
import { Following } from '../../../../dashboard/observe/following.ts';
import { ScriptedApiServer, status } from '../../../support/scripted-api-server.ts';

const pod = { metadata: { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '5' } };

describe('a collection that is followed', () => {
  let server: ScriptedApiServer;
  before(async () => {
    server = await ScriptedApiServer.start();
  });
  after(() => server.stop());

  /** Follows with a recheck that only the test can outwait. */
  function follow(recheckMs = 1_000_000): {
    readonly following: Following<typeof pod, string>;
    readonly until: (isThere: () => boolean) => Promise<void>;
    readonly stop: () => Promise<void>
  } {
    const [stopped, waiters] = [new AbortController(), new Set<() => void>()];
    const following = new Following(
      { client: server.client, type: PODS as never, selection: { namespace: 'shop' }, recheckMs },
      ({ metadata }: typeof pod) => metadata.name, () => {
        for (const look of waiters) look();
      },
    );
    const running = following.run(stopped.signal);
    return {
      following,
      until: (isThere) => new Promise((resolve) => {
        const look = (): void => {
          if (isThere()) resolve();
        };
        waiters.add(look);
        look();
      }),
      stop: () => {
        stopped.abort();
        return running;
      },
    };
  }

  it('is being read, then read', async () => {
    const { following, until, stop } = follow();
    assert.deepEqual(following.reading, { kind: 'reading' });
    await server.list('5', pod);
    await until(() => following.reading.kind === 'read');
    assert.deepEqual(following.reading, { kind: 'read', records: ['web'] });
    await server.watch('5');
    await stop();
  });

  it('is forbidden in the words of the API server, not empty', async () => {
    const { following, until, stop } = follow();
    (await server.next()).answer(403, status(403, 'Forbidden', 'pods is forbidden'));
    await until(() => following.reading.kind === 'forbidden');
    assert.deepEqual(following.reading, { kind: 'forbidden', message: 'pods is forbidden' });
    await stop();
  });

  it('is not shown any more once a check is refused, though its watch is still open', async () => {
    const { following, until, stop } = follow(50);
    await server.list('5', pod);
    const watch = await server.watch('5');
    const check = await server.next();
    assert.equal(check.query.get('limit'), '1');
    check.answer(403, status(403, 'Forbidden', 'withdrawn'));
    await until(() => following.reading.kind === 'forbidden');
    assert.deepEqual(following.reading, { kind: 'forbidden', message: 'withdrawn' });
    const next = await server.next();
    next.answer(500, status(500, 'InternalError', 'a moment'));
    const last = await server.next();
    assert.equal(following.reading.kind, 'forbidden', 'an error says nothing about rights');
    last.answer(200, { metadata: { resourceVersion: '5' }, items: [] });
    await until(() => following.reading.kind === 'read');
    assert.deepEqual(following.reading, { kind: 'read', records: ['web'] });
    void watch;
    await stop();
  });
});
